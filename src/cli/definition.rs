//! The definition of the command line, from which the help, the manual page and the completions are generated too.

use std::ffi::OsStr;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, Parser};

use super::StartError;
use super::ensemble::Ensemble;
use super::lock::LockOptions;
use super::settings::Setting;
use super::subcommands::Subcommand;

/// Runs COMMAND while it holds the lock PATH in ZooKeeper.
#[derive(Debug, Parser)]
#[command(
    name = "zklock",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 100,
    args_override_self = true,
    disable_help_subcommand = true,
    subcommand_value_name = "SUBCOMMAND",
    subcommand_help_heading = "Subcommands",
    override_usage = "zklock [OPTIONS] PATH [--] COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH PATH ... -- COMMAND [ARG ...]\n       \
                      zklock [OPTIONS] PATH -c 'SHELL STRING'\n       \
                      zklock status [--json] [--watch] [--recursive] [--exit-code] [PATH ...]\n       \
                      zklock status --openmetrics [PATH ...]\n       \
                      zklock revoke PATH [--node NODE | --all] [--force]\n       \
                      zklock check [--json] [--create-chroot] [PATH]\n       \
                      zklock forget PATH",
    after_long_help = EXIT_CODES,
)]
pub struct Options {
    /// How to take and hold the lock.
    #[command(flatten)]
    pub lock: LockOptions,

    /// How to reach the servers.
    #[command(flatten)]
    pub ensemble: Ensemble,

    /// Print the options that are used most
    #[arg(short = 'h', help_heading = "Output")]
    pub short_help: bool,

    /// Print this help
    #[arg(long, action = ArgAction::HelpLong, help_heading = "Output")]
    pub help: Option<bool>,

    /// Print the version
    ///
    /// With -v also the commit, the target, and what it can do for TLS and SASL.
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = "Output")]
    pub version: Option<bool>,

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
  123  the lock was lost while the command ran, and it was stopped
  124  not run: the lock is busy (-n, or -w ran out), or --once-per skips; -E chooses another
  125  zklock itself failed: usage, connection, permission
  126  the command was found but can't be run
  127  the command was not found

The command sees ZKLOCK_PATH, ZKLOCK_NODE, ZKLOCK_FENCING_TOKEN and ZKLOCK_LOCKS.

Example: zklock -n -E 0 /locks/backup -- ./backup.sh --all";

/// Subcommands that only print text, without a configuration or servers.
const SUBCOMMANDS_WITHOUT_SERVERS: &[&str] = &["completions", "man"];

/// The definition of the command line.
pub fn definition() -> Command {
    with_help(with_any_values(Options::command()).mut_subcommands(with_any_values))
}

/// Whether this word is a subcommand.
pub(super) fn is_subcommand(word: &OsStr) -> bool {
    word.to_str().is_some_and(<Subcommand as clap::Subcommand>::has_subcommand)
}

/// Whether a subcommand is on the line that reads neither settings nor servers.
pub(super) fn is_without_servers(line: &ArgMatches) -> bool {
    line.subcommand_name().is_some_and(|subcommand| SUBCOMMANDS_WITHOUT_SERVERS.contains(&subcommand))
}

/// Whether the option with this id is on the line.
pub(super) fn is_given(line: &ArgMatches, id: &str) -> bool {
    line.value_source(id) == Some(ValueSource::CommandLine)
}

/// Takes the word behind an option as its value even if it begins with a dash, as getopt(3) does: `--label -x` has a
/// label, and `-w -10s` an invalid time.
fn with_any_values(command: Command) -> Command {
    command.mut_args(|arg| {
        let takes_a_value = !arg.is_positional() && arg.get_action().takes_values();
        if takes_a_value { arg.allow_hyphen_values(true) } else { arg }
    })
}

/// Gives each subcommand its own help. The help of those without servers leaves out the connection options, which they
/// accept and ignore.
fn with_help(command: Command) -> Command {
    let global = command.get_arguments().filter(|arg| arg.is_global_set());
    let copy = |arg: &Arg| match arg.get_id().as_str() {
        // The details are about an option that subcommands don't have: -w.
        "connect_timeout" => arg.clone().long_help(None),
        _ => arg.clone(),
    };
    let shown: Vec<Arg> = global.map(copy).collect();
    let hidden: Vec<Arg> = shown.iter().map(|arg| arg.clone().hide(true)).collect();
    let help = |text: &'static str| {
        Arg::new("help").short('h').long("help").action(ArgAction::Help).help(text).help_heading(None::<&str>)
    };
    command.mut_subcommands(|subcommand| {
        if SUBCOMMANDS_WITHOUT_SERVERS.contains(&subcommand.get_name()) {
            subcommand.args(&hidden).arg(help("Print this help"))
        } else {
            subcommand.args(&shown).arg(help("Print this subcommand's options; --help adds the common ones"))
        }
    })
}

/// The remedy for an option of a subcommand that was written before the subcommand.
pub(super) fn subcommand_with(definition: &Command, option: &str) -> Option<String> {
    let long = option.strip_prefix("--")?;
    let has = |subcommand: &&Command| {
        subcommand.get_arguments().any(|arg| !arg.is_hide_set() && arg.get_long() == Some(long))
    };
    let subcommand = definition.get_subcommands().find(has)?;
    let (name, mut needed) =
        (subcommand.get_name(), subcommand.get_positionals().filter(|arg| arg.is_required_set()));
    let path = if needed.next().is_some() { " PATH" } else { "" };
    Some(format!("write it after its subcommand: zklock {name}{path} {option}"))
}

/// Refuses options of the main job before a subcommand, where they have no effect.
pub(super) fn check_goes_with_subcommand(line: &ArgMatches) -> Result<(), StartError> {
    let Some(subcommand) = line.subcommand_name() else { return Ok(()) };
    let of_the_lock = LockOptions::augment_args(Command::new("lock"));
    let has_effect = |id: &str| subcommand == "check" && id == "session_timeout";
    let is_misplaced = |id: &str| is_given(line, id) && !has_effect(id);
    match of_the_lock.get_arguments().find(|arg| is_misplaced(arg.get_id().as_str())) {
        Some(arg) => {
            let option = arg.get_long().unwrap_or_default();
            let message = format!("--{option} doesn't go with '{subcommand}'");
            Err(StartError::Usage { message, subcommand: Some(subcommand.to_owned()) })
        }
        None => Ok(()),
    }
}
