//! The settings in effect and where each comes from: the command line, the environment, configuration files and defaults,
//! laid over each other.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;

use clap::{ArgAction, ArgMatches, Command, FromArgMatches};

use super::definition::{is_given, is_on, part_with, without_defaults};
use super::{Options, StartError};
use crate::config::{self, Config};
use crate::plan::{AUTH, AuthLines};

/// The variables that zklock reads, by the id of the option for which each counts.
const VARIABLES: [(&str, &str); 3] =
    [("zookeeper", "ZKLOCK_ZOOKEEPER"), ("config", "ZKLOCK_CONFIG"), (config::AUTH, AUTH)];

/// One setting in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its key in a configuration file: the option's long name.
    pub key: &'static str,
    /// Its value.
    pub value: SettingValue,
    /// Where the value comes from.
    pub source: Source,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    /// It has none.
    Unset,
    /// It has one that must not be shown.
    Hidden,
    /// `true` or `false`.
    Switch(String),
    /// Anything else, as on the command line.
    Text(String),
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An option.
    CommandLine,
    /// The variable with this name.
    Environment(String),
    /// The file with this path.
    File(String),
    /// The default.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::Environment(name) | Self::File(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Setting {
    /// The auth lines from this source, without their content.
    pub(super) fn auth(source: Option<&Source>) -> Self {
        let value = source.map_or(SettingValue::Unset, |_| SettingValue::Hidden);
        Self { key: config::AUTH, value, source: source.cloned().unwrap_or(Source::Default) }
    }

    /// The options that say the same, if it is neither on the command line nor a default.
    fn as_options(&self) -> Vec<String> {
        match (&self.source, &self.value) {
            (Source::CommandLine | Source::Default, _) => vec![],
            (_, SettingValue::Switch(value)) if value == "true" => vec![format!("--{}", self.key)],
            (_, SettingValue::Text(times)) if self.key == "verbose" => {
                vec!["-v".to_owned(); times.parse().unwrap_or_default()]
            }
            (_, SettingValue::Text(text)) => vec![format!("--{}={text}", self.key)],
            _ => vec![],
        }
    }
}

/// The settings that a configuration file can make: for each key the command line, or else the environment, the user's
/// file, the system's file or the default.
///
/// # Errors
/// If a variable that counts has an invalid value.
pub(super) fn in_effect(
    definition: &Command,
    line: &ArgMatches,
    config: &Config,
) -> Result<Vec<Setting>, StartError> {
    let options = config::KEYS.iter().filter_map(|key| config::known(definition, key));
    let settings = options.map(|(key, option)| {
        let id = option.get_id().as_str();
        let part = part_with(line, id);
        let on_line = || {
            part.get_raw(id).map(|values| values.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(","))
        };
        // -v on the command line is against a file's `quiet`.
        let is_overridden = key == "quiet" && is_on(line, "verbose");
        let (text, source) = if is_given(part, id) {
            (on_line(), Source::CommandLine)
        } else if let Some((name, value)) = variable(id) {
            let accepted = config::accepts(option, &value, &value);
            accepted.map_err(|why| StartError::Variable(name.to_owned(), why))?;
            (Some(value.to_string_lossy().into_owned()), Source::Environment(name.to_owned()))
        } else if let Some(value) = config.value(key).filter(|_| !is_overridden) {
            (Some(value.text().to_owned()), Source::File(value.file().to_owned()))
        } else {
            (on_line(), Source::Default)
        };
        let value = match text {
            None => SettingValue::Unset,
            Some(text) if matches!(option.get_action(), ArgAction::SetTrue) => SettingValue::Switch(text),
            Some(text) => SettingValue::Text(text),
        };
        Ok(Setting { key, value, source })
    });
    settings.collect()
}

/// Puts the settings that aren't on the command line, whose values are checked, in the places of the defaults.
pub(super) fn put_into(
    options: &mut Options,
    settings: &[Setting],
    definition: &mut Command,
) -> Result<(), clap::Error> {
    let words: Vec<String> = settings.iter().flat_map(Setting::as_options).collect();
    if words.is_empty() {
        return Ok(());
    }
    let rest = definition.try_get_matches_from_mut(["zklock".to_owned()].into_iter().chain(words))?;
    let mut rest = without_defaults(rest);
    options.lock.update_from_arg_matches_mut(&mut rest)?;
    options.ensemble.update_from_arg_matches_mut(&mut rest)
}

/// The value of the variable for this option, and its name. An empty one counts as unset.
pub(super) fn variable(id: &str) -> Option<(&'static str, OsString)> {
    let (_, name) = VARIABLES.iter().find(|(option, _)| *option == id)?;
    Some((name, env::var_os(name).filter(|value| !value.is_empty())?))
}

/// The credentials that aren't in the auth file, and where they come from: `--auth-file` on the command line, or else the
/// variable, or else a configuration file. `None`: there are none, or that file counts.
pub(super) fn auth(line: &ArgMatches, config: &Config) -> Option<(Source, Vec<AuthLines>)> {
    if is_on(line, "auth_file") {
        return None;
    }
    if let Some((name, text)) = variable(config::AUTH) {
        let lines = vec![AuthLines { place: name.to_owned(), text }];
        return Some((Source::Environment(name.to_owned()), lines));
    }
    let auth = config.auth()?;
    let entry = |(index, line): (usize, &String)| AuthLines {
        place: format!("{}: auth entry {}", auth.place, index + 1),
        text: line.into(),
    };
    Some((Source::File(auth.file.clone()), auth.lines.iter().enumerate().map(entry).collect()))
}
