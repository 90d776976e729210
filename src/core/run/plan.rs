//! What a run is about.

use std::time::Duration;

use crate::core::environment::HeldLock;
use crate::core::lock::name::{Family, Mode};
use crate::core::message::Message;
use crate::core::path::LockPath;
use crate::core::time::BootTime;

/// What the user wants, and what is known of zklock's surroundings.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub struct Plan {
    /// The first lock of the command line: messages of the whole run are said of it.
    pub first: LockPath,
    /// All locks, in the user's order.
    pub locks: Vec<LockPath>,
    /// What is asked of each.
    pub mode: Mode,
    /// How their nodes are named.
    pub family: Family,
    /// The servers, as people read them.
    pub hosts: String,
    /// What stands before every path at the servers.
    pub chroot: String,
    /// Whether credentials were given.
    pub has_credentials: bool,
    /// When it began.
    pub began: BootTime,
    /// When to give up waiting; `None` is never.
    pub give_up_at: Option<BootTime>,
    /// How long an attempt may take to have a connection and a first answer, where there is no deadline.
    pub connect_timeout: Duration,
    /// Give up as soon as the lock is seen busy.
    pub nonblock: bool,
    /// The exit code for that.
    pub conflict_exit_code: u8,
    /// Skip if the command succeeded within this time.
    pub once_per: Option<Duration>,
    /// Whether the command is stopped when the lock is lost.
    pub terminates: bool,
    /// The grace of a forced stop between TERM and KILL.
    pub kill_after: Duration,
    /// What people know the command by.
    pub command: String,
    /// Whether a waiting line is shown.
    pub shows_line: bool,
    /// How often a long wait is told, where no line shows it.
    pub progress: Option<Duration>,
    /// Every lock that is said to be held around us.
    pub outer: Vec<HeldLock>,
}

impl Plan {
    /// When to give up connecting for the first time.
    pub fn connect_by(&self) -> BootTime {
        self.give_up_at.unwrap_or(self.began + self.connect_timeout)
    }

    /// When to give up in general. Without a limit servers are waited for as well; with `-n` they have so long.
    pub fn try_until(&self) -> Option<BootTime> {
        self.give_up_at.or_else(|| self.nonblock.then(|| self.began + self.connect_timeout))
    }

    /// The locks that are not among those `held` around zklock.
    pub fn not_held_in<'a>(&'a self, held: &'a [HeldLock]) -> impl Iterator<Item = &'a LockPath> {
        self.locks.iter().filter(|path| !held.iter().any(|held| held.is_of(&self.chroot, path)))
    }

    /// Why there is no session.
    pub fn unreachable(&self, servers: Vec<String>) -> Message {
        let within = self.give_up_at.map_or(self.connect_timeout, |at| at.since(self.began));
        Message::Unreachable { within: Some(within).filter(|_| !self.nonblock), servers }
    }
}
