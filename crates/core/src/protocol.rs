//! Requests to the ensemble, its replies, and the changes of a session.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::path::NodePath;
use super::time::BootTime;

/// A request to the ensemble. Requests of a session are carried out in the order in which they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Create an ephemeral sequential node.
    Create {
        /// Its path without its number.
        path: NodePath,
        /// Its data, which describes its owner.
        data: Vec<u8>,
    },
    /// Create the lock path itself, and every missing node above it.
    MakeParents(NodePath),
    /// Create a node that stays when it is empty, and the missing nodes above it.
    CreatePersistent(NodePath),
    /// List the children of a path.
    List(NodePath),
    /// Let the connected server catch up with the leader (`sync`), and then list.
    CatchUpAndList(NodePath),
    /// Read a node, and watch it for changes as long as the connection lasts.
    Watch(NodePath),
    Get(NodePath),
    /// Replace the data of a node if it still has this version.
    Write(NodePath, Vec<u8>, i32),
    Delete(NodePath),
    /// Delete a node if it still has this version.
    DeleteUnchanged(NodePath, i32),
    /// In one transaction, write `data` to a record, creating it if it is missing, and delete another node.
    RecordSuccess {
        record: NodePath,
        data: Vec<u8>,
        node: NodePath,
    },
    /// A quorum write that checks that each of these nodes exists, and changes nothing.
    Confirm(Vec<NodePath>),
    /// Create these nodes with this data, each below the one before and the last one ephemeral, and delete them, in one
    /// transaction, so that nobody sees them.
    Try(Vec<NodePath>, Vec<u8>),
}

/// A reply to a request, or a watch that fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To [`Request::Create`].
    Created(Result<LockNode, RequestError>),
    /// To [`Request::MakeParents`] and [`Request::CreatePersistent`].
    ParentsMade(Result<(), RequestError>),
    /// To [`Request::List`] and [`Request::CatchUpAndList`].
    Listed(Result<Vec<String>, RequestError>),
    /// To [`Request::Watch`] and [`Request::Get`]: the node's path and content.
    Read(NodePath, Result<ReadNode, RequestError>),
    /// A watched node was deleted (`true`) or changed otherwise.
    Changed(NodePath, bool),
    /// To [`Request::Write`]: the server's time of the write.
    Written(Result<ServerTime, RequestError>),
    /// To [`Request::Delete`] and [`Request::DeleteUnchanged`].
    Deleted(Result<(), RequestError>),
    /// To [`Request::RecordSuccess`].
    SuccessRecorded(Result<(), RequestError>),
    /// To [`Request::Confirm`], with the time just before it was sent.
    Confirmed(BootTime, Result<(), RequestError>),
    /// To [`Request::Try`]: the server's time, unless the ACL keeps zklock from writing its own node.
    Tried(Result<Option<ServerTime>, RequestError>),
}

impl Reply {
    /// Why the request failed; `None` if it succeeded.
    pub fn failure(&self) -> Option<&RequestError> {
        match self {
            Self::Created(Err(failure))
            | Self::ParentsMade(Err(failure))
            | Self::Listed(Err(failure))
            | Self::Read(_, Err(failure))
            | Self::Written(Err(failure))
            | Self::Deleted(Err(failure))
            | Self::SuccessRecorded(Err(failure))
            | Self::Confirmed(_, Err(failure))
            | Self::Tried(Err(failure)) => Some(failure),
            _ => None,
        }
    }
}

/// A moment on the clock of the server that was the leader then, in milliseconds since 1970.
///
/// Only the difference between two such moments is meaningful: the local clock may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(test, derive(Default))]
pub struct ServerTime(pub i64);

impl fmt::Display for ServerTime {
    /// Formats as RFC 3339, in UTC and with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("?"),
        }
    }
}

impl ServerTime {
    /// In UTC and to the second, for people: `2026-11-26 03:15:50Z`.
    pub fn to_the_second(self) -> String {
        let text = self.to_string();
        text.split_once('.').map_or(text.clone(), |(seconds, _)| format!("{}Z", seconds.replace('T', " ")))
    }
}

impl Serialize for ServerTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ServerTime {
    /// How long before `later` this was; zero if it wasn't before.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// A lock node of zklock's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockNode {
    /// Its full path.
    pub path: NodePath,
    /// The transaction that created it: the fencing token. A node of the same name with another one isn't zklock's.
    pub czxid: i64,
}

/// What is known of a node that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadNode {
    /// It was read.
    Seen(Node),
    /// Its ACL hides everything but its existence.
    Hidden,
}

impl ReadNode {
    /// The node, unless it is hidden.
    pub fn seen(&self) -> Option<&Node> {
        match self {
            Self::Seen(node) => Some(node),
            Self::Hidden => None,
        }
    }

    /// The same, by value.
    pub fn into_seen(self) -> Option<Node> {
        match self {
            Self::Seen(node) => Some(node),
            Self::Hidden => None,
        }
    }

    /// Its data; empty if it is hidden.
    pub fn data(&self) -> &[u8] {
        self.seen().map_or(&[], |node| &node.data)
    }

    /// Whether it is known to belong to no session, so that it stays when its creator ends.
    pub fn is_permanent(&self) -> bool {
        self.seen().is_some_and(Node::is_permanent)
    }
}

impl From<Node> for ReadNode {
    fn from(node: Node) -> Self {
        Self::Seen(node)
    }
}

/// A node that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Default))]
pub struct Node {
    /// Its data; empty if only its stat may be read.
    pub data: Vec<u8>,
    /// The session that owns it, or zero.
    pub owner: i64,
    pub czxid: i64,
    /// How often its data was replaced.
    pub version: i32,
    pub created: ServerTime,
    /// When its data was last replaced.
    pub modified: ServerTime,
}

impl Node {
    /// Whether it belongs to no session. Servers tell a client that nobody owns a container or a node with a time to live
    /// (`DataNode.getClientEphemeralOwner`), except that early releases of 3.5 show a container as owned by the least
    /// number (`EphemeralType.CONTAINER_EPHEMERAL_OWNER`).
    pub fn is_permanent(&self) -> bool {
        matches!(self.owner, 0 | i64::MIN)
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The connection was lost before the answer came: the request may or may not have been carried out.
    #[error("the connection was lost before the answer came")]
    ConnectionLost,
    /// The node or its parent doesn't exist.
    #[error("there is no such node")]
    NoNode,
    /// The ACL doesn't allow the request.
    #[error("permission denied")]
    NoAuth,
    /// The ACL of this node doesn't allow creating the first of several missing nodes below it.
    #[error("permission denied: zklock needs CREATE on {0}")]
    NoCreate(String),
    /// A node may be created, but not deleted.
    #[error("permission denied: zklock needs DELETE above its node")]
    NoDelete,
    /// zklock's own node was created, but its ACL hides it from zklock.
    #[error("permission denied: zklock can't read its own node")]
    Hidden,
    /// The server rejects the ACL that zklock sets on its nodes.
    #[error(
        "the server rejects the ACL of --acl: it doesn't know an id or scheme in it, or 'creator' matches no \
         one because the server accepted no credentials"
    )]
    InvalidAcl,
    #[error("an ephemeral node can't have children")]
    EphemeralParent,
    /// The node was changed since it was read.
    #[error("the node has changed meanwhile")]
    Changed,
    /// Only one server knows the session, and such a local session can't own a node.
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
    #[error(
        "a quota set on the server is used up: raise it (zkCli.sh listquota PATH shows it), or delete nodes below it"
    )]
    Quota,
    /// The server is read-only.
    #[error(
        "the server is read-only, because it has lost its quorum: start the other servers of its ensemble"
    )]
    ReadOnly,
    #[error("the session expired")]
    Expired,
    /// zklock gave the session up: no server answered for longer than the session timeout. The session has ended, or
    /// will end soon after the servers are back; no server has confirmed it.
    #[error("no server answered for longer than the session lasts, and it was given up")]
    GivenUp,
    /// The server refuses zklock's credentials.
    #[error("the server refused the credentials")]
    AuthFailed,
    /// Any other error, in the client library's words.
    #[error("{0}")]
    Other(String),
}

/// Distinguishes the events of a session from those of a session that it replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionKey(pub u32);

/// A change of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// It has been established.
    Connected {
        /// Its id: the `ephemeralOwner` of zklock's nodes.
        id: i64,
        /// The session timeout that the server granted.
        timeout: Duration,
        /// Just before the request for the session was sent.
        began: BootTime,
    },
    /// It couldn't be established by the deadline; each server's reason, with the remedy.
    Unreachable(Vec<String>),
    /// The connection is lost. The session may still be alive.
    Disconnected,
    /// There is no connection yet; what each server says, with the remedy. Repeated as long as that is so.
    ServersSay(Vec<String>),
    /// Connected again in the same session. The servers no longer have zklock's watches.
    Reconnected,
    /// The session has ended: it expired, or the server refuses zklock.
    Lost(RequestError),
    /// The server confirmed that the session is closed and its nodes are deleted.
    Closed,
}

/// A lock of a run by its place among all locks in sorted order, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockIndex(pub usize);

/// A request of a subcommand by its place among those asked together, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionIndex(pub usize);

/// The part of zklock that made a request and gets the reply. A watch that fires is a reply too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The contender for this lock.
    Lock(LockIndex),
    /// The renewal of the lease.
    Lease,
    /// The verdict of `--once-per`, or the record of a success.
    Once,
    /// One of several requests of a subcommand such as status.
    Question(QuestionIndex),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_times_are_shown_in_utc_and_subtract_without_wrapping() {
        let time = ServerTime(1_700_000_000_123);
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.123Z");
        assert_eq!(ServerTime(i64::MAX).to_string(), "?");
        assert_eq!(ServerTime(5).until(ServerTime(12)), Duration::from_millis(7));
        assert_eq!(ServerTime(12).until(ServerTime(5)), Duration::ZERO);
    }

    #[test]
    fn every_reply_tells_of_its_failure() {
        let failure = || RequestError::Quota;
        for reply in [
            Reply::Created(Err(failure())),
            Reply::ParentsMade(Err(failure())),
            Reply::Listed(Err(failure())),
            Reply::Read("/a".into(), Err(failure())),
            Reply::Written(Err(failure())),
            Reply::Deleted(Err(failure())),
            Reply::SuccessRecorded(Err(failure())),
            Reply::Confirmed(BootTime::from_nanos(0), Err(failure())),
            Reply::Tried(Err(failure())),
        ] {
            assert_eq!(reply.failure(), Some(&failure()));
        }
        assert_eq!(Reply::Changed("/a".into(), true).failure(), None);
    }
}
