//! A server of the attacker's. No test of what zklock does with a ZooKeeper uses it: what it says is what no
//! ZooKeeper would say.

use crate::support::jute::{Packet, Reader};
use crate::support::{Bytes, op};
use std::io::{Result, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The session that it grants.
pub(crate) const SESSION: i64 = 0x1234;

/// The timeout that zklock asks for here, so that it is granted at once.
pub(crate) const TIMEOUT_MS: i32 = 3000;

/// Listens on loopback, and ends with the test.
pub(crate) struct Attacker {
    address: String,
    accepted: Arc<AtomicUsize>,
    lied: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Attacker {
    /// Treats every connection like this, each in a thread of its own.
    pub(crate) fn new(treat: impl Fn(Victim) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (accepted, ended) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (counter, end, treat) = (Arc::clone(&accepted), Arc::clone(&ended), Arc::new(treat));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                counter.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).ok();
                let treat = Arc::clone(&treat);
                thread::spawn(move || treat(Victim(stream)));
            }
        });
        Self { address, accepted, lied: Arc::default(), ended }
    }

    /// Grants a session, and answers as a server would that has no other client, but for what `lie` answers.
    pub(crate) fn lying(
        lie: impl Fn(&mut Victim, &Asked) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self::granting(TIMEOUT_MS, lie)
    }

    /// The same with a session timeout that may be a lie itself.
    pub(crate) fn granting(
        timeout_ms: i32,
        lie: impl Fn(&mut Victim, &Asked) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        let lied = Arc::<AtomicBool>::default();
        let told = Arc::clone(&lied);
        let mut attacker = Self::new(move |mut victim| {
            let mut node = String::new();
            victim.grant(timeout_ms, SESSION);
            while let Some(asked) = victim.asked() {
                if op::CREATE.contains(&asked.op) {
                    node = format!("{}0000000000", asked.path);
                }
                if lie(&mut victim, &asked).is_break() {
                    told.store(true, Ordering::SeqCst);
                } else if honest(&mut victim, &asked, &node).is_err() {
                    return;
                }
            }
        });
        attacker.lied = lied;
        attacker
    }

    /// What `-z` takes.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Whether it came to its lie.
    pub(crate) fn lied(&self) -> bool {
        self.lied.load(Ordering::SeqCst)
    }

    /// How many connections were made to it.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        TcpStream::connect(&self.address).ok();
    }
}

/// What a server would say to whoever is alone on it.
fn honest(victim: &mut Victim, asked: &Asked, node: &str) -> Result<()> {
    let is = |ops: &[i32]| ops.contains(&asked.op);
    let nothing = Bytes::default();
    let body = if is(op::CREATE) {
        nothing.buffer(node.as_bytes()).stat(SESSION, 5)
    } else if is(op::CREATE_CONTAINER) {
        nothing.buffer(asked.path.as_bytes()).stat(0, 4)
    } else if is(op::GET_CHILDREN) {
        let name = node.rsplit('/').next().filter(|name| !name.is_empty());
        nothing.strings(&name.map(str::to_owned).into_iter().collect::<Vec<_>>())
    } else if is(op::GET_DATA) {
        nothing.buffer(b"").stat(SESSION, 5)
    } else if is(op::SYNC) {
        nothing.buffer(asked.path.as_bytes())
    } else if is(op::MULTI) {
        nothing.int(13).raw(&[0]).int(0).int(-1).raw(&[1]).int(-1)
    } else {
        nothing
    };
    victim.reply(asked.xid, 0, &body)
}

/// A request of the client.
pub(crate) struct Asked {
    pub(crate) xid: i32,
    pub(crate) op: i32,
    /// The path that it is about, where there is one.
    pub(crate) path: String,
}

/// A connection of the client that is attacked.
pub(crate) struct Victim(pub(crate) TcpStream);

impl Victim {
    /// The next packet that the client sends, whatever it is.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        let packet = Packet::read(&mut self.0, false).ok()??;
        Some(packet.contents().to_vec())
    }

    /// The next request.
    pub(crate) fn asked(&mut self) -> Option<Asked> {
        let packet = self.packet()?;
        let mut reader = Reader(&packet);
        Some(Asked { xid: reader.int()?, op: reader.int()?, path: reader.text().unwrap_or_default() })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes)
    }

    /// Answers a request.
    pub(crate) fn reply(&mut self, xid: i32, error: i32, body: &Bytes) -> Result<()> {
        let header = Bytes::default().int(xid).long(7).int(error);
        self.send(&header.raw(&body.0).packet())
    }

    /// Takes the connect request and grants a session.
    pub(crate) fn grant(&mut self, timeout_ms: i32, session: i64) -> Option<()> {
        self.packet()?;
        let granted = Bytes::default().int(0).int(timeout_ms).long(session).buffer(&[7; 16]).raw(&[0]);
        self.send(&granted.packet()).ok()
    }
}
