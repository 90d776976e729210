//! One session with thousands of nodes, made faster than any client library would: requests travel in bulk.

use crate::malformed_servers::attacker::Victim;
use crate::support::{Bytes, Server, op};
use std::collections::BTreeSet;
use std::net::TcpStream;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

/// The server of all tests that crowd theirs, so that no other test has to share it.
pub(crate) fn crowded() -> &'static Server {
    static CROWDED: OnceLock<Server> = OnceLock::new();
    CROWDED.get_or_init(Server::start)
}

/// So many requests are under way at a time.
const BULK: usize = 500;

/// Ephemeral and sequential.
const CONTENDER: i32 = 3;

/// A session whose nodes go with it.
pub(crate) struct Crowd {
    server: Victim,
    xid: i32,
}

impl Crowd {
    /// Opens a session.
    pub(crate) fn of(server: &Server) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut server = Victim(stream);
        let hello = Bytes::default().int(0).long(0).int(60_000).long(0).buffer(&[0; 16]).raw(&[0]);
        server.send(&hello.packet()).unwrap();
        server.packet().expect("a session");
        Self { server, xid: 0 }
    }

    /// Makes contenders with these prefixes, in this order, and gives their paths.
    pub(crate) fn contend(&mut self, prefixes: &[String], data: &[u8]) -> Vec<String> {
        self.create(prefixes, data, CONTENDER)
    }

    /// Makes ephemeral nodes.
    pub(crate) fn litter(&mut self, paths: &[String]) {
        self.create(paths, b"", 1);
    }

    /// Deletes a node of its own.
    pub(crate) fn delete(&mut self, path: &str) {
        self.ask(op::DELETE[0], &Bytes::default().buffer(path.as_bytes()).int(-1));
        self.answer();
    }

    /// Writes to this node, a hundred requests at once, until told to stop; the error codes that it was answered. The server
    /// is left alone half of the time, however slow it is: others have their turn then.
    pub(crate) fn pester(&mut self, path: &str, on: impl Fn() -> bool) -> BTreeSet<i32> {
        let mut errors = BTreeSet::new();
        while on() {
            let began = Instant::now();
            for _ in 0..100 {
                self.ask(op::SET_DATA[0], &Bytes::default().buffer(path.as_bytes()).buffer(b"x").int(-1));
            }
            errors.extend((0..100).map(|_| self.answer().0));
            thread::sleep(began.elapsed());
        }
        errors
    }

    /// Ends the session, and its nodes.
    pub(crate) fn leave(mut self) {
        self.ask(op::CLOSE[0], &Bytes::default());
        self.answer();
    }

    fn create(&mut self, paths: &[String], data: &[u8], flags: i32) -> Vec<String> {
        let mut made = Vec::with_capacity(paths.len());
        for bulk in paths.chunks(BULK) {
            for path in bulk {
                let everybody = Bytes::default().int(1).int(31).buffer(b"world").buffer(b"anyone");
                let node = Bytes::default().buffer(path.as_bytes()).buffer(data);
                self.ask(op::CREATE[0], &node.raw(&everybody.0).int(flags));
            }
            for path in bulk {
                let (error, body) = self.answer();
                assert_eq!(error, 0, "{path}");
                made.push(String::from_utf8(body[4..].to_vec()).unwrap());
            }
        }
        made
    }

    fn ask(&mut self, op: i32, body: &Bytes) {
        self.xid += 1;
        let request = Bytes::default().int(self.xid).int(op).raw(&body.0);
        self.server.send(&request.packet()).unwrap();
    }

    /// The error code of the next answer, and what follows it.
    fn answer(&mut self) -> (i32, Vec<u8>) {
        let packet = self.server.packet().expect("an answer");
        (i32::from_be_bytes(packet[12..16].try_into().unwrap()), packet[16..].to_vec())
    }
}

/// So many prefixes of lock nodes, as zklock would call them.
pub(crate) fn prefixes(path: &str, count: usize) -> Vec<String> {
    (0..count).map(|_| format!("{path}/_c_{}-lock-", uuid::Uuid::new_v4())).collect()
}
