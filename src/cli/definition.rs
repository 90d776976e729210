//! The definition of the command line, from which the help, the manual page and the completions are generated too.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Command, CommandFactory, Parser};

use super::lock::LockOptions;
use super::subcommands::Subcommand;
use crate::plan::Connection;

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
                      zklock SUBCOMMAND [OPTIONS] [PATH ...]",
    after_help = "Exit codes: the command's own; 123 lock lost, 124 busy, 125 zklock itself failed",
    after_long_help = EXIT_CODES,
)]
pub struct Options {
    /// How to take and hold the lock.
    #[command(flatten)]
    pub lock: LockOptions,

    /// How to reach the servers.
    #[command(flatten)]
    pub connection: Connection,

    /// Write messages as text, or as json: one object a line
    #[arg(
        long = "log-format",
        id = "log_format",
        global = true,
        action = ArgAction::Set,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = PossibleValuesParser::new(["text", "json"]).map(|format| format == "json"),
        hide_possible_values = true,
        hide_short_help = true,
        help_heading = "Output"
    )]
    pub is_json: bool,

    /// Say each step; twice or more for debugging
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,

    /// Say nothing but errors
    #[arg(short, long, global = true, overrides_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// What to do instead of running a command.
    #[arg(skip)]
    pub subcommand: Option<Subcommand>,

    /// The default configuration files that zklock can't get to, and why.
    #[arg(skip)]
    pub unreachable_files: Vec<String>,

    /// The settings in effect, for `status --show-config`.
    #[arg(skip)]
    pub shown_config: String,
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

/// The definition of the command line.
pub fn definition() -> Command {
    let command = <Subcommand as clap::Subcommand>::augment_subcommands(without_subcommands());
    // Not global, because -v before the subcommand and -v behind it add up.
    let verbose = command.get_arguments().find(|arg| arg.get_id() == "verbose").cloned();
    command.mut_subcommands(|subcommand| with_any_values(subcommand.args(&verbose)))
}

/// The definition for a line without a subcommand. With them it is several times as long.
pub(super) fn without_subcommands() -> Command {
    with_any_values(Options::command())
}

/// Takes the word behind an option as its value even if it begins with a dash, as getopt(3) does: `--label -x` has a
/// label, and `-w -10s` an invalid time.
fn with_any_values(command: Command) -> Command {
    command.mut_args(|arg| {
        let takes_a_value = !arg.is_positional() && arg.get_action().takes_values();
        if takes_a_value { arg.allow_hyphen_values(true) } else { arg }
    })
}
