//! The addresses of a server's name: there may be several, and they change.
//!
//! The client library tries all addresses of a name in one attempt, always in the resolver's order, and an
//! attempt has a limit. So a first address that swallows packets uses up every attempt, and a first address that
//! accepts connections without answering is the only one that is ever tried. Here each address is an attempt of its
//! own.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use async_io::Timer;
use futures::channel::oneshot;
use futures::future::{Either, join_all, select};

use super::hosts::Server;

/// The names of the servers, and what is known of their addresses.
pub(super) struct Names(Vec<ServerEntry>);

struct ServerEntry {
    server: Server,
    /// A look-up that hasn't ended.
    pending: Option<oneshot::Receiver<Vec<Server>>>,
    /// What the last one found: while the resolver is away, this is as good as anything.
    known: Vec<Server>,
}

impl Names {
    pub(super) fn new(servers: &[Server]) -> Self {
        let name = |server: &Server| ServerEntry { server: server.clone(), pending: None, known: vec![] };
        Self(servers.iter().map(name).collect())
    }

    /// All addresses of all servers, looked up again, each as a server of its own. A name of which nothing is known
    /// stands for itself. Takes no longer than `limit`.
    pub(super) async fn spread(&mut self, limit: Duration) -> Vec<Server> {
        let found = join_all(self.0.iter_mut().map(|name| name.look_up(limit))).await;
        found.into_iter().flatten().collect()
    }
}

impl ServerEntry {
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

/// Looks a name up, in a thread, because the resolver can block for longer than a session may stand still. It isn't
/// joined.
fn look_up(name: Server) -> oneshot::Receiver<Vec<Server>> {
    let (sender, receiver) = oneshot::channel();
    // If it can't be started the sender is dropped, and nothing is found.
    let _ = thread::Builder::new().spawn(move || {
        let addresses = addresses(&name).unwrap_or_default();
        sender.send(as_servers(&name, &addresses))
    });
    receiver
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

fn as_servers(name: &Server, addresses: &[SocketAddr]) -> Vec<Server> {
    let has_scope = |address: &SocketAddr| matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
    let named = addresses.iter().filter(|address| !has_scope(address));
    let servers = named.map(|address| Server { host: address.ip().to_string(), port: address.port() });
    // The library can't be told a scope. It finds such an address by the name.
    servers.chain(addresses.iter().any(has_scope).then(|| name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Server {
        Server { host: text.to_owned(), port: 2181 }
    }

    fn spread_out(addresses: &[&str]) -> Vec<String> {
        let addresses: Vec<_> = addresses.iter().filter_map(|text| text.parse().ok()).collect();
        as_servers(&name("zk"), &addresses).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_address_is_a_server() {
        let two = ["192.0.2.1:2181", "[2001:db8::1]:2181"];
        assert_eq!(spread_out(&two), two);
    }

    #[test]
    fn an_address_with_a_scope_is_left_to_the_name() {
        assert_eq!(spread_out(&["[fe80::1%3]:2181", "192.0.2.1:2181"]), ["192.0.2.1:2181", "zk:2181"]);
    }

    #[test]
    fn what_is_an_address_already_stays_as_it_is() {
        let servers = [name("192.0.2.1"), name("::1")];
        let spread = futures::executor::block_on(Names::new(&servers).spread(Duration::from_secs(1)));
        assert_eq!(spread, servers);
    }

    #[test]
    fn a_resolver_that_doesn_t_answer_leaves_what_was_known() {
        let known = vec![name("192.0.2.1")];
        let (sender, receiver) = oneshot::channel();
        let mut names =
            Names(vec![ServerEntry { server: name("zk"), pending: Some(receiver), known: known.clone() }]);
        let mut spread = || futures::executor::block_on(names.spread(Duration::from_millis(10)));
        assert_eq!(spread(), known);
        assert_eq!(sender.send(vec![name("192.0.2.2")]), Ok(()), "it is still waited for");
        assert_eq!(spread(), [name("192.0.2.2")]);
    }
}
