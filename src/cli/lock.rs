//! Options of the main job: to run a command under a lock.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use nix::sys::signal::Signal;

use super::values;
use super::words::{self, BadWords, Words};
use crate::core::duration;
use crate::core::lock::name::{Family, Mode};

/// How the lock is taken, held and lost.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct LockOptions {
    /// Don't wait: if the lock is busy, exit with 124
    #[arg(short, long, visible_aliases = ["nb", "nonblocking"])]
    pub nonblock: bool,

    /// Wait at most SECS (90, 1.5, 500ms, 30s, 10m, 2h, 1d) to connect and get the lock, then exit with 124 (125 if not connected); 0 is -n
    #[arg(short = 'w', long, value_name = "SECS", allow_negative_numbers = true, visible_alias = "wait", value_parser = duration::parse)]
    pub timeout: Option<Duration>,

    /// Exit code when the lock is busy; 0 makes cron skip quietly
    #[arg(short = 'E', long, value_name = "N", default_value_t = crate::core::exit::CONFLICT, value_parser = values::exit_code)]
    pub conflict_exit_code: u8,

    /// Take a read lock: other readers may hold it too, a writer waits for all of them
    #[arg(short, long, overrides_with = "exclusive")]
    pub shared: bool,

    /// Take a write lock: nobody else holds it meanwhile (the default)
    #[arg(short = 'x', long)]
    pub exclusive: bool,

    /// Let N hold at once; all contenders for a path must say the same N
    #[arg(long, value_name = "N", conflicts_with = "shared", value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,

    /// Skip, as if busy, when the command succeeded less than SECS ago, on whatever host
    #[arg(long, value_name = "SECS", allow_negative_numbers = true, conflicts_with_all = ["shared", "slots"], value_parser = values::positive_time)]
    pub once_per: Option<Duration>,

    /// Whose lock nodes the path is shared with: curator, curator-rw or kazoo
    #[arg(long, value_name = "FAMILY", default_value = "curator", hide_possible_values = true)]
    pub naming: Naming,

    /// Run STRING by /bin/sh -c; also right behind the one PATH
    #[arg(short, long, value_name = "STRING")]
    pub command: Option<OsString>,

    /// Session timeout to ask of ZooKeeper: after a crash the next contender runs this much later at most
    #[arg(long, value_name = "SECS", allow_negative_numbers = true, default_value = "30s", value_parser = values::session_timeout)]
    pub session_timeout: Duration,

    /// What a forced stop of the command sends first
    #[arg(long, value_name = "SIG", default_value = "TERM", value_parser = values::signal)]
    pub signal: Signal,

    /// Grace between that signal and KILL
    #[arg(long, value_name = "SECS", allow_negative_numbers = true, default_value = "5s", value_parser = duration::parse)]
    pub kill_after: Duration,

    /// What happens to the command when the lock can no longer be trusted: terminate or continue
    #[arg(long, value_name = "ACTION", default_value = "terminate", hide_possible_values = true)]
    pub on_lost: OnLost,

    /// What others see of this contender; without it, the program's name (never its arguments)
    #[arg(long, value_name = "TEXT", value_parser = values::label)]
    pub label: Option<String>,

    /// The lock, and the command with its arguments
    #[arg(value_name = "PATH [--] COMMAND", trailing_var_arg = true, hide = true, value_hint = ValueHint::CommandWithArguments)]
    pub(super) words: Vec<OsString>,
}

/// Whose lock nodes the path is shared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Naming {
    #[doc = "Curator's `InterProcessMutex`, and most others."]
    #[value(help = None)]
    Curator,
    #[doc = "Curator's `InterProcessReadWriteLock`."]
    #[value(help = None)]
    CuratorRw,
    #[doc = "kazoo's `Lock`, `ReadLock` and `WriteLock`."]
    #[value(help = None)]
    Kazoo,
}

/// What happens to the command when the lock is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnLost {
    #[doc = "It is stopped before another contender can get the lock."]
    #[value(help = None)]
    Terminate,
    #[doc = "It goes on, with a warning."]
    #[value(help = None)]
    Continue,
}

impl LockOptions {
    /// The locks and the command among the words, or what is wrong with them.
    pub fn words(&self) -> Result<Words, BadWords> {
        if self.slots.is_some() && self.naming != Naming::Curator {
            return Err(BadWords::SlotsNaming);
        }
        let words = words::understand(&self.words, self.command.as_deref())?;
        match words.locks.as_slice() {
            [_, _, ..] if self.once_per.is_some() => Err(BadWords::OncePerSeveral),
            _ => Ok(words),
        }
    }

    /// What is asked of each lock.
    pub fn mode(&self) -> Mode {
        match (self.shared, self.slots) {
            (true, _) => Mode::Shared,
            (false, Some(slots)) => Mode::Slots(slots),
            (false, None) => Mode::Exclusive,
        }
    }

    /// How the lock nodes are named.
    pub fn family(&self) -> Family {
        match self.naming {
            Naming::Curator => Family::Curator,
            Naming::CuratorRw => Family::CuratorRw,
            Naming::Kazoo => Family::Kazoo,
        }
    }

    /// Whether the command is stopped when the lock is lost.
    pub fn on_lost_terminates(&self) -> bool {
        self.on_lost == OnLost::Terminate
    }

    /// Whether to give up at once when the lock is busy.
    pub fn gives_up_at_once(&self) -> bool {
        self.nonblock || self.timeout == Some(Duration::ZERO)
    }
}
