//! Why a contender can't go on, in words that name the remedy.

use thiserror::Error;

use crate::lock::queue::Refusal;
use crate::zk::Failure;

/// Why a contender can't go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Trouble {
    /// Our node is gone though our session lives: somebody deleted it.
    #[error("our node was deleted by somebody; run the command again to queue anew")]
    Deleted,
    /// The queue excludes nobody.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An ACL is in the way.
    #[error("no permission to {0}: ask for it, or use other credentials")]
    Permission(&'static str),
    /// A node above can't have children.
    #[error("the path lies below an ephemeral node, which can't have children: use another path")]
    EphemeralParent,
    /// The chroot of the connect string is missing.
    #[error("the chroot of the connect string doesn't exist: create it once, or correct the connect string")]
    NoChroot,
    /// The parents vanish as fast as they are made.
    #[error("the lock's parent vanished again and again while we were queueing: is something deleting it?")]
    ParentsVanish,
    /// The server says no.
    #[error("{0}")]
    Server(Failure),
}

impl Trouble {
    /// What the failure of `action` means; `action` names the permission that it needs.
    pub fn of(failure: Failure, action: &'static str) -> Self {
        trouble(failure, action)
    }
}

pub(super) fn trouble(failure: Failure, action: &'static str) -> Trouble {
    match failure {
        Failure::NoAuth => Trouble::Permission(action),
        Failure::EphemeralParent => Trouble::EphemeralParent,
        other => Trouble::Server(other),
    }
}

pub(super) fn cannot_list(failure: Failure) -> Trouble {
    match failure {
        Failure::NoNode => Trouble::Deleted,
        other => trouble(other, "see the queue (READ on the lock path)"),
    }
}
