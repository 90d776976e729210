//! The definition of the command line, from which the help, the manual page and the completions are generated too.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory, Parser};

use super::StartError;
use super::ensemble::Ensemble;
use super::lock::LockOptions;
use super::settings::Setting;
use super::subcommands::Subcommand;

/// Runs COMMAND while it holds the lock PATH in ZooKeeper.
#[derive(Debug, Parser)]
#[command(
    name = "zklock",
    version = option_env!("ZKLOCK_VERSION").unwrap_or(env!("CARGO_PKG_VERSION")),
    max_term_width = 100,
    args_override_self = true,
    subcommand_value_name = "SUBCOMMAND",
    subcommand_help_heading = "Subcommands",
    override_usage = "zklock [OPTIONS] PATH [--] COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH PATH ... -- COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH -c 'SHELL STRING'\n       \
                      zklock status [--json] [--watch] [--recursive] [--exit-code] [PATH ...]\n       \
                      zklock status --openmetrics [PATH ...]\n       \
                      zklock revoke PATH [--node NODE | --all] [--force]\n       \
                      zklock wait [-n] [-w SECS] [-E N] PATH ...\n       \
                      zklock check [--json] [--create-chroot] [PATH]\n       \
                      zklock forget PATH",
    after_help = "Exit codes: the command's own; 123 lock lost, 124 busy, 125 zklock itself failed",
    after_long_help = EXIT_CODES,
)]
pub struct Options {
    /// How to take and hold the lock.
    #[command(flatten)]
    pub lock: LockOptions,

    /// How to reach the servers.
    #[command(flatten)]
    pub ensemble: Ensemble,

    /// What to do instead of running a command.
    #[command(subcommand)]
    pub subcommand: Option<Subcommand>,

    /// The settings in effect, with their sources.
    #[arg(skip)]
    pub settings: Vec<Setting>,
}

const EXIT_CODES: &str = "\
Only one contender for a path runs at a time, across all hosts, in first-come order.
The lock is released when the command ends, however it ends.

Options end at the first PATH; what follows belongs to the command.

Exit codes: the command's own, exactly; if a signal killed it, zklock dies of the same signal.
Otherwise:
  123  the lock was lost or revoked while the command ran, and it was stopped
  124  not run: the lock is busy (-n, or -w ran out), or --once-per skips; -E chooses another
  125  zklock itself failed: usage, connection, permission
  126  the command was found but can't be run
  127  the command was not found

The command sees ZKLOCK_PATH, ZKLOCK_NODE, ZKLOCK_FENCING_TOKEN and ZKLOCK_LOCKS.

Example: zklock -n -E 0 /locks/backup -- ./backup.sh --all";

/// Subcommands that only print text, without a configuration or servers.
const SUBCOMMANDS_WITHOUT_SERVERS: &[&str] = &["completions", "man"];

/// The definition of the command line. A subcommand gets its options when it is used, or by `Command::build`.
pub fn definition() -> Command {
    with_any_values(Options::command())
}

/// Whether a subcommand is on the line that reads neither settings nor servers.
pub(super) fn is_without_servers(line: &ArgMatches) -> bool {
    line.subcommand_name().is_some_and(|subcommand| SUBCOMMANDS_WITHOUT_SERVERS.contains(&subcommand))
}

/// Whether the option with this id is on this part of the line.
pub(super) fn is_given(part: &ArgMatches, id: &str) -> bool {
    part.value_source(id) == Some(ValueSource::CommandLine)
}

/// The part of the line that counts for the option with this id: behind the subcommand if it is there, else before.
pub(super) fn part_with<'a>(line: &'a ArgMatches, id: &str) -> &'a ArgMatches {
    let behind = line.subcommand().map(|(_, behind)| behind);
    behind.filter(|behind| behind.try_contains_id(id).is_ok() && is_given(behind, id)).unwrap_or(line)
}

/// Whether the option with this id is on the line, before or behind the subcommand.
pub(super) fn is_on(line: &ArgMatches, id: &str) -> bool {
    is_given(part_with(line, id), id)
}

/// This part of the line without defaults, to be laid over another.
pub(super) fn without_defaults(mut part: ArgMatches) -> ArgMatches {
    let defaults: Vec<_> = part.ids().filter(|id| !is_given(&part, id.as_str())).cloned().collect();
    for id in defaults {
        let _ = part.try_clear_id(id.as_str());
    }
    part
}

/// Takes the word behind an option as its value even if it begins with a dash, as getopt(3) does: `--label -x` has a
/// label, and `-w -10s` an invalid time.
fn with_any_values(command: Command) -> Command {
    command.mut_args(|arg| {
        let takes_a_value = !arg.is_positional() && arg.get_action().takes_values();
        if takes_a_value { arg.allow_hyphen_values(true) } else { arg }
    })
}

/// Gives a subcommand the options for the connection. Those without servers accept them, ignore
/// them and leave them out of their help.
pub(super) fn with_shared_options(subcommand: Command) -> Command {
    let is_without_servers = SUBCOMMANDS_WITHOUT_SERVERS.contains(&subcommand.get_name());
    let shared = shared_options().into_iter().map(|arg| match arg.get_id().as_str() {
        // The details are about an option that subcommands don't have: -w.
        "connect_timeout" => arg.long_help(None),
        _ => arg,
    });
    with_any_values(subcommand.args(shared.map(|arg| arg.hide(is_without_servers))))
}

/// The options that a command and every subcommand have.
fn shared_options() -> Vec<Arg> {
    Ensemble::augment_args(Command::new("shared")).get_arguments().cloned().collect()
}

/// Whether a command and every subcommand have this option.
pub(super) fn is_shared(option: &Arg) -> bool {
    shared_options().iter().any(|shared| shared.get_id() == option.get_id())
}

/// The options that this subcommand has and others haven't.
pub fn own_options(subcommand: &Command) -> impl Iterator<Item = &Arg> {
    subcommand.get_arguments().filter(|arg| !is_shared(arg) && arg.get_id() != "help")
}

/// Refuses options of the main job before a subcommand, where they have no effect.
pub(super) fn check_goes_with_subcommand(line: &ArgMatches) -> Result<(), StartError> {
    let Some(subcommand) = line.subcommand_name() else { return Ok(()) };
    let of_the_lock = LockOptions::augment_args(Command::new("lock"));
    let has_effect = |id: &str| match subcommand {
        "check" => id == "session_timeout",
        "wait" => {
            matches!(id, "nonblock" | "timeout" | "conflict_exit_code" | "session_timeout")
        }
        _ => false,
    };
    let is_misplaced = |id: &str| is_given(line, id) && !has_effect(id);
    match of_the_lock.get_arguments().find(|arg| is_misplaced(arg.get_id().as_str())) {
        Some(arg) => {
            let option = arg.get_long().unwrap_or_default();
            Err(StartError::Usage(format!("--{option} doesn't go with '{subcommand}'")))
        }
        None => Ok(()),
    }
}
