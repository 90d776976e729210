//! What happens to zklock's places in the queues, and to the session that keeps them.

use super::contender::ContentionError;
use crate::path::LockPath;
use crate::protocol::{Asker, LockNode, Reply, RequestError, ServerTime};

/// An event for the phase of a run, to report to the user or to act on. It comes from a contender, which names its lock, or
/// from the session of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The session is established, and zklock contends for the first lock.
    Connected,
    /// No session could be established; the reason that each server gave.
    Unreachable(Vec<String>),
    /// The connection is lost; the session may still be alive.
    Disconnected,
    /// Connected again.
    Reconnected,
    /// The session has ended, and all its nodes with it.
    Lost(RequestError),
    /// A confirmation: nodes with the names of zklock's nodes exist, and the session is alive.
    Confirmed,
    /// A confirmation found that one of zklock's nodes is gone.
    NodeGone,
    /// A confirmation failed without saying anything about the nodes.
    Unconfirmed(RequestError),
    /// The session is closed, confirmed by the server.
    Closed,
    /// zklock's node is in the queue.
    Queued(LockPath, LockNode),
    /// Another contender is ahead.
    Waiting {
        /// The lock.
        path: LockPath,
        /// Name of the predecessor.
        predecessor: String,
        /// The predecessor's data.
        data: Vec<u8>,
        /// When the predecessor was created; zero if its ACL hides that from zklock.
        since: ServerTime,
        /// How many contenders are ahead, including the predecessor.
        ahead: usize,
    },
    /// zklock holds this lock.
    Held(LockPath),
    /// The lock is busy, and zklock was told not to wait.
    Busy {
        /// The lock.
        path: LockPath,
        /// Name of the node in the way.
        holder: String,
        /// Its data.
        data: Vec<u8>,
        /// When it was created; zero if its ACL hides that from zklock.
        since: ServerTime,
    },
    /// Another client asks zklock to give up this lock; its description, if known.
    Revoked(LockPath, Option<String>),
    /// The contender for this lock can't continue.
    Failed(LockPath, ContentionError),
    /// The answer to a question that no contender asked.
    Aside(Asker, Reply),
}
