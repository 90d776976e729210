//! The wire format, as far as an attacker needs it.

use std::io::{Read, Result, Write};
use std::net::TcpStream;

/// Writes numbers and strings as jute does.
#[derive(Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn int(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn long(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn buffer(self, bytes: &[u8]) -> Self {
        self.int(i32::try_from(bytes.len()).unwrap()).raw(bytes)
    }

    pub(crate) fn strings(self, strings: &[String]) -> Self {
        let count = self.int(i32::try_from(strings.len()).unwrap());
        strings.iter().fold(count, |bytes, string| bytes.buffer(string.as_bytes()))
    }

    /// A node's stat: who owns it and the transaction that made it.
    pub(crate) fn stat(self, owner: i64, czxid: i64) -> Self {
        let times = self.long(czxid).long(czxid).long(0).long(0);
        times.int(0).int(0).int(0).long(owner).int(0).int(0).long(czxid)
    }

    /// With the length in front: a packet.
    pub(crate) fn packet(self) -> Vec<u8> {
        Self::default().buffer(&self.0).0
    }
}

/// A request of the client.
pub(crate) struct Asked {
    pub(crate) xid: i32,
    pub(crate) op: i32,
    /// The path that it is about, where there is one.
    pub(crate) path: String,
}

impl Asked {
    fn read(packet: &[u8]) -> Option<Self> {
        let int = |at: usize| Some(i32::from_be_bytes(packet.get(at..at + 4)?.try_into().ok()?));
        let (xid, op) = (int(0)?, int(4)?);
        let length = int(8).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let path = packet.get(12..12 + length).unwrap_or_default();
        Some(Self { xid, op, path: String::from_utf8_lossy(path).into_owned() })
    }
}

/// A connection of the client that is attacked.
pub(crate) struct Victim(pub(crate) TcpStream);

impl Victim {
    /// The next packet that the client sends, whatever it is.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).ok()?;
        let mut packet = vec![0; u32::from_be_bytes(length).min(1 << 20) as usize];
        self.0.read_exact(&mut packet).ok()?;
        Some(packet)
    }

    /// The next request.
    pub(crate) fn asked(&mut self) -> Option<Asked> {
        Asked::read(&self.packet()?)
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
