//! The command line, parsed and checked before zklock does anything else.

mod completion;
mod definition;
mod ensemble;
mod help;
mod invocation;
mod lock;
mod mistake;
mod other_tools;
mod own_script;
mod plan;
mod security;
mod settings;
mod subcommands;
mod values;
mod version;

use std::env;
use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use thiserror::Error;

pub use self::completion::{ByShell, Completion, complete, completion_request};
pub use self::definition::Options;
pub use self::ensemble::{Ensemble, LogFormat};
pub use self::invocation::InvocationError;
pub use self::lock::{LockOptions, Naming, OnLost};
use self::mistake::InvalidVariable;
pub use self::own_script::refuse_own_script;
pub use self::security::SecurityOptions;
pub use self::settings::{Setting, SettingValue, Source};
pub use self::subcommands::{
    CheckOptions, ForgetOptions, KnownShell, RevokeOptions, StatusOptions, Subcommand,
};
use crate::config::{self, Config, ConfigError};
use crate::plan::{AUTH, AuthLines};

/// The names of the subcommands.
const SUBCOMMANDS: &[&str] = &["status", "revoke", "check", "forget", "completions", "man"];

/// Subcommands that only print text, without a configuration or servers.
const SUBCOMMANDS_WITHOUT_SERVERS: &[&str] = &["completions", "man"];

/// Why zklock doesn't start.
#[derive(Debug, Error)]
pub enum StartError {
    /// `--help` or `--version`.
    #[error(transparent)]
    Help(clap::Error),
    /// The short help, requested by `-h`.
    #[error("{0}")]
    ShortHelp(String),
    /// The version in detail, requested by `-v --version`.
    #[error("{0}")]
    Version(String),
    /// A mistake on the command line: the message, and the subcommand behind which it is.
    #[error("{message}\nzklock: see 'zklock {}--help'", subcommand.map_or_else(String::new, |subcommand| format!("{subcommand} ")))]
    Usage {
        /// What is wrong, and the remedy.
        message: String,
        /// The subcommand, whose help explains more.
        subcommand: Option<&'static str>,
    },
    /// A variable has an invalid value: the variable and the reason.
    #[error("{0}: {1}")]
    Variable(String, String),
    /// A configuration file can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Parses the command line `words`, of which the first is the program. Precedence: command line, environment,
/// configuration files. Also returns the settings in effect with their sources, for a subcommand that shows them.
///
/// # Errors
/// If any of these has an invalid value, even one that is overridden in a configuration file; or for a request for
/// help.
pub fn parse(words: &[OsString]) -> Result<(Options, Vec<Setting>), StartError> {
    let asked = help::as_options(words);
    let words = asked.as_deref().unwrap_or(words);
    // The option whose variable is invalid but not needed.
    let mut unread = None;
    let matches = match adjusted_definition(Some(words), |command| command).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            let Some(variable) = InvalidVariable::find() else { return Err(mistake::usage(error, words)) };
            let without = without_variable(definition(), &variable.option);
            let matches =
                without.try_get_matches_from(words).map_err(|error| mistake::usage(error, words))?;
            variable.check(&matches)?;
            unread = Some(variable.option);
            matches
        }
    };
    if help::is_requested(&matches) {
        return Err(StartError::ShortHelp(help::short(&definition())));
    }
    let file = matches.get_one::<std::path::PathBuf>("config");
    let mut config = match matches.subcommand_name() {
        // A broken configuration file doesn't affect these subcommands.
        Some(subcommand) if SUBCOMMANDS_WITHOUT_SERVERS.contains(&subcommand) => Config::default(),
        _ => config::read(definition, file.map(AsRef::as_ref))
            .map_err(|error| mistake::attribute_config(error, &matches))?,
    };
    if matches.value_source("verbose") == Some(ValueSource::CommandLine) {
        config.remove("quiet");
    }
    // Settings of a file become defaults, so that the command line and the environment take precedence.
    let matches = if config.is_empty() {
        matches
    } else {
        let definition = with_defaults(words, &config, unread);
        definition.try_get_matches_from(words).map_err(|error| mistake::usage(error, words))?
    };
    let mut options = options(&matches).map_err(|error| mistake::usage(error, words))?;
    let is_on_command_line = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let from_files = config.values().filter(|value| !is_on_command_line(&value.id()));
    options.ensemble.security.places = from_files.map(|value| (value.key(), value.place())).collect();
    credentials(&mut options.ensemble, &matches, &config);
    options.ensemble.unreachable_files = config.unreachable().to_vec();
    definition::check_goes_with_subcommand(&matches)?;
    if let Some(Subcommand::Revoke(revoke)) = &mut options.subcommand {
        revoke
            .check_node()
            .map_err(|why| StartError::Usage { message: why.to_string(), subcommand: Some("revoke") })?;
    }
    let shows_settings =
        matches!(&options.subcommand, Some(Subcommand::Status(status)) if status.show_config);
    let settings = if shows_settings { settings::in_effect(&matches, &config) } else { vec![] };
    Ok((options, settings))
}

fn options(matches: &ArgMatches) -> Result<Options, clap::Error> {
    let subcommand = matches.subcommand_name().map(|_| Subcommand::from_arg_matches(matches)).transpose()?;
    Ok(Options { subcommand, ..Options::from_arg_matches(matches)? })
}

/// Selects the credentials: `--auth-file` on the command line, or else the variable, or else the configuration.
fn credentials(ensemble: &mut Ensemble, matches: &ArgMatches, config: &Config) {
    if matches.value_source("auth_file") == Some(ValueSource::CommandLine) {
        return;
    }
    if let Some(text) = env::var_os(AUTH).filter(|text| !text.is_empty()) {
        ensemble.security.auth_file = None;
        ensemble.auth = vec![AuthLines { place: AUTH.to_owned(), text }];
        return;
    }
    let Some(auth) = config.auth() else { return };
    let entry = |(index, line): (usize, &String)| AuthLines {
        place: format!("{}: auth entry {}", auth.place, index + 1),
        text: line.into(),
    };
    ensemble.auth = auth.lines.iter().enumerate().map(entry).collect();
}

/// The definition of the command line. An empty variable counts as unset.
pub fn definition() -> clap::Command {
    adjusted_definition(None, |command| command)
}

/// The definition with the values of the configuration as defaults. The variable of the option `unread` is ignored.
fn with_defaults(words: &[OsString], config: &Config, unread: Option<String>) -> clap::Command {
    adjusted_definition(Some(words), |command| {
        let command = match unread {
            Some(option) => without_variable(command, &option),
            None => command,
        };
        config.values().fold(command, |command, value| {
            command.mut_arg(value.id(), |arg| arg.default_value(value.text().to_owned()))
        })
    })
}

/// The definition, adjusted before its options are copied to the subcommands. It has no subcommands if there are `words` to parse and
/// none of them is a subcommand or asks for the help, which lists the subcommands: defining them takes longer than parsing.
fn adjusted_definition(
    words: Option<&[OsString]>,
    adjust: impl FnOnce(clap::Command) -> clap::Command,
) -> clap::Command {
    let command = adjust(without_empty_variables(Options::command()));
    let command = definition::with_any_values(command);
    let has = |wanted: &str| words.is_none_or(|words| words.iter().any(|word| word == wanted));
    if has("--help") || SUBCOMMANDS.iter().any(|subcommand| has(subcommand)) {
        definition::with_help(
            <Subcommand as clap::Subcommand>::augment_subcommands(command)
                .mut_subcommands(definition::with_any_values),
            SUBCOMMANDS_WITHOUT_SERVERS,
        )
    } else {
        command
    }
}

fn without_variable(command: clap::Command, option: &str) -> clap::Command {
    command.mut_arg(option, |arg| arg.env(None::<&str>))
}

fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &std::ffi::OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    command.mut_args(|arg| if arg.get_env().is_some_and(is_empty) { arg.env(None::<&str>) } else { arg })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, clap::Error> {
        let words: Vec<OsString> =
            std::iter::once("zklock").chain(words.iter().copied()).map(OsString::from).collect();
        options(&adjusted_definition(Some(&words), |command| command).try_get_matches_from(&words)?)
    }

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
        Options::command().debug_assert();
    }

    #[test]
    fn every_subcommand_is_listed() {
        let subcommands =
            <Subcommand as clap::Subcommand>::augment_subcommands(clap::Command::new("subcommands"));
        assert!(subcommands.get_subcommands().map(clap::Command::get_name).eq(SUBCOMMANDS.iter().copied()));
        let help = parsed(&["-q", "--help"]).unwrap_err().to_string();
        assert!(SUBCOMMANDS.iter().all(|subcommand| help.contains(subcommand)), "{help}");
    }

    #[test]
    fn options_end_at_the_first_path() {
        let options = parsed(&["-n", "/a", "ls", "-n", "--", "-v"]).unwrap();
        assert!(options.lock.nonblock && options.ensemble.verbose == 0);
        assert!(options.lock.invocation().is_ok_and(|invocation| invocation.arguments.len() == 3));
    }

    #[test]
    fn the_last_of_a_repeated_option_counts() {
        let options = parsed(&["-w", "3", "--wait", "4.5", "/a", "true"]);
        assert!(options.is_ok_and(|options| options.lock.timeout == Some(Duration::from_millis(4500))));
    }

    #[test]
    fn unknown_options_are_refused_and_not_taken_for_a_path() {
        assert!(parsed(&["--nonsense", "/a", "true"]).is_err());
        assert!(parsed(&["-Z", "/a", "true"]).is_err());
    }

    #[test]
    fn a_subcommand_is_distinguished_from_a_path_and_a_command() {
        let subcommand = |words: &[&str]| parsed(words).unwrap().subcommand;
        assert!(matches!(subcommand(&["status"]), Some(Subcommand::Status(_))));
        assert!(matches!(subcommand(&["-z", "h:1", "status", "--json", "/a"]), Some(Subcommand::Status(_))));
        assert!(matches!(subcommand(&["revoke", "/a", "--force"]), Some(Subcommand::Revoke(_))));
        assert!(subcommand(&["/a", "status"]).is_none());
        assert!(subcommand(&["/status", "--", "revoke", "/a"]).is_none());
    }

    #[test]
    fn servers_may_be_named_before_and_after_a_subcommand() {
        for words in [["-z", "h:1", "status"], ["status", "-z", "h:1"]] {
            let options = parsed(&words).unwrap();
            assert_eq!(options.ensemble.zookeeper.to_string(), "h:1");
        }
    }
}
