//! A network that ends the first connection after so many bytes from the server. Real servers cut anywhere when
//! they are killed, and attackers where they like.

use crate::support::Server;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Between zklock and a server; ends with the test.
pub(super) struct Cutter {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    connections: AtomicUsize,
    /// From the server on the first connection.
    passed: AtomicUsize,
    ended: AtomicBool,
}

impl Cutter {
    /// Passes everything on, but of the first `cut` connections only so many bytes from the server.
    pub(super) fn new(server: &Server, cut: usize, bytes: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::<Shared>::default();
        let (server, for_thread) = (server.port(), Arc::clone(&shared));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if for_thread.ended.load(Ordering::SeqCst) {
                    return;
                }
                let number = for_thread.connections.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let budget = if number < cut { bytes } else { usize::MAX };
                relay(&client, &server, budget, (number == 0).then(|| Arc::clone(&for_thread)));
            }
        });
        Self { address, shared }
    }

    /// What `-z` takes.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// How many connections were made.
    pub(super) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many bytes the server sent on the first connection.
    pub(super) fn passed(&self) -> usize {
        self.shared.passed.load(Ordering::SeqCst)
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        TcpStream::connect(&self.address).ok();
    }
}

/// Two threads, one for each way; `count` counts what the server said.
fn relay(client: &TcpStream, server: &TcpStream, budget: usize, count: Option<Arc<Shared>>) {
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || pass(from, to, usize::MAX, None));
    let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || pass(from, to, budget, count.as_deref()));
}

/// Passes at most `budget` bytes on, and ends both sides then, or when one of them ends.
fn pass(mut from: TcpStream, mut to: TcpStream, mut budget: usize, count: Option<&Shared>) {
    let mut bytes = [0; 4096];
    while budget > 0 {
        let Ok(length @ 1..) = from.read(&mut bytes) else { break };
        let length = length.min(budget);
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
        budget -= length;
        if let Some(shared) = count {
            shared.passed.fetch_add(length, Ordering::SeqCst);
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
