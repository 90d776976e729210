//! One connection through the proxy. Each direction has a thread that reads and one that writes, so that the arrival
//! time of a packet is recorded even while an earlier packet is held back.

use super::At;
use super::rules::{Shared, Way};
use crate::real::jute::{Packet, op};
use std::collections::HashMap;
use std::io::{Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Stands for the first packet, whose reply has no xid. Clients never use this number.
const CONNECT_XID: i32 = i32::MIN;

/// The two sockets of a connection.
pub(super) struct Link {
    client: TcpStream,
    server: TcpStream,
    /// How many connections there were before.
    number: usize,
    cut: AtomicBool,
    /// The connection is cut when the reply with this xid arrives.
    swallow: Mutex<Option<i32>>,
    /// The op codes of the requests that are not answered yet, by xid.
    asked: Mutex<HashMap<i32, i32>>,
}

type Queue = Receiver<(Instant, Packet)>;

impl Link {
    /// Starts to forward packets between the two sockets.
    pub(super) fn start(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (cut, swallow, asked) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        let number = shared.look().accepted;
        let link = Arc::new(Self { client, server, number, cut, swallow, asked });
        for way in [Way::ToServer, Way::ToClient] {
            let (sender, queue) = channel();
            let source = link.source(way).try_clone()?;
            let raw = shared.look().raw;
            thread::spawn(move || read(source, &sender, raw));
            let (link, shared) = (Arc::clone(&link), Arc::clone(shared));
            thread::spawn(move || link.write(way, &queue, &shared));
        }
        shared.change(|rules| {
            rules.accepted += 1;
            rules.links.retain(|link| !link.is_cut());
            rules.links.push(link);
        });
        Ok(())
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    /// Closes the connection on both sides. Everything in flight is lost.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        self.client.shutdown(Shutdown::Both).ok();
        self.server.shutdown(Shutdown::Both).ok();
    }

    /// Closes the connection on the client's side only.
    pub(super) fn reset_client(&self) {
        self.client.shutdown(Shutdown::Both).ok();
    }

    fn write(&self, way: Way, queue: &Queue, shared: &Shared) {
        let (mut first, mut left) = (true, self.budget(way, shared));
        if left == 0 {
            return self.cut();
        }
        for (arrival, packet) in queue {
            let passes = shared.wait_for_passage(way, arrival, self)
                && match way {
                    Way::ToServer => self.let_request(&packet, first, shared),
                    Way::ToClient => self.let_reply(&packet, first, shared),
                };
            if !passes {
                return self.cut();
            }
            first = false;
            let length = packet.bytes.len().min(left);
            left -= length;
            if self.target(way).write_all(&packet.bytes[..length]).is_err() || left == 0 {
                return self.cut();
            }
            if way == Way::ToClient && self.number == 0 {
                shared.change(|rules| rules.passed += length);
            }
            if way == Way::ToClient {
                self.count_answer(&packet, shared);
            }
        }
        // One side has closed the connection. The other side is closed too, but not while there is a black hole.
        if shared.wait_for_passage(way, Instant::now(), self) {
            self.target(way).shutdown(Shutdown::Write).ok();
        }
    }

    /// After how many bytes this way the connection ends.
    fn budget(&self, way: Way, shared: &Shared) -> usize {
        let (connections, bytes) = shared.look().cuts;
        if way == Way::ToClient && self.number < connections { bytes } else { usize::MAX }
    }

    /// Whether a request is forwarded to the server.
    fn let_request(&self, packet: &Packet, first: bool, shared: &Shared) -> bool {
        let op = if first && !packet.raw { Some(op::CONNECT[0]) } else { packet.op_code() };
        let xid = if first { Some(CONNECT_XID) } else { packet.xid() };
        self.asked().extend(xid.zip(op));
        match op.and_then(|op| shared.take_rule(op)) {
            None => {}
            Some(At::BeforeServer) => return false,
            Some(At::BeforeReply) => *self.swallow() = xid,
            Some(At::Hold) => {
                shared.wait_while(|rules| rules.holding && !rules.ended && !self.is_cut());
            }
        }
        !self.is_cut()
    }

    /// Whether a reply or an event is forwarded to the client.
    fn let_reply(&self, packet: &Packet, first: bool, shared: &Shared) -> bool {
        let xid = if first { Some(CONNECT_XID) } else { packet.xid() };
        if xid == Some(-1) {
            shared.change(|rules| rules.events += 1);
        }
        let swallowed = xid.is_some() && *self.swallow() == xid;
        if swallowed {
            // The cut comes first, so that a test that sees the new count can rely on the cut.
            self.cut();
            shared.change(|rules| rules.fired += 1);
        }
        !swallowed
    }

    fn count_answer(&self, packet: &Packet, shared: &Shared) {
        if let Some(op) = packet.xid().and_then(|xid| self.asked().remove(&xid)) {
            shared.change(|rules| *rules.answers.entry(op).or_default() += 1);
        }
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, HashMap<i32, i32>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn swallow(&self) -> std::sync::MutexGuard<'_, Option<i32>> {
        self.swallow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn source(&self, way: Way) -> &TcpStream {
        match way {
            Way::ToServer => &self.client,
            Way::ToClient => &self.server,
        }
    }

    fn target(&self, way: Way) -> &TcpStream {
        match way {
            Way::ToServer => &self.server,
            Way::ToClient => &self.client,
        }
    }
}

fn read(mut source: TcpStream, sender: &Sender<(Instant, Packet)>, mut raw: bool) {
    while let Ok(Some(packet)) = Packet::read(&mut source, raw) {
        raw = packet.raw;
        if sender.send((Instant::now(), packet)).is_err() {
            return;
        }
    }
}
