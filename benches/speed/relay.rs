//! A relay between a client and a server that records when how many bytes pass.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::job::now;

/// Bytes that passed, or a new connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    /// The time in milliseconds.
    pub(crate) at: f64,
    /// The sender.
    pub(crate) by: Side,
    /// The number of bytes; zero for a new connection.
    pub(crate) bytes: usize,
}

/// The sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The contender.
    Client,
    /// ZooKeeper.
    Server,
}

/// A relay. Its threads end with their connections.
pub(crate) struct Relay {
    port: u16,
    passages: Arc<Mutex<Vec<Passage>>>,
}

impl Relay {
    /// Starts to listen for connections to this server.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let passages = Arc::new(Mutex::new(Vec::new()));
        let (server, log) = (server.to_owned(), Arc::clone(&passages));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                record(&log, Side::Client, 0);
                forward(&client, &TcpStream::connect(&server).expect("a server"), &log);
            }
        });
        Self { port, passages }
    }

    /// The connect string of the relay.
    pub(crate) fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The passages since the last call.
    pub(crate) fn take(&self) -> Vec<Passage> {
        std::mem::take(&mut self.passages.lock().expect("the passages"))
    }
}

fn record(log: &Mutex<Vec<Passage>>, by: Side, bytes: usize) {
    log.lock().expect("the passages").push(Passage { at: now(), by, bytes });
}

fn forward(client: &TcpStream, server: &TcpStream, log: &Arc<Mutex<Vec<Passage>>>) {
    for (from, to, by) in [(client, server, Side::Client), (server, client, Side::Server)] {
        to.set_nodelay(true).expect("a socket");
        let (mut from, mut to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
        let log = Arc::clone(log);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(bytes @ 1..) = from.read(&mut buffer) {
                record(&log, by, bytes);
                if to.write_all(&buffer[..bytes]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}
