//! What zklock tells its guard.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::{MsgFlags, send};
use serde::{Deserialize, Serialize};

use crate::zk::Security;

/// One message from zklock to its guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// This is how to connect in our place. Credentials travel in no other way.
    Security(Security),
    /// These are ours, and this is how to delete them.
    Nodes {
        /// The connect string.
        hosts: String,
        /// The session timeout in milliseconds; after as long the nodes are gone anyway.
        session_timeout: u64,
        /// The lock nodes.
        nodes: Vec<GuardedNode>,
    },
    /// The lease of the job, until a later one is told. `None`: it may run on whatever becomes of the lock.
    Lease(Option<GuardedLease>),
    /// The job's group runs already: this guard replaces one that died.
    Running(i32),
    /// The job is over and about to be reaped: its group's number may soon be somebody else's. There will be no other.
    JobOver,
    /// Everything is released.
    Dismissed,
}

impl Order {
    /// Sends it on its way along `line`, without waiting for somebody to listen.
    pub(super) fn send(&self, line: BorrowedFd<'_>) -> io::Result<()> {
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        send(line.as_raw_fd(), &serde_json::to_vec(self)?, flags)?;
        Ok(())
    }
}

/// What the guard has to know of a lease. Moments are nanoseconds of `CLOCK_BOOTTIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedLease {
    /// From here on a job is stopped, so that none is started.
    pub start_before: u64,
    /// Here a job that still lives is killed.
    pub kill_at: u64,
    /// Here the lock may be somebody else's.
    pub end: u64,
}

/// A lock node that the guard may delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedNode {
    /// Its full path.
    pub path: String,
    /// The transaction that created it: a node of the same name with another isn't ours.
    pub czxid: i64,
}
