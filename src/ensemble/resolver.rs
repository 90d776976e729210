//! Resolves the servers' names. A name may have several addresses, and they may change.
//!
//! The client library tries all addresses of a name in one attempt, always in the resolver's order, and an attempt has
//! a time limit. A first address that drops packets therefore uses up every attempt, and a first address that accepts
//! connections without answering is the only one ever tried. zklock makes a separate attempt for each address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use async_io::Timer;
use futures::channel::oneshot;
use futures::future::{Either, join_all, select};
use zklock_core::hosts::Server;

use super::background::in_background;

/// The servers of the connect string, and the known addresses of each.
pub(super) struct Resolver(Vec<ResolvedServer>);

struct ResolvedServer {
    server: Server,
    /// A lookup that hasn't ended.
    pending: Option<oneshot::Receiver<Vec<Server>>>,
    /// The result of the last successful lookup, used while the resolver doesn't answer.
    known: Vec<Server>,
}

impl Resolver {
    pub(super) fn new(servers: &[Server]) -> Self {
        let name = |server: &Server| ResolvedServer { server: server.clone(), pending: None, known: vec![] };
        Self(servers.iter().map(name).collect())
    }

    /// Looks all names up again, and returns each address as a server. A name without a known address is returned
    /// itself. Takes no longer than `limit`.
    pub(super) async fn resolve(&mut self, limit: Duration) -> Vec<Server> {
        let addresses = join_all(self.0.iter_mut().map(|name| name.look_up(limit))).await;
        addresses.into_iter().flatten().collect()
    }
}

impl ResolvedServer {
    async fn look_up(&mut self, limit: Duration) -> Vec<Server> {
        if self.server.host.parse::<IpAddr>().is_ok() {
            return vec![self.server.clone()];
        }
        let mut pending = match self.pending.take() {
            Some(pending) => pending,
            None => look_up(self.server.clone()),
        };
        match select(&mut pending, Timer::after(limit)).await {
            Either::Left((Ok(found), _)) if !found.is_empty() => self.known = found,
            Either::Left(_) => {}
            Either::Right(_) => self.pending = Some(pending),
        }
        if self.known.is_empty() { vec![self.server.clone()] } else { self.known.clone() }
    }
}

/// Looks a name up in the background, because the resolver can block for longer than a session can wait.
fn look_up(name: Server) -> oneshot::Receiver<Vec<Server>> {
    in_background(move || {
        let addresses = addresses(&name).unwrap_or_default();
        as_servers(&name, &addresses)
    })
}

/// All addresses of `server`, each once.
pub(super) fn addresses(server: &Server) -> std::io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<SocketAddr> = vec![];
    let found = match (server.host.as_str(), server.port).to_socket_addrs() {
        Ok(found) => found,
        // A container may have no /etc/hosts.
        Err(_) if server.host == "localhost" => {
            let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
            return Ok(loopback.map(|address| (address, server.port).into()).to_vec());
        }
        Err(error) => return Err(error),
    };
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

fn as_servers(name: &Server, addresses: &[SocketAddr]) -> Vec<Server> {
    let has_scope = |address: &SocketAddr| matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
    let named = addresses.iter().filter(|address| !has_scope(address));
    let servers = named.map(|address| Server { host: address.ip().to_string(), port: address.port() });
    // The library accepts no address with a scope, so it has to resolve the name itself.
    servers.chain(addresses.iter().any(has_scope).then(|| name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Server {
        Server { host: text.to_owned(), port: 2181 }
    }

    fn servers_of(addresses: &[&str]) -> Vec<String> {
        let addresses: Vec<_> = addresses.iter().filter_map(|text| text.parse().ok()).collect();
        as_servers(&name("zk"), &addresses).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_address_is_a_server() {
        let two = ["192.0.2.1:2181", "[2001:db8::1]:2181"];
        assert_eq!(servers_of(&two), two);
    }

    #[test]
    fn an_address_with_a_scope_is_replaced_by_the_name() {
        assert_eq!(servers_of(&["[fe80::1%3]:2181", "192.0.2.1:2181"]), ["192.0.2.1:2181", "zk:2181"]);
    }

    #[test]
    fn an_address_is_not_looked_up() {
        let servers = [name("192.0.2.1"), name("::1")];
        let resolved = futures::executor::block_on(Resolver::new(&servers).resolve(Duration::from_secs(1)));
        assert_eq!(resolved, servers);
    }

    #[test]
    fn the_last_known_addresses_are_used_while_the_resolver_does_not_answer() {
        let known = vec![name("192.0.2.1")];
        let (sender, receiver) = oneshot::channel();
        let mut resolver = Resolver(vec![ResolvedServer {
            server: name("zk"),
            pending: Some(receiver),
            known: known.clone(),
        }]);
        let mut resolve = || futures::executor::block_on(resolver.resolve(Duration::from_millis(10)));
        assert_eq!(resolve(), known);
        assert_eq!(sender.send(vec![name("192.0.2.2")]), Ok(()), "the lookup must still be pending");
        assert_eq!(resolve(), [name("192.0.2.2")]);
    }
}
