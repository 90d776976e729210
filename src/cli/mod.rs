//! The command line: what the user said, checked before anything is touched.

mod values;
mod words;

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};
use nix::sys::signal::Signal;

pub use self::words::{BadWords, Words};
use crate::lock::name::{Family, Mode};
use crate::zk::Hosts;

/// Runs COMMAND while it holds the lock PATH in ZooKeeper.
#[derive(Debug, Parser)]
#[command(
    name = "zklock",
    version,
    max_term_width = 100,
    args_override_self = true,
    override_usage = "zklock [OPTIONS] PATH [--] COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH PATH ... -- COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH -c 'SHELL STRING'",
    after_help = EXIT_CODES,
)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Options {
    /// ZooKeeper servers: host:port,host:port[/chroot]
    #[arg(short, long, value_name = "HOSTS", env = "ZKLOCK_ZOOKEEPER", hide_env_values = true, default_value = "localhost:2181", value_parser = Hosts::parse)]
    pub zookeeper: Hosts,

    /// Don't wait: if the lock is busy, exit with 124
    #[arg(short, long, visible_aliases = ["nb", "nonblocking"])]
    pub nonblock: bool,

    /// Wait at most SECS (fractions allowed) to connect and get the lock, then exit with 124 (125 if not connected); 0 is -n
    #[arg(short = 'w', long, value_name = "SECS", visible_alias = "wait", value_parser = values::seconds)]
    pub timeout: Option<Duration>,

    /// Exit code when the lock is busy; 0 makes cron skip quietly
    #[arg(short = 'E', long, value_name = "N", default_value_t = crate::exit::CONFLICT, value_parser = values::exit_code)]
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

    /// Whose lock nodes the path is shared with: curator, curator-rw or kazoo
    #[arg(long, value_name = "FAMILY", default_value = "curator", hide_possible_values = true)]
    pub naming: Naming,

    /// Run STRING by /bin/sh -c; also right behind the one PATH
    #[arg(short, long, value_name = "STRING")]
    pub command: Option<OsString>,

    /// Session timeout to ask of ZooKeeper: after a crash the next contender runs this much later at most
    #[arg(long, value_name = "SECS", default_value = "30", value_parser = values::session_timeout)]
    pub session_timeout: Duration,

    /// Give up if no server can be reached in this time (with -w, that time counts)
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = values::positive_seconds)]
    pub connect_timeout: Duration,

    /// What a forced stop of the command sends first
    #[arg(long, value_name = "SIG", default_value = "TERM", value_parser = values::signal)]
    pub signal: Signal,

    /// Grace between that signal and KILL
    #[arg(long, value_name = "SECS", default_value = "5", value_parser = values::seconds)]
    pub kill_after: Duration,

    /// What happens to the command when the lock can no longer be trusted: terminate or continue
    #[arg(long, value_name = "ACTION", default_value = "terminate", hide_possible_values = true)]
    pub on_lost: OnLost,

    /// What others see of this contender; without it, the program's name (never its arguments)
    #[arg(long, value_name = "TEXT", value_parser = values::label)]
    pub label: Option<String>,

    /// Say each step; twice or more for debugging
    #[arg(short, long, action = ArgAction::Count, overrides_with = "quiet")]
    pub verbose: u8,

    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,

    /// The lock, and the command with its arguments
    #[arg(value_name = "PATH [--] COMMAND", trailing_var_arg = true, hide = true)]
    words: Vec<OsString>,
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
    #[doc = "It is stopped, before anybody else can have the lock."]
    #[value(help = None)]
    Terminate,
    #[doc = "It goes on, with a warning."]
    #[value(help = None)]
    Continue,
}

const EXIT_CODES: &str = "\
Of all contenders for one path, on all hosts, one runs at a time, in the order they came.
The lock is released when the command ends, however it ends.

Options end at the first PATH; what follows belongs to the command.

Exit codes: the command's own, exactly; if a signal killed it, zklock dies of the same signal.
Otherwise:
  123  the lock was lost while the command ran, and it was stopped
  124  the lock is busy (with -n, or when -w ran out; -E chooses another)
  125  zklock itself failed: usage, connection, permission
  126  the command was found but can't be run
  127  the command was not found

The command sees ZKLOCK_PATH, ZKLOCK_NODE, ZKLOCK_FENCING_TOKEN and ZKLOCK_LOCKS.

Example: zklock -n -E 0 /locks/backup -- ./backup.sh --all";

impl Options {
    /// The locks and the command among the words, or what is wrong with them.
    pub fn words(&self) -> Result<Words, BadWords> {
        if self.slots.is_some() && self.naming != Naming::Curator {
            return Err(BadWords::SlotsNaming);
        }
        words::understand(&self.words, self.command.as_deref())
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn options_end_at_the_first_path() {
        let options = Options::try_parse_from(["zklock", "-n", "/a", "ls", "-n", "--", "-v"]);
        assert!(
            options.is_ok_and(|options| options.nonblock && options.verbose == 0 && options.words.len() == 5)
        );
    }

    #[test]
    fn the_last_of_a_repeated_option_counts() {
        let options = Options::try_parse_from(["zklock", "-w", "3", "--wait", "4.5", "/a", "true"]);
        assert!(options.is_ok_and(|options| options.timeout == Some(Duration::from_millis(4500))));
    }

    #[test]
    fn unknown_options_are_refused_and_not_taken_for_a_path() {
        assert!(Options::try_parse_from(["zklock", "--nonsense", "/a", "true"]).is_err());
        assert!(Options::try_parse_from(["zklock", "-Z", "/a", "true"]).is_err());
    }
}
