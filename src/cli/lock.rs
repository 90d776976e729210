//! The options for running a command under a lock.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use zklock_core::duration;
use zklock_core::queue::name::{Family, Mode};

use super::invocation::{self, InvocationError};
use crate::config::ALWAYS_STOPPED;
use crate::plan::{Connection, Invocation};
use crate::values;

/// How the lock is taken, held and lost.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Locking")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct LockOptions {
    /// Take a read lock, which readers hold together
    ///
    /// A writer waits for all of them.
    #[arg(short, long, overrides_with = "exclusive")]
    pub shared: bool,

    /// Take a write lock, which one contender holds alone (the default)
    #[arg(short = 'x', long, hide_short_help = true)]
    pub exclusive: bool,

    /// Let N commands run at once
    ///
    /// All contenders for a path must give the same N.
    #[arg(long, value_name = "N", conflicts_with = "shared", value_parser = values::slots)]
    pub slots: Option<u32>,

    /// Skip if the command succeeded less than SECS ago
    ///
    /// It counts on whatever host that was, by the servers' clock. A skip ends as a busy lock does.
    #[arg(long, value_name = "SECS", conflicts_with_all = ["shared", "slots"], value_parser = values::positive_time)]
    pub once_per: Option<Duration>,

    /// Show TEXT to other contenders and in 'status'
    ///
    /// Without it they see the program's name, never its arguments.
    #[arg(long, value_name = "TEXT", value_parser = OsStringValueParser::new().map(|text| values::label(&text)))]
    pub label: Option<String>,

    /// Name lock nodes as other programs on the path do: curator, curator-rw or kazoo
    #[arg(
        long,
        value_name = "FAMILY",
        default_value = "curator",
        hide_short_help = true,
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(FAMILIES.map(|(name, _)| name)).map(|name| family(&name))
    )]
    pub naming: Family,

    /// Don't wait: if the lock is busy, exit with 124
    #[arg(short, long, visible_aliases = ["nb", "nonblocking"], help_heading = "Waiting")]
    pub nonblock: bool,

    /// Wait at most SECS, then exit with 124
    ///
    /// A time is 90, 1.5, 500ms, 30s, 10m, 2h or 1d; 0 is -n. Connecting counts, too: zklock exits with 125 if no
    /// server can be reached in that time, or in --connect-timeout if that is set.
    #[arg(short = 'w', long, value_name = "SECS", visible_alias = "wait", help_heading = "Waiting", value_parser = duration::parse)]
    pub timeout: Option<Duration>,

    /// In a long wait, say every SECS who is just ahead
    ///
    /// Not where a terminal shows it anyway.
    #[arg(long, value_name = "SECS", help_heading = "Waiting", hide_short_help = true, value_parser = values::positive_time)]
    pub progress: Option<Duration>,

    /// Exit with N if the lock is busy; 0 suits cron
    #[arg(short = 'E', long, value_name = "N", default_value_t = zklock_core::exit::CONFLICT, help_heading = "Waiting", value_parser = values::exit_code)]
    pub conflict_exit_code: u8,

    /// Run STRING by /bin/sh -c
    ///
    /// As in flock(1), it may also follow the one PATH.
    #[arg(short, long, value_name = "STRING", help_heading = "Command")]
    pub command: Option<OsString>,

    /// Begin a forced stop of the command with this signal
    ///
    /// A name as in kill(1), such as INT or RTMIN+3, or a number.
    #[arg(long, value_name = "SIG", default_value = "TERM", hide_short_help = true, help_heading = "Command", value_parser = values::signal)]
    pub signal: i32,

    /// Send KILL this long after that signal
    ///
    /// Also the longest time for which the lock waits for the process group of a command that a signal ended.
    #[arg(long, value_name = "SECS", default_value = "5s", hide_short_help = true, help_heading = "Command", value_parser = duration::parse)]
    pub kill_after: Duration,

    /// Signal only the command's first process
    ///
    /// That one ends its own processes in order, as the masters of celery and gunicorn do. KILL still ends all.
    #[arg(long, help_heading = "Command", hide_short_help = true)]
    pub single_child: bool,

    #[arg(long, hide = true, value_parser = no_on_lost)]
    on_lost: Option<String>,

    #[arg(short = 't', long, hide = true, value_parser = no_ttl)]
    ttl: Option<String>,

    /// The lock, and the command with its arguments
    #[arg(value_name = "PATH [--] COMMAND", trailing_var_arg = true, hide = true, value_hint = ValueHint::CommandWithArguments)]
    pub(super) words: Vec<OsString>,
}

/// 1.1 had this option.
fn no_on_lost(_: &str) -> Result<String> {
    bail!("leave it out: {ALWAYS_STOPPED}")
}

/// Of `etcdctl lock`, and what `consul lock` has as `-try` and `-timeout`.
fn no_ttl(_: &str) -> Result<String> {
    bail!(
        "write --session-timeout SECS for etcdctl's --ttl, and -n or -w SECS for consul's -try and -timeout"
    )
}

const FAMILIES: [(&str, Family); 3] =
    [("curator", Family::Curator), ("curator-rw", Family::CuratorRw), ("kazoo", Family::Kazoo)];

impl LockOptions {
    /// The locks and the command.
    ///
    /// # Errors
    /// If the words aren't locks and a command, or don't go with the options.
    pub fn invocation(&self) -> Result<Invocation, InvocationError> {
        if self.slots.is_some() && self.naming != Family::Curator {
            return Err(InvocationError::SlotsNaming);
        }
        let mut invocation = invocation::parse(&self.words, self.command.as_deref())?;
        invocation.label = self.label.clone().filter(|label| !label.is_empty());
        match invocation.locks.as_slice() {
            [_, _, ..] if self.once_per.is_some() => Err(InvocationError::OncePerSeveral),
            _ => Ok(invocation),
        }
    }

    /// The mode in which each lock is acquired.
    pub fn mode(&self) -> Mode {
        match (self.shared, self.slots) {
            (true, _) => Mode::Shared,
            (false, Some(slots)) => Mode::Slots(slots),
            (false, None) => Mode::Exclusive,
        }
    }

    /// How long to wait at most, if there is such a limit.
    pub fn wait_limit(&self) -> Option<Duration> {
        self.timeout.filter(|limit| !limit.is_zero())
    }

    /// How long to try to connect, and the option that says so: `-w` limits that with `-n` too. A connect timeout that was
    /// set holds beside it.
    pub fn connect_limit(&self, connection: &Connection) -> (Duration, &'static str) {
        let connect_timeout = connection.connect_timeout;
        match self.wait_limit() {
            Some(limit) if !connection.sets_connect_timeout || limit <= connect_timeout => (limit, "-w"),
            _ => (connect_timeout, "--connect-timeout"),
        }
    }

    /// Whether zklock exits immediately if the lock is busy: with `-n` or `-w 0`.
    pub fn gives_up_at_once(&self) -> bool {
        self.nonblock || self.timeout == Some(Duration::ZERO)
    }
}

fn family(name: &str) -> Family {
    FAMILIES.iter().find(|(known, _)| *known == name).map_or(Family::Curator, |(_, family)| *family)
}
