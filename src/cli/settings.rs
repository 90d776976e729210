//! The settings in effect and where each comes from, for `status --show-config`.

use std::env;
use std::fmt;

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::config::{self, Config};
use crate::plan::AUTH;

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

/// The settings that a configuration file can make, with their values in effect.
pub(super) fn in_effect(matches: &ArgMatches, config: &Config) -> Vec<Setting> {
    let options = config::KEYS.iter().map(|key| setting(key, matches, config));
    options.chain([auth(matches, config)]).collect()
}

/// The setting for auth lines, without their content.
fn auth(matches: &ArgMatches, config: &Config) -> Setting {
    let source = match config.auth() {
        _ if matches.value_source("auth_file") == Some(ValueSource::CommandLine) => Source::Default,
        _ if env::var_os(AUTH).is_some_and(|text| !text.is_empty()) => Source::Environment(AUTH.to_owned()),
        Some(auth) => Source::File(auth.file.clone()),
        None => Source::Default,
    };
    let value = if source == Source::Default { SettingValue::Unset } else { SettingValue::Hidden };
    Setting { key: config::AUTH, value, source }
}

fn setting(key: &'static str, matches: &ArgMatches, config: &Config) -> Setting {
    let id = config::id(key);
    let raw = matches.try_get_raw(&id).ok().flatten();
    let given = raw
        .map(|values| values.map(|value| value.to_string_lossy().into_owned()).collect::<Vec<_>>().join(","));
    let source = match matches.value_source(&id) {
        Some(ValueSource::CommandLine) => Source::CommandLine,
        Some(ValueSource::EnvVariable) => Source::Environment(format!("ZKLOCK_{}", id.to_uppercase())),
        _ => config.source(key).map_or(Source::Default, |file| Source::File(file.to_owned())),
    };
    let value = match given {
        None => SettingValue::Unset,
        Some(given) if matches.try_get_one::<bool>(&id).is_ok() => SettingValue::Switch(given),
        Some(given) => SettingValue::Text(given),
    };
    Setting { key, value, source }
}
