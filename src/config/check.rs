//! Checks the values of a configuration file with the definition of the command line.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml::Value;

use super::{AUTH, ConfigError, KEYS, id, mistake};
use crate::core::text::escaped;

/// The value as text, as on the command line; `None` for a switch that is off.
pub(super) fn text(
    definition: &Command,
    place: &str,
    key: &'static str,
    value: &Value,
) -> Result<Option<String>, ConfigError> {
    let error = |why: &str| ConfigError::BadValue {
        place: place.to_owned(),
        key: key.to_owned(),
        why: why.to_owned(),
    };
    if is_switch(definition, key) {
        let on = value.as_bool().ok_or_else(|| error("must be true or false"))?;
        return Ok(on.then(|| "true".to_owned()));
    }
    match value {
        Value::String(text) => Ok(Some(text.clone())),
        Value::Integer(number) => Ok(Some(number.to_string())),
        Value::Float(number) => Ok(Some(number.to_string())),
        _ => Err(error("must be a string or a number")),
    }
}

/// The auth lines. The credentials in them are checked later, together with those of other sources.
pub(super) fn lines(place: &str, value: &Value) -> Result<Vec<String>, ConfigError> {
    let line = |value: &Value| value.as_str().map(str::to_owned);
    let lines = value.as_array().and_then(|all| all.iter().map(line).collect::<Option<Vec<_>>>());
    lines.ok_or_else(|| ConfigError::BadValue {
        place: place.to_owned(),
        key: AUTH.to_owned(),
        why: "must be a list of strings, such as [\"digest:USER:PASSWORD\"]".to_owned(),
    })
}

/// Checks the value with the definition of the command line.
pub(super) fn as_option(
    definition: &Command,
    place: &str,
    key: &'static str,
    text: &str,
) -> Result<(), ConfigError> {
    if is_switch(definition, key) {
        return Ok(());
    }
    let given = |arg: Arg| arg.env(None::<&str>).default_value(text.to_owned());
    let command = definition.clone().mut_arg(id(key), given);
    match command.try_get_matches_from(["zklock"]) {
        Ok(_) => Ok(()),
        Err(error) => {
            let why = if text.is_empty() {
                "an empty text is no value; remove the line".to_owned()
            } else {
                reason(&error, OsStr::new(text))
            };
            Err(ConfigError::BadValue { place: place.to_owned(), key: key.to_owned(), why })
        }
    }
}

/// The remedy for an unknown key.
pub(super) fn remedy(definition: &Command, unknown: &str) -> String {
    if definition.get_arguments().any(|arg| arg.get_long() == Some(unknown)) {
        return "; a file can't set it, only the command line".to_owned();
    }
    let keys = || KEYS.iter().copied().chain([AUTH]);
    let nearest = keys().map(|key| (strsim::jaro_winkler(unknown, key), key));
    match nearest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, key)) if likeness > 0.8 => format!("; did you mean '{key}'?"),
        _ => format!("; known are {}", keys().collect::<Vec<_>>().join(", ")),
    }
}

pub(super) fn is_switch(definition: &Command, key: &str) -> bool {
    let id = id(key);
    let mut arguments = definition.get_arguments();
    arguments.any(|arg| arg.get_id() == id.as_str() && matches!(arg.get_action(), ArgAction::SetTrue))
}

/// Why clap refused a value: the value and the reason, without the option's name, because the message names a key or a
/// variable.
pub fn reason(error: &clap::Error, value: &OsStr) -> String {
    let line = mistake(error);
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => match line.split_once(&format!(" for '{option}': ")) {
            Some((_, why)) => format!("{}: {why}", escaped(value.as_encoded_bytes())),
            None => line,
        },
        _ => line,
    }
}
