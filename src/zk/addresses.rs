//! The addresses of a server's name: there may be several, and they change.
//!
//! The client library tries all addresses of a name in one attempt, always in the resolver's order, and an
//! attempt has a limit. So a first address that swallows packets uses up every attempt, and a first address that
//! accepts connections without answering is the only one that is ever tried. Named one by one, each address is an
//! attempt of its own, and the library shuffles them.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use async_io::Timer;
use futures::channel::oneshot;
use futures::future::{Either, join_all, select};

use super::hosts::{Hosts, Server};

/// `hosts` with each name that has several addresses preceded by those addresses.
///
/// The name stays, because the library looks it up at each attempt: it finds addresses that are new since then.
pub(super) async fn spread(hosts: &Hosts, limit: Duration) -> Hosts {
    let found = join_all(hosts.servers.iter().map(|server| look_up(server, limit))).await;
    let servers = hosts
        .servers
        .iter()
        .zip(found)
        .flat_map(|(server, addresses)| addresses.into_iter().chain([server.clone()]));
    Hosts { servers: servers.collect(), chroot: hosts.chroot.clone() }
}

/// The addresses behind the name of `server`, as servers, if there are several.
async fn look_up(server: &Server, limit: Duration) -> Vec<Server> {
    if server.host.parse::<IpAddr>().is_ok() {
        return vec![];
    }
    let (sender, receiver) = oneshot::channel();
    let name = server.clone();
    // A thread, because the resolver can block for longer than a session may stand still. It isn't joined.
    let started = thread::Builder::new().spawn(move || sender.send(addresses(&name)));
    if started.is_err() {
        return vec![];
    }
    match select(receiver, Timer::after(limit)).await {
        Either::Left((Ok(Ok(addresses)), _)) => several(&addresses),
        _ => vec![],
    }
}

/// All addresses of `server`, each once.
pub(super) fn addresses(server: &Server) -> std::io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<SocketAddr> = vec![];
    for address in (server.host.as_str(), server.port).to_socket_addrs()? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

fn several(addresses: &[SocketAddr]) -> Vec<Server> {
    if addresses.len() < 2 {
        return vec![];
    }
    let has_scope = |address: &SocketAddr| matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
    // The library can't be told a scope. It finds such an address by the name.
    let named = addresses.iter().filter(|address| !has_scope(address));
    named.map(|address| Server { host: address.ip().to_string(), port: address.port() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_out(addresses: &[&str]) -> Vec<String> {
        let addresses: Vec<_> = addresses.iter().filter_map(|text| text.parse().ok()).collect();
        several(&addresses).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_a_name_with_several_addresses_is_spread() {
        assert_eq!(spread_out(&["192.0.2.1:2181"]), [""; 0]);
        let two = ["192.0.2.1:2181", "[2001:db8::1]:2181"];
        assert_eq!(spread_out(&two), two);
    }

    #[test]
    fn an_address_with_a_scope_is_left_to_the_name() {
        assert_eq!(spread_out(&["[fe80::1%3]:2181", "192.0.2.1:2181"]), ["192.0.2.1:2181"]);
    }

    #[test]
    fn an_address_in_a_connect_string_stays_as_it_is() {
        let hosts = Hosts::parse("192.0.2.1:1,[::1]:2/app").unwrap_or_else(|error| panic!("{error}"));
        let spread = futures::executor::block_on(spread(&hosts, Duration::from_secs(1)));
        assert_eq!(spread, hosts);
    }
}
