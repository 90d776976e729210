//! The messages between clients and servers, and the error codes.

use std::rc::Rc;

/// The kind of node to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Persistent,
    Ephemeral,
    EphemeralSequential,
    Container,
}

impl Mode {
    pub fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralSequential)
    }
}

/// A client's request. Version -1 matches any version.
#[derive(Debug, Clone)]
pub enum Op {
    Create { path: String, data: Vec<u8>, mode: Mode },
    Delete { path: String, version: i32 },
    SetData { path: String, data: Vec<u8>, version: i32 },
    Check { path: String, version: i32 },
    Multi(Vec<Op>),
    Sync,
    Exists { path: String },
    GetData { path: String, watch: bool },
    GetChildren { path: String, watch: bool },
    Ping,
    Close,
}

impl Op {
    /// Whether the request has to go to the leader.
    pub(super) fn is_for_leader(&self) -> bool {
        matches!(
            self,
            Self::Create { .. }
                | Self::Delete { .. }
                | Self::SetData { .. }
                | Self::Check { .. }
                | Self::Multi(_)
                | Self::Close
        )
    }
}

/// The reason for refusing a request, under ZooKeeper's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    RuntimeInconsistency,
    BadArguments,
    NoNode,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NotEmpty,
    SessionExpired,
    SessionMoved,
}

/// A node's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    /// The number of children created and deleted, as clients see it.
    pub cversion: i32,
    pub owner: i64,
    pub data_length: i32,
    pub children: i32,
}

/// A server's answer to a request that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Done,
    Created(Rc<str>, Stat),
    Stat(Stat),
    Data(Rc<[u8]>, Stat),
    Children(Vec<Rc<str>>, Stat),
    Multi(Vec<Answer>),
}

/// A failed request. For a transaction, `index` is the first operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    pub code: Code,
    pub index: usize,
}

impl From<Code> for WireError {
    fn from(code: Code) -> Self {
        Self { code, index: 0 }
    }
}

/// The kind of change that a watch event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happened {
    Created,
    Deleted,
    DataChanged,
    ChildrenChanged,
}

/// A packet from a client.
#[derive(Debug, Clone)]
pub enum ToServer {
    /// The first packet of a connection. Session 0 asks for a new session.
    Connect {
        session: i64,
        timeout_ms: i32,
    },
    Request {
        xid: i32,
        op: Op,
    },
}

/// A packet to a client.
#[derive(Debug, Clone)]
pub enum ToClient {
    /// Session 0 means that the session has expired.
    Connected {
        session: i64,
        timeout_ms: i32,
    },
    Answer {
        xid: i32,
        result: Result<Answer, WireError>,
    },
    Event {
        path: Rc<str>,
        happened: Happened,
    },
}
