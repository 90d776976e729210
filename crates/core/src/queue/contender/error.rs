//! Contention errors: why a contender can't continue, in messages that name the remedy.

use std::fmt;

use thiserror::Error;

use crate::protocol::RequestError;
use crate::queue::order::QueueError;

/// Why a contender can't continue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContentionError {
    /// zklock's node is gone although its session is alive: another client deleted it.
    #[error("its lock node was deleted by another client; run the command again")]
    Deleted,
    /// The queue excludes no other contender.
    #[error(transparent)]
    Refused(#[from] QueueError),
    /// An ACL denies the request.
    #[error("no permission to {action}: needs {permission} on {node}; ask for it, or use other credentials")]
    Permission {
        /// What zklock tried to do.
        action: &'static str,
        /// The permission that the ACL doesn't grant.
        permission: &'static str,
        /// The node whose ACL it is.
        node: String,
    },
    /// The ACL that zklock set on its own node excludes zklock.
    #[error(
        "zklock can't read its own node, so it couldn't tell when it loses the lock: the list of --acl must \
         give it READ"
    )]
    OwnNodeHidden,
    /// A node of the queue belongs to no session. It has a contender's name, but nothing removes it when its creator
    /// ends.
    #[error(
        "{0} has a contender's name but isn't ephemeral, so the lock would wait for it for ever: delete it if \
         it is a leftover, or use another lock path"
    )]
    NotEphemeral(String),
    /// A node above the lock can't have children.
    #[error("the path lies below an ephemeral node, which can't have children: use another path")]
    EphemeralParent,
    /// The chroot of the connect string doesn't exist.
    #[error(
        "the chroot {0} of the connect string doesn't exist: create it once with 'zklock check --create-chroot' and the \
         same connect string, or correct the connect string"
    )]
    NoChroot(String),
    /// The parents are deleted as fast as zklock creates them.
    #[error(
        "the lock's parent was deleted again and again while zklock was queueing: find the program that \
             deletes it"
    )]
    ParentsVanish,
    /// The connection ended with each create that was sent.
    #[error(
        "the server closed the connection each time zklock tried to {0}, and its log says why: it may not be an Apache \
         ZooKeeper 3.5 or newer, or its jute.maxbuffer may be too small"
    )]
    Closed(&'static str),
    /// The server refused the request.
    #[error("{0}")]
    Server(RequestError),
}

impl ContentionError {
    /// The error as seen by a run, which knows the `chroot`.
    #[must_use]
    pub fn below(self, chroot: &str) -> Self {
        match self {
            Self::NoChroot(_) => Self::NoChroot(chroot.to_owned()),
            error => error,
        }
    }

    /// The error for a `failure` of `action`, which needs `permission` on `node`.
    pub fn of(
        failure: RequestError,
        action: &'static str,
        permission: &'static str,
        node: &impl fmt::Display,
    ) -> Self {
        match failure {
            RequestError::NoAuth => Self::Permission { action, permission, node: node.to_string() },
            RequestError::NoCreate(node) => Self::Permission { action, permission, node },
            RequestError::Hidden => Self::OwnNodeHidden,
            RequestError::EphemeralParent => Self::EphemeralParent,
            other => Self::Server(other),
        }
    }
}
