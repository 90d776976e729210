//! The settings of a run.

use std::time::Duration;

use crate::environment::HeldLock;
use crate::message::Message;
use crate::path::LockPath;
use crate::protocol::ServerTime;
use crate::queue::name::{Family, Mode};
use crate::time::BootTime;

/// The user's settings, and the facts about zklock's surroundings.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub struct Plan {
    /// All locks, in the user's order: at least one.
    pub locks: Vec<LockPath>,
    /// What zklock asks for on each lock.
    pub mode: Mode,
    /// The naming scheme of the nodes.
    pub family: Family,
    /// The servers, as shown in messages.
    pub hosts: String,
    /// The chroot, which precedes every path on the servers.
    pub chroot: String,
    /// Whether credentials were given.
    pub has_credentials: bool,
    /// When the run began.
    pub began: BootTime,
    /// The same by the host's clock.
    pub began_at: ServerTime,
    /// When to give up waiting; `None`: never.
    pub give_up_at: Option<BootTime>,
    /// How long the first connection and its first answer may take.
    pub connect_timeout: Duration,
    /// The option that sets it.
    pub connect_option: &'static str,
    /// Give up as soon as the lock is seen busy.
    pub nonblock: bool,
    /// The exit code for a busy lock.
    pub conflict_exit_code: u8,
    /// Skip the command if it succeeded within this time.
    pub once_per: Option<Duration>,
    /// The session timeout that zklock asks for.
    pub session_timeout: Duration,
    /// The signal that begins a forced stop.
    pub signal: i32,
    /// Whether forwarded signals and that signal go to the command's first process only.
    pub single_child: bool,
    /// The grace of a forced stop between that signal and KILL.
    pub kill_after: Duration,
    /// The command's name in messages.
    pub command: String,
    /// Whether zklock has a controlling terminal: the command shares its process group then.
    pub has_terminal: bool,
    /// Whether a waiting line is shown.
    pub shows_line: bool,
    /// Whether a service manager is told about the run.
    pub notifies: bool,
    /// How often to report a long wait, if no waiting line shows it.
    pub progress: Option<Duration>,
    /// Every lock that is said to be held around zklock.
    pub outer: Vec<HeldLock>,
    /// The wanted locks that are held around zklock.
    pub held: Vec<HeldLock>,
}

/// What is around a run and no option says.
#[derive(Debug)]
pub struct Surroundings {
    /// When the run begins.
    pub began: BootTime,
    /// The same by the host's clock.
    pub began_at: ServerTime,
    /// Whether zklock has a controlling terminal.
    pub has_terminal: bool,
    /// Whether a waiting line can be shown.
    pub shows_line: bool,
    /// Whether a service manager is told about the run.
    pub notifies: bool,
    /// Every lock that is said to be held around zklock.
    pub outer: Vec<HeldLock>,
}

impl Plan {
    /// The first lock of the command line: messages about the whole run name it.
    pub fn first(&self) -> &LockPath {
        &self.locks[0]
    }

    /// When to give up the first attempt to connect.
    pub fn connect_by(&self) -> BootTime {
        self.began + self.connect_timeout
    }

    /// When to give up altogether. Without a limit, zklock waits for servers too; with `-n` they have
    /// `connect_timeout`.
    pub fn try_until(&self) -> Option<BootTime> {
        self.give_up_at.or_else(|| self.nonblock.then(|| self.began + self.connect_timeout))
    }

    /// The time by the host's clock.
    pub fn host_time(&self, now: BootTime) -> ServerTime {
        let millis = i64::try_from(now.since(self.began).as_millis()).unwrap_or(i64::MAX);
        ServerTime(self.began_at.0.saturating_add(millis))
    }

    /// The locks to queue for: those that aren't held around zklock.
    pub fn not_held(&self) -> impl Iterator<Item = &LockPath> {
        self.locks.iter().filter(|path| !self.held.iter().any(|held| held.is_of(&self.chroot, path)))
    }

    /// The message that there is no session. With `-n`, zklock may not have waited for the servers.
    pub fn unreachable(&self, servers: Vec<String>, now: BootTime) -> Message {
        let has_waited = !self.nonblock || now >= self.connect_by();
        let within = has_waited.then_some((self.connect_timeout, self.connect_option));
        Message::unreachable(within, servers)
    }
}
