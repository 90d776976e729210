//! Cutting a stream into `ZooKeeper`'s packets: a length of four bytes, then so many bytes.

use std::io::{Read, Result};

/// More than any real packet has: what claims to be longer is something else, such as a four letter word or TLS.
const LONGEST: usize = 16 << 20;

/// What is forwarded as a whole.
pub(super) struct Packet {
    /// With the length in front.
    pub(super) bytes: Vec<u8>,
    /// Not the protocol that we know: a piece of a stream, without a meaning.
    pub(super) raw: bool,
}

impl Packet {
    /// Reads the next packet; nothing at the end of the stream.
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

    /// What a request asks for.
    pub(super) fn op_code(&self) -> Option<i32> {
        self.integer(8)
    }

    fn integer(&self, at: usize) -> Option<i32> {
        let bytes = self.bytes.get(at..at + 4).filter(|_| !self.raw)?;
        Some(i32::from_be_bytes(bytes.try_into().ok()?))
    }
}
