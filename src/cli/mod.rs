//! The command line, parsed and checked before zklock does anything else.

mod completion;
mod deferred;
mod definition;
mod ensemble;
mod invocation;
mod lock;
mod plan;
mod security;
mod settings;
mod subcommands;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, FromArgMatches};
use thiserror::Error;

pub use self::completion::{ByShell, Completion, complete, completion_request};
pub use self::deferred::Deferred;
pub use self::definition::{Options, definition, own_options};
use self::definition::{is_on, is_without_servers, part_with};
pub use self::ensemble::{Ensemble, LogFormat};
pub use self::invocation::InvocationError;
pub use self::lock::{LockOptions, Naming};
pub use self::security::SecurityOptions;
pub use self::settings::{Setting, SettingValue, Source};
pub use self::subcommands::{
    CheckOptions, CompletionsOptions, ForgetOptions, KnownShell, ManOptions, RevokeOptions, StatusOptions,
    Subcommand, WaitOptions,
};
use crate::config::{self, Config, ConfigError};

/// Why zklock doesn't start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The help or the version was asked for.
    #[error(transparent)]
    Help(clap::Error),
    /// A mistake on the command line.
    #[error("{0}\nzklock: for more information, try '--help'")]
    Usage(String),
    /// A variable has an invalid value: the variable and the reason.
    #[error("{0}: {1}")]
    Variable(String, String),
    /// A configuration file can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Parses the command line `words`, of which the first is the program. Precedence: command line, environment,
/// configuration files, defaults.
///
/// # Errors
/// If any of these has an invalid value, even one that is overridden in a configuration file; or for a request for
/// help.
pub fn parse(words: &[OsString]) -> Result<Options, StartError> {
    let mut definition = definition();
    let mut line = definition.try_get_matches_from_mut(words).map_err(mistake)?;
    // A broken configuration file or variable doesn't affect a subcommand that doesn't need it.
    let (config, settings) = if is_without_servers(&line) {
        (Config::default(), vec![])
    } else {
        let config = read_config(&definition, &line)?;
        let settings = settings::in_effect(&definition, &line, &config)?;
        (config, settings)
    };
    definition::check_goes_with_subcommand(&line)?;
    let auth = settings::auth(&line, &config);
    let from_files = config.values().filter(|value| !is_on(&line, &value.id()));
    let places = from_files.map(|value| (value.key(), value.place())).collect();
    let behind = line.subcommand().map(|(_, behind)| definition::without_defaults(behind.clone()));
    // Moved out of the line, which is as large as the definition, and is gone before the settings are parsed.
    let mut options = Options::from_arg_matches_mut(&mut line).map_err(mistake)?;
    drop(line);
    if let Some(mut behind) = behind {
        options.ensemble.update_from_arg_matches_mut(&mut behind).map_err(mistake)?;
    }
    settings::put_into(&mut options, &settings, &mut definition).map_err(mistake)?;
    options.ensemble.security.places = places;
    options.ensemble.unreachable_files = config.unreachable().to_vec();
    options.settings = settings;
    options.settings.push(Setting::auth(auth.as_ref().map(|(source, _)| source)));
    if let Some((source, lines)) = auth {
        if let Source::Environment(_) = source {
            options.ensemble.security.auth_file = None;
        }
        options.ensemble.auth = lines;
    }
    if let Some(Subcommand::Revoke(revoke)) = &mut options.subcommand {
        revoke.check_node().map_err(|why| StartError::Usage(why.to_string()))?;
    }
    Ok(options)
}

/// Why zklock doesn't start, by clap's error.
fn mistake(error: clap::Error) -> StartError {
    if error.use_stderr() { StartError::Usage(config::mistake(&error)) } else { StartError::Help(error) }
}

/// Reads the configuration file that the command line or the variable names, or else the default ones.
fn read_config(definition: &clap::Command, line: &ArgMatches) -> Result<Config, StartError> {
    if let Some(file) = part_with(line, "config").get_one::<PathBuf>("config") {
        return Ok(config::read(definition, Some(file))?);
    }
    match settings::variable("config") {
        Some((name, file)) => config::read(definition, Some(file.as_ref())).map_err(|error| match error {
            ConfigError::Unreadable { .. } => StartError::Variable(name.to_owned(), error.to_string()),
            error => error.into(),
        }),
        None => Ok(config::read(definition, None)?),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, clap::Error> {
        let words = std::iter::once("zklock").chain(words.iter().copied());
        Options::from_arg_matches(&definition().try_get_matches_from(words)?)
    }

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
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
        for (line, verbose) in
            [("-z h:1 -vv status", 2), ("-z h:2 -v status -z h:1 -vvv", 3), ("status -z h:1", 0)]
        {
            let words: Vec<OsString> = format!("zklock {line}").split(' ').map(Into::into).collect();
            let ensemble = parse(&words).unwrap().ensemble;
            assert_eq!(
                (ensemble.zookeeper.to_string().as_str(), ensemble.verbose),
                ("h:1", verbose),
                "{line}"
            );
        }
    }
}
