//! The whole command line in one definition, from which help, manual and completions are made too.

use anyhow::Result;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, Parser};

use super::ensemble::Ensemble;
use super::lock::LockOptions;
use super::verbs::Verb;
use crate::core::time::BootTime;
use crate::runtime::zk::Settings;

/// Runs COMMAND while it holds the lock PATH in ZooKeeper.
#[derive(Debug, Parser)]
#[command(
    name = "zklock",
    version,
    max_term_width = 100,
    args_override_self = true,
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    override_usage = "zklock [OPTIONS] PATH [--] COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH PATH ... -- COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH -c 'SHELL STRING'\n       \
                      zklock status [--json] [--watch] [--recursive] [--exit-code] [PATH ...]\n       \
                      zklock revoke PATH [--node NODE | --all] [--force]\n       \
                      zklock forget PATH",
    after_help = EXIT_CODES,
)]
pub struct Options {
    /// How to reach the servers.
    #[command(flatten)]
    pub ensemble: Ensemble,

    /// How to take and hold the lock.
    #[command(flatten)]
    pub lock: LockOptions,

    /// What to do instead of running a command.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

impl Options {
    /// What it takes to connect, by this time at the latest. Files are read and checked here.
    pub fn settings(&self, deadline: BootTime) -> Result<Settings> {
        Ok(Settings {
            hosts: self.ensemble.zookeeper.clone(),
            session_timeout: self.lock.session_timeout,
            deadline: Some(deadline),
            refusals_end: self.verb.is_none() && self.lock.gives_up_at_once(),
            security: self.ensemble.security.resolve(&self.ensemble.auth)?,
        })
    }
}

const EXIT_CODES: &str = "\
Of all contenders for one path, on all hosts, one runs at a time, in the order they came.
The lock is released when the command ends, however it ends.

Options end at the first PATH; what follows belongs to the command.

Exit codes: the command's own, exactly; if a signal killed it, zklock dies of the same signal.
Otherwise:
  123  the lock was lost while the command ran, and it was stopped
  124  not run: the lock is busy (-n, or -w ran out), or --once-per skips; -E chooses another
  125  zklock itself failed: usage, connection, permission
  126  the command was found but can't be run
  127  the command was not found

The command sees ZKLOCK_PATH, ZKLOCK_NODE, ZKLOCK_FENCING_TOKEN and ZKLOCK_LOCKS.

Example: zklock -n -E 0 /locks/backup -- ./backup.sh --all";

/// Refuses options of the main job in front of a verb, where they would mean nothing.
pub(super) fn check_goes_with_verb(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(verb) = matches.subcommand_name() else {
        return Ok(());
    };
    let of_the_lock = LockOptions::augment_args(clap::Command::new("lock"));
    let said = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    match of_the_lock.get_arguments().find(|arg| said(arg.get_id().as_str())) {
        Some(arg) => {
            let option = arg.get_long().unwrap_or_default();
            let why = format!("--{option} doesn't go with '{verb}'");
            Err(Options::command().error(ErrorKind::ArgumentConflict, why))
        }
        None => Ok(()),
    }
}
