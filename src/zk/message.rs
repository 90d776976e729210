//! What is asked of the ensemble, and what it answers.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::Failure;
use crate::clock::BootTime;

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
    /// To [`Request::MakeParents`].
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
}

impl Node {
    /// A node that is there, and that its ACL keeps from us.
    pub const HIDDEN: Self = Self {
        data: Vec::new(),
        owner: 0,
        czxid: 0,
        version: 0,
        created: ServerTime(0),
        modified: ServerTime(0),
    };
}
