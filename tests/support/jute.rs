//! ZooKeeper's wire format: numbers in network byte order, and packets with their length in front.

use std::io::{Read, Result};

/// Op codes of requests, in ZooKeeper's numbering. Several codes in one constant mean the same operation.
pub(crate) mod op {
    /// The first packet of every connection. It carries no op code, so this number is made up.
    pub(crate) const CONNECT: &[i32] = &[-10];
    pub(crate) const CREATE: &[i32] = &[1, 15];
    pub(crate) const CREATE_CONTAINER: &[i32] = &[19];
    pub(crate) const DELETE: &[i32] = &[2];
    pub(crate) const EXISTS: &[i32] = &[3];
    pub(crate) const GET_DATA: &[i32] = &[4];
    pub(crate) const SET_DATA: &[i32] = &[5];
    pub(crate) const GET_CHILDREN: &[i32] = &[8, 12];
    pub(crate) const SYNC: &[i32] = &[9];
    pub(crate) const PING: &[i32] = &[11];
    pub(crate) const MULTI: &[i32] = &[14];
    pub(crate) const REMOVE_WATCHES: &[i32] = &[17, 18];
    pub(crate) const CLOSE: &[i32] = &[-11];
}

/// Writes numbers and strings.
#[derive(Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn int(self, value: i32) -> Self {
        self.raw(&value.to_be_bytes())
    }

    pub(crate) fn long(self, value: i64) -> Self {
        self.raw(&value.to_be_bytes())
    }

    pub(crate) fn bool(self, value: bool) -> Self {
        self.raw(&[u8::from(value)])
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

    /// A node's stat: its owner and the transaction that made it.
    pub(crate) fn stat(self, owner: i64, czxid: i64) -> Self {
        let times = self.long(czxid).long(czxid).long(0).long(0);
        times.int(0).int(0).int(0).long(owner).int(0).int(0).long(czxid)
    }

    /// With the length in front: a packet.
    pub(crate) fn packet(self) -> Vec<u8> {
        Self::default().buffer(&self.0).0
    }
}

/// Reads what [`Bytes`] writes. Returns `None` where the bytes end too early.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn int(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    pub(crate) fn long(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    pub(crate) fn bool(&mut self) -> Option<bool> {
        self.take().map(|[byte]| byte != 0)
    }

    pub(crate) fn buffer(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.int()?).unwrap_or(0);
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.buffer()?).into_owned())
    }
}

/// More than the length of any real packet. A greater length means another protocol, such as a four letter word or TLS.
const LONGEST: usize = 16 << 20;

/// A unit that is forwarded as a whole.
pub(crate) struct Packet {
    /// The bytes, including the length in front.
    pub(crate) bytes: Vec<u8>,
    /// Whether the stream carries another protocol. The bytes are then an arbitrary piece of the stream.
    pub(crate) raw: bool,
}

impl Packet {
    /// Reads the next packet; `None` at the end of the stream.
    pub(crate) fn read(stream: &mut impl Read, raw: bool) -> Result<Option<Self>> {
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
    pub(crate) fn contents(&self) -> &[u8] {
        &self.bytes[4..]
    }

    /// The number that ties a reply to its request; -1 marks a watch event.
    pub(crate) fn xid(&self) -> Option<i32> {
        self.integer(0)
    }

    /// The operation that a request asks for.
    pub(crate) fn op_code(&self) -> Option<i32> {
        self.integer(4)
    }

    fn integer(&self, at: usize) -> Option<i32> {
        Reader(self.bytes.get(4 + at..).filter(|_| !self.raw)?).int()
    }
}
