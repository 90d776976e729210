//! ZooKeeper's wire format: numbers in network byte order, and packets with their length in front.

use std::io::{Read, Result};

/// Op codes of requests, in ZooKeeper's numbering. Several codes in one constant mean the same operation.
pub mod op {
    /// The first packet of every connection. It carries no op code, so this number is made up.
    pub const CONNECT: &[i32] = &[-10];
    pub const CREATE: &[i32] = &[1, 15];
    pub const CREATE_CONTAINER: &[i32] = &[19];
    pub const DELETE: &[i32] = &[2];
    pub const EXISTS: &[i32] = &[3];
    pub const GET_DATA: &[i32] = &[4];
    pub const SET_DATA: &[i32] = &[5];
    pub const GET_CHILDREN: &[i32] = &[8, 12];
    pub const SYNC: &[i32] = &[9];
    pub const PING: &[i32] = &[11];
    pub const MULTI: &[i32] = &[14];
    pub const REMOVE_WATCHES: &[i32] = &[17, 18];
    pub const CLOSE: &[i32] = &[-11];
}

/// Writes numbers and strings.
#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn int(self, value: i32) -> Self {
        self.raw(&value.to_be_bytes())
    }

    pub fn long(self, value: i64) -> Self {
        self.raw(&value.to_be_bytes())
    }

    pub fn bool(self, value: bool) -> Self {
        self.raw(&[u8::from(value)])
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub fn buffer(self, bytes: &[u8]) -> Self {
        self.int(i32::try_from(bytes.len()).unwrap()).raw(bytes)
    }

    pub fn strings(self, strings: &[String]) -> Self {
        let count = self.int(i32::try_from(strings.len()).unwrap());
        strings.iter().fold(count, |bytes, string| bytes.buffer(string.as_bytes()))
    }

    /// A node's stat: its owner and the transaction that made it.
    pub fn stat(self, owner: i64, czxid: i64) -> Self {
        let times = self.long(czxid).long(czxid).long(0).long(0);
        times.int(0).int(0).int(0).long(owner).int(0).int(0).long(czxid)
    }

    /// With the length in front: a packet.
    pub fn packet(self) -> Vec<u8> {
        Self::default().buffer(&self.0).0
    }
}

/// Reads what [`Bytes`] writes. Returns `None` where the bytes end too early.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub fn int(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    pub fn long(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    pub fn bool(&mut self) -> Option<bool> {
        self.take().map(|[byte]| byte != 0)
    }

    pub fn buffer(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.int()?).unwrap_or(0);
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.buffer()?).into_owned())
    }
}

/// More than the length of any real packet. A greater length means another protocol, such as a four letter word or TLS.
const LONGEST: usize = 16 << 20;

/// A unit that is forwarded as a whole.
pub struct Packet {
    /// The bytes, including the length in front.
    pub bytes: Vec<u8>,
    /// Whether the stream carries another protocol. The bytes are then an arbitrary piece of the stream.
    pub raw: bool,
}

impl Packet {
    /// Reads the next packet; `None` at the end of the stream.
    pub fn read(stream: &mut impl Read, raw: bool) -> Result<Option<Self>> {
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

    /// What follows the length.
    pub fn contents(&self) -> &[u8] {
        &self.bytes[4..]
    }

    /// The number that ties a reply to its request; -1 marks a watch event.
    pub fn xid(&self) -> Option<i32> {
        self.integer(0)
    }

    /// The operation that a request asks for.
    pub fn op_code(&self) -> Option<i32> {
        self.integer(4)
    }

    fn integer(&self, at: usize) -> Option<i32> {
        Reader(self.bytes.get(4 + at..).filter(|_| !self.raw)?).int()
    }
}
