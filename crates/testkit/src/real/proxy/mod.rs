//! A network between client and server that a test can break in several ways.

mod link;
mod rules;

use super::jute::op;
use super::ports;
use super::server::Server;
use super::wait::{DEADLINE, wait_until};
use link::Link;
use nix::sys::socket::{Backlog, Shutdown, listen, shutdown};
use rules::{Rule, Rules, Shared};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The fault that happens at a chosen request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// The connection is cut; the server never sees the request.
    BeforeServer,
    /// The server carries out the request, but the connection is cut before the reply is delivered.
    BeforeReply,
    /// The request and everything after it wait in the proxy until [`Proxy::release`].
    Hold,
}

/// A TCP proxy on loopback.
pub struct Proxy {
    address: SocketAddrV4,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A proxy that forwards everything to `server`.
    pub fn to(server: &Server) -> Self {
        Self::start(ports::bind(), server.port(), false)
    }

    /// A second proxy, at another loopback address and the same port as `self`, so that one host name can resolve to
    /// both.
    pub fn beside(&self, host: Ipv4Addr, server: &Server) -> Self {
        let listener = TcpListener::bind((host, self.address.port())).expect("the same port");
        Self::start(listener, server.port(), false)
    }

    /// A proxy between two servers. They use another protocol than clients, so the proxy doesn't parse their packets.
    pub fn between_servers(target: u16) -> Self {
        Self::start(ports::bind(), target, true)
    }

    fn start(listener: TcpListener, target: u16, raw: bool) -> Self {
        let Ok(SocketAddr::V4(address)) = listener.local_addr() else { panic!("a bound port") };
        let shared = Arc::new(Shared::default());
        shared.change(|rules| (rules.listening, rules.raw) = (true, raw));
        let for_thread = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, target, &for_thread));
        Self { address, shared }
    }

    /// The value of `-z`.
    pub fn connect_string(&self) -> String {
        self.address.to_string()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Lets everything pass again. Data that a black hole held back is delivered now, as TCP does after a partition.
    pub fn pass(&self) {
        self.set_holes(false, false);
        self.delay(Duration::ZERO);
        self.delay_answers(Duration::ZERO);
        self.refuse_new(false);
    }

    /// Blocks everything that the client sends. Connections stay open, and new ones can be made but transmit nothing.
    pub fn blackhole_to_server(&self) {
        self.set_holes(true, false);
    }

    /// Blocks everything that the server sends.
    pub fn blackhole_to_client(&self) {
        self.set_holes(false, true);
    }

    /// Blocks everything in both directions.
    pub fn blackhole(&self) {
        self.set_holes(true, true);
    }

    /// Delays every packet by this much, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.shared.change(|rules| rules.delay = delay);
    }

    /// Delays every answer and every event by this much, in addition to [`Proxy::delay`].
    pub fn delay_answers(&self, delay: Duration) {
        self.shared.change(|rules| rules.delay_to_client = delay);
    }

    /// Closes every connection now. New ones can be made immediately.
    pub fn cut_all(&self) {
        let links = self.shared.change(|rules| std::mem::take(&mut rules.links));
        for link in links {
            link.cut();
        }
        // This wakes the threads that hold back a packet, so that they notice that their connection is closed.
        self.shared.change(|_| ());
    }

    /// Closes every connection on the client's side. The server's side isn't closed while there is a black hole.
    pub fn reset_clients(&self) {
        for link in &self.look().links {
            link.reset_client();
        }
    }

    /// Refuses new connections, as if nothing listened, or accepts them again. Existing connections stay open.
    pub fn refuse_new(&self, refuse: bool) {
        self.shared.change(|rules| rules.refusing = refuse);
        if refuse {
            self.wake_acceptor();
        }
        wait_until("the proxy to see it", DEADLINE, || self.look().listening != refuse);
    }

    /// Causes a fault once, at the next request with one of these op codes.
    pub fn once(&self, ops: &'static [i32], at: At) {
        self.once_after(0, ops, at);
    }

    /// Like [`Proxy::once`], but after `skip` more such requests have passed.
    pub fn once_after(&self, skip: usize, ops: &'static [i32], at: At) {
        self.shared.change(|rules| rules.once.push(Rule { ops, skip, at }));
    }

    /// Ends the first so many connections after so many bytes from the server, in the middle of a packet too.
    pub fn cut_after(&self, connections: usize, bytes: usize) {
        self.shared.change(|rules| rules.cuts = (connections, bytes));
    }

    /// How many bytes the server sent on the first connection.
    pub fn passed(&self) -> usize {
        self.look().passed
    }

    /// Cancels the faults that have not happened yet.
    pub fn never_mind(&self) {
        self.shared.change(|rules| rules.once.clear());
    }

    /// Waits until `count` faults set with [`Proxy::once`] have happened, in total.
    #[track_caller]
    pub fn wait_fired(&self, count: usize, within: Duration) {
        wait_until("the fault to happen", within, || self.look().fired >= count);
    }

    /// Forwards the request that [`At::Hold`] holds.
    pub fn release(&self) {
        self.shared.change(|rules| rules.holding = false);
    }

    /// How many requests with one of these op codes reached the proxy, including those that it cut or held.
    pub fn count(&self, ops: &[i32]) -> usize {
        let rules = self.look();
        ops.iter().filter_map(|op| rules.requests.get(op)).sum()
    }

    /// How many requests with one of these op codes were answered, with the answer forwarded to the client.
    pub fn answered(&self, ops: &[i32]) -> usize {
        let rules = self.look();
        ops.iter().filter_map(|op| rules.answers.get(op)).sum()
    }

    /// How many requests reached the proxy, apart from pings.
    pub fn count_all(&self) -> usize {
        let rules = self.look();
        let without_pings = rules.requests.iter().filter(|(op, _)| **op != op::PING[0]);
        without_pings.map(|(_, count)| count).sum()
    }

    /// How many watch events the server sent.
    pub fn events(&self) -> usize {
        self.look().events
    }

    /// How many connections were made through the proxy.
    pub fn accepted(&self) -> usize {
        self.look().accepted
    }

    fn set_holes(&self, to_server: bool, to_client: bool) {
        self.shared.change(|rules| {
            rules.hole_to_server = to_server;
            rules.hole_to_client = to_client;
        });
    }

    fn look(&self) -> std::sync::MutexGuard<'_, Rules> {
        self.shared.look()
    }

    /// Makes a connection, because the accepting thread sees a change only at the next connection.
    fn wake_acceptor(&self) {
        TcpStream::connect(self.address).ok();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.change(|rules| rules.ended = true);
        self.wake_acceptor();
        self.cut_all();
    }
}

fn accept(listener: &TcpListener, target: u16, shared: &Arc<Shared>) {
    loop {
        let client = listener.accept();
        if shared.look().refusing {
            drop(client);
            // The listener isn't closed, because another process could take the port.
            shutdown(listener.as_raw_fd(), Shutdown::Read).expect("a listening socket");
            shared.change(|rules| rules.listening = false);
            shared.wait_while(|rules| rules.refusing && !rules.ended);
            if shared.look().ended {
                return;
            }
            listen(listener, Backlog::MAXCONN).expect("a bound socket");
            shared.change(|rules| rules.listening = true);
            continue;
        }
        if shared.look().ended {
            return;
        }
        // If there is no server, the client's connection is closed at once.
        if let (Ok((client, _)), Ok(server)) = (client, TcpStream::connect((Ipv4Addr::LOCALHOST, target))) {
            Link::start(client, server, shared).expect("two open sockets");
        }
    }
}
