//! What clients and servers say to each other, and the codes of errors.

use std::rc::Rc;

/// Whose credentials a client has. Two kinds of them show all that ACLs can do to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Who {
    #[default]
    Member,
    Outsider,
    /// Whom no ACL holds up.
    Super,
}

/// Who may do what with a node, as far as these bits go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acl {
    pub(crate) members: u8,
    pub(crate) outsiders: u8,
}

impl Acl {
    pub(crate) const READ: u8 = 1;
    pub(crate) const WRITE: u8 = 2;
    pub(crate) const CREATE: u8 = 4;
    pub(crate) const DELETE: u8 = 8;
    pub(crate) const ADMIN: u8 = 16;
    /// Everybody may do everything.
    pub(crate) const OPEN: Self = Self::alike(Self::ALL);
    pub(crate) const ALL: u8 = 31;

    /// The same for both.
    pub(crate) const fn alike(permissions: u8) -> Self {
        Self { members: permissions, outsiders: permissions }
    }

    pub(crate) fn allows(self, who: Who, permission: u8) -> bool {
        match who {
            Who::Member => self.members & permission != 0,
            Who::Outsider => self.outsiders & permission != 0,
            Who::Super => true,
        }
    }
}

/// What kind of node is to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Persistent,
    PersistentSequential,
    Ephemeral,
    EphemeralSequential,
    Container,
}

impl Mode {
    pub(crate) fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralSequential)
    }

    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Self::PersistentSequential | Self::EphemeralSequential)
    }
}

/// A request of a client. A version of -1 stands for any.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Create {
        path: String,
        data: Vec<u8>,
        acl: Acl,
        mode: Mode,
    },
    Delete {
        path: String,
        version: i32,
    },
    SetData {
        path: String,
        data: Vec<u8>,
        version: i32,
    },
    Check {
        path: String,
        version: i32,
    },
    Multi(Vec<Op>),
    Sync,
    Exists {
        path: String,
        watch: bool,
    },
    GetData {
        path: String,
        watch: bool,
    },
    GetChildren {
        path: String,
        watch: bool,
    },
    /// One watch for a path and everything below it, which stays.
    WatchBelow {
        path: String,
    },
    /// The watches of a connection that was lost: those that would have fired since this zxid fire now.
    SetWatches {
        since: i64,
        data: Vec<String>,
        exist: Vec<String>,
        child: Vec<String>,
    },
    Ping,
    Close,
}

impl Op {
    /// Whether the leader has to see it.
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

/// Why a server refuses a request, with ZooKeeper's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    RuntimeInconsistency,
    BadArguments,
    NoNode,
    NoAuth,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NotEmpty,
    SessionExpired,
    SessionMoved,
    Throttled,
}

/// What a server knows of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stat {
    pub(crate) czxid: i64,
    pub(crate) mzxid: i64,
    pub(crate) pzxid: i64,
    pub(crate) ctime: i64,
    pub(crate) mtime: i64,
    pub(crate) version: i32,
    /// As clients see it: how many children were created and deleted.
    pub(crate) cversion: i32,
    pub(crate) owner: i64,
    pub(crate) data_length: i32,
    pub(crate) children: i32,
}

/// What a server answers to a request that it carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Created(Rc<str>, Stat),
    Stat(Stat),
    Data(Rc<[u8]>, Stat),
    Children(Vec<Rc<str>>, Stat),
    Multi(Vec<Answer>),
}

/// Why a request failed: for a transaction, the first of its operations that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) index: usize,
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Self { code, index: 0 }
    }
}

/// What happened to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happened {
    Created,
    Deleted,
    DataChanged,
    ChildrenChanged,
}

/// A packet from a client.
#[derive(Debug, Clone)]
pub(crate) enum ToServer {
    /// The first packet of a connection. Session 0 asks for a new one.
    Connect {
        session: i64,
        password: u64,
        timeout_ms: i32,
        last_zxid: i64,
    },
    Request {
        xid: i32,
        op: Op,
    },
}

/// A packet to a client.
#[derive(Debug, Clone)]
pub(crate) enum ToClient {
    /// Session 0 says that it has expired.
    Connected {
        session: i64,
        password: u64,
        timeout_ms: i32,
    },
    Answer {
        xid: i32,
        zxid: i64,
        result: Result<Answer, Refusal>,
    },
    Event {
        path: Rc<str>,
        happened: Happened,
    },
}
