//! Splits a stream into ZooKeeper's packets: a length of four bytes, then that many bytes.

use std::io::{Read, Result};

/// More than the length of any real packet. A greater length means another protocol, such as a four letter word or TLS.
const LONGEST: usize = 16 << 20;

/// A unit that is forwarded as a whole.
pub(super) struct Packet {
    /// The bytes, including the length in front.
    pub(super) bytes: Vec<u8>,
    /// Whether the stream carries another protocol. The bytes are then an arbitrary piece of the stream.
    pub(super) raw: bool,
}

impl Packet {
    /// Reads the next packet; `None` at the end of the stream.
    pub(super) fn read(stream: &mut impl Read, raw: bool) -> Result<Option<Self>> {
        if raw {
            let mut bytes = vec![0; 16 << 10];
            let count = stream.read(&mut bytes)?;
            bytes.truncate(count);
            return Ok((count > 0).then_some(Self { bytes, raw }));
        }
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            return Ok(None);
        }
        let mut bytes = length.to_vec();
        let length = u32::from_be_bytes(length) as usize;
        let raw = length > LONGEST;
        if !raw {
            bytes.resize(4 + length, 0);
            stream.read_exact(&mut bytes[4..])?;
        }
        Ok(Some(Self { bytes, raw }))
    }

    /// The number that ties a reply to its request; -1 marks a watch event.
    pub(super) fn xid(&self) -> Option<i32> {
        self.integer(4)
    }

    /// The operation that a request asks for.
    pub(super) fn op_code(&self) -> Option<i32> {
        self.integer(8)
    }

    fn integer(&self, at: usize) -> Option<i32> {
        let bytes = self.bytes.get(at..at + 4).filter(|_| !self.raw)?;
        Some(i32::from_be_bytes(bytes.try_into().ok()?))
    }
}
