//! What is asked of the ensemble, what it answers, and what becomes of a session.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;

use super::time::BootTime;

/// Something to ask of the ensemble. Requests on a session are carried out in the order they are made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Create an ephemeral sequential node `parent/prefix…`.
    Create {
        /// The lock path.
        parent: String,
        /// Everything of the name but the number.
        prefix: String,
        /// What the node says about its owner.
        data: Vec<u8>,
    },
    /// Create the lock path itself, and what is missing above it.
    MakeParents(String),
    /// Create a node that stays although it is empty, and what is missing above it.
    MakeLasting(String),
    /// List the children of a path.
    List(String),
    /// Let the server that we talk to catch up with the leader. Then list.
    CatchUpAndList(String),
    /// Read a node, and watch it for changes as long as the connection lasts.
    Watch(String),
    /// Watch a path and everything below it, present or to come, as long as the connection lasts.
    WatchBelow(String),
    /// Read a node.
    Get(String),
    /// Replace the data of a node that still has this version.
    Write(String, Vec<u8>, i32),
    /// Delete a node.
    Delete(String),
    /// Delete a node that still has this version.
    DeleteUnchanged(String, i32),
    /// Put `data` into a node that stays, made if it is missing, and delete another: both or neither.
    Conclude {
        /// The node that stays.
        record: String,
        /// What it is to say.
        data: Vec<u8>,
        /// The node that goes.
        node: String,
    },
    /// A quorum write that checks that each of the nodes exists and changes nothing.
    Confirm(Vec<String>),
}

/// An answer, or a watch that fired.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reply {
    /// To [`Request::Create`].
    Created(Result<Created, Failure>),
    /// To [`Request::MakeParents`] and [`Request::MakeLasting`].
    ParentsMade(Result<(), Failure>),
    /// To [`Request::List`] and [`Request::CatchUpAndList`].
    Listed(Result<Vec<String>, Failure>),
    /// To [`Request::Watch`] and [`Request::Get`]: the node's path and what it says.
    Read(String, Result<Node, Failure>),
    /// A watched node was deleted (`true`) or changed otherwise.
    Changed(String, bool),
    /// To [`Request::WatchBelow`].
    Watching(Result<(), Failure>),
    /// To [`Request::Write`]: when the server did it.
    Written(Result<ServerTime, Failure>),
    /// To [`Request::Delete`] and [`Request::DeleteUnchanged`].
    Deleted(Result<(), Failure>),
    /// To [`Request::Conclude`].
    Concluded(Result<(), Failure>),
    /// To [`Request::Confirm`], with the time just before it was sent.
    Confirmed(BootTime, Result<(), Failure>),
}

impl Reply {
    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Created(Err(failure))
            | Self::ParentsMade(Err(failure))
            | Self::Listed(Err(failure))
            | Self::Read(_, Err(failure))
            | Self::Watching(Err(failure))
            | Self::Written(Err(failure))
            | Self::Deleted(Err(failure))
            | Self::Concluded(Err(failure))
            | Self::Confirmed(_, Err(failure)) => Some(failure),
            _ => None,
        }
    }
}

/// A moment on the clock of the server that led the ensemble then: milliseconds since 1970.
///
/// Only the difference of two such moments means anything here: our own clock may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerTime(pub i64);

impl fmt::Display for ServerTime {
    /// As RFC 3339 has it, in UTC and to the millisecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("?"),
        }
    }
}

impl ServerTime {
    /// How long before `later` this was; zero if it wasn't.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// A node that was just created.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Created {
    /// Its name, the number included.
    pub name: String,
    /// The transaction that created it: the fencing token.
    pub czxid: i64,
    /// When.
    pub created: ServerTime,
}

/// A node that was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its data; empty if its ACL keeps it from us.
    pub data: Vec<u8>,
    /// The session that owns it, or zero.
    pub owner: i64,
    /// The transaction that created it.
    pub czxid: i64,
    /// How often its data was replaced.
    pub version: i32,
    /// When it was created.
    pub created: ServerTime,
    /// When its data was last replaced.
    pub modified: ServerTime,
    /// How many children it has.
    pub children: i32,
}

impl Node {
    /// A node that is there, and that its ACL keeps from us. None has the transaction 0.
    pub const HIDDEN: Self = Self {
        data: Vec::new(),
        owner: 0,
        czxid: 0,
        version: 0,
        created: ServerTime(0),
        modified: ServerTime(0),
        children: 0,
    };

    /// Itself, unless nothing but its existence is known.
    pub fn known(&self) -> Option<&Self> {
        Some(self).filter(|node| !node.is_hidden())
    }

    /// Whether nothing but its existence is known.
    pub fn is_hidden(&self) -> bool {
        *self == Self::HIDDEN
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum Failure {
    /// The connection went before the answer came: it may have been carried out or not.
    #[error("the connection was lost before the answer came")]
    ConnectionLost,
    /// There is no such node, or no parent for it.
    #[error("there is no such node")]
    NoNode,
    /// The ACL doesn't allow it.
    #[error("permission denied")]
    NoAuth,
    /// The ACL of this node, where the first of several missing ones would be made, doesn't allow it.
    #[error("permission denied: zklock needs CREATE on {0}")]
    NoCreate(String),
    /// Our own node was made, and its ACL keeps it from ourselves.
    #[error("permission denied: zklock can't read its own node")]
    Hidden,
    /// The server can't make sense of the ACL that we want for our nodes.
    #[error(
        "the server rejects the ACL of --acl: it doesn't know an id or scheme in it, or 'creator' matches no \
         one because the server accepted no credentials"
    )]
    InvalidAcl,
    /// The parent is ephemeral.
    #[error("an ephemeral node can't have children")]
    EphemeralParent,
    /// The node was changed since it was read.
    #[error("the node has changed meanwhile")]
    Changed,
    /// The session is known to one server alone, and such a session can't own a node.
    #[error(
        "the servers give local sessions, which can't own a lock node: set localSessionsUpgradingEnabled=true in \
         their zoo.cfg, or localSessionsEnabled=false"
    )]
    LocalSession,
    /// The server is too old to know the request.
    #[error("the server is too old for this: it takes ZooKeeper 3.6 or newer")]
    Unsupported,
    /// The server is too old for any lock.
    #[error("ZooKeeper 3.4 is too old: 3.5 or newer is needed")]
    TooOld,
    /// A quota of the server is used up.
    #[error("a quota set on the server is used up")]
    Quota,
    /// The server takes no writes.
    #[error(
        "the server is read-only, because it has lost its quorum: start the other servers of its ensemble"
    )]
    ReadOnly,
    /// The session expired.
    #[error("the session expired")]
    Expired,
    /// The session was given up: no server has answered for longer than it lasts. It is over, or will be soon after the
    /// servers are back; nobody has said so.
    #[error("no server answered for longer than the session lasts, and it was given up")]
    GivenUp,
    /// The server refuses our credentials.
    #[error("the server refused the credentials")]
    AuthFailed,
    /// Anything else, in the client library's words.
    #[error("{0}")]
    Other(String),
}

/// Tells the events of one session from those of another that it replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionKey(pub u32);

/// What servers make of attempts to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// Each said no, in one way or another: it isn't up, or has no quorum.
    Refused,
    /// At least one said nothing, so that it or the line to it stands still.
    Silent,
}

/// What became of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// It exists, for the first time.
    Connected {
        /// Its id: the `ephemeralOwner` of our nodes.
        id: i64,
        /// The timeout that the server granted.
        timeout: Duration,
        /// Just before the request for it was sent.
        began: BootTime,
    },
    /// It couldn't be had by the deadline; what each server said, in words that name the remedy.
    Unreachable(Vec<String>),
    /// The connection is lost. The session may live on.
    Disconnected,
    /// Every server was asked for another connection, in vain.
    StillAway(Away),
    /// Connected again, the same session. The servers know of no watch of ours any more.
    Reconnected,
    /// The session is over: it expired, or the server refuses us.
    Lost(Failure),
    /// The server confirmed that the session is closed, and its nodes gone.
    Closed,
}

/// Who asked: the answer goes there. A watch that fires is an answer too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// The contender for the lock with this index.
    Lock(usize),
    /// The renewal of the lease.
    Lease,
    /// The verdict of `--once-per`, or the record of a success.
    Once,
    /// The waiting line, which shows who holds the lock.
    WaitingLine,
    /// One of several questions of somebody who only asks.
    Question(usize),
}
