//! Reads and parses one configuration file: TOML with a flat table of keys.

use std::io::{self, Read};
use std::path::Path;

use clap::{Arg, Command};
use toml::de::{DeTable, DeValue};
use zklock_core::text::escaped;

use super::not_toml::not_toml;
use super::value;
use super::{AUTH, Auth, Config, ConfigError, KEYS, id};
use crate::files::{open_to_read, refuse_if_others_can_read};

/// A setting of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    key: &'static str,
    text: String,
    file: String,
    line: usize,
}

impl Value {
    /// The key: the long name of an option.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// The option's id in the definition of the command line.
    pub fn id(&self) -> String {
        id(self.key)
    }

    /// The value as text, as on the command line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The path of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The file, the line and the key, for error messages.
    pub fn place(&self) -> String {
        format!("{}: {}", place(&self.file, self.line), self.key)
    }
}

/// No settings fill more than this.
const LONGEST: u64 = 1024 * 1024;

/// Reads and parses a configuration file.
pub(super) fn read_file(definition: &Command, path: &Path) -> Result<Config, ConfigError> {
    let file = escaped(path.as_os_str().as_encoded_bytes());
    let unreadable = |why| ConfigError::Unreadable { file: file.clone(), why };
    let (open, metadata) = open_to_read(path).map_err(unreadable)?;
    let mut bytes = vec![];
    open.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        let why = format!("longer than {} KiB: is it the right file?", LONGEST / 1024);
        return Err(unreadable(io::Error::other(why)));
    }
    let config = parse(definition, &file, utf8(&file, &bytes)?)?;
    if config.auth.is_some() {
        refuse_if_others_can_read(path, &metadata).map_err(|why| ConfigError::Exposed(why.to_string()))?;
    }
    Ok(config)
}

/// The file's text, which TOML requires to be UTF-8.
fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = line(&String::from_utf8_lossy(before), before.len());
        ConfigError::Mistake { place: place(file, line), why: "it isn't UTF-8".to_owned() }
    })
}

/// Parses the text of a file. Every value is checked, even if the command line overrides it, so that a mistake shows at
/// once and not only in some calls.
pub(super) fn parse(definition: &Command, file: &str, text: &str) -> Result<Config, ConfigError> {
    let mistake = |line, why| ConfigError::Mistake { place: place(file, line), why };
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        mistake(line, not_toml(definition, &error, text, line))
    })?;
    let mut config = Config::default();
    for (name, value) in table.get_ref() {
        let line = line(text, name.span().start);
        let name = name.get_ref().as_ref();
        if name == AUTH {
            let lines =
                value::lines(value.get_ref()).map_err(|why| mistake(line, format!("{AUTH}: {why}")))?;
            let auth = Auth { lines, file: file.to_owned(), place: place(file, line) };
            config.auth = Some(auth).filter(|auth| !auth.lines.is_empty());
            continue;
        }
        let written = text.get(value.span()).unwrap_or_default();
        let (key, text) =
            setting(definition, name, value.get_ref(), written).map_err(|why| mistake(line, why))?;
        if let Some(other) = config.values.iter().find(|other| other.key == key) {
            let first = other.line.min(line);
            let why =
                format!("'{key}' is set already, in line {first}: dashes and underscores are equivalent");
            return Err(mistake(line.max(other.line), why));
        }
        config.values.push(Value { key, text, file: file.to_owned(), line });
    }
    Ok(config)
}

/// The key with this name, and its value as text. `written` is the value as it stands in the file.
fn setting(
    definition: &Command,
    name: &str,
    value: &DeValue<'_>,
    written: &str,
) -> Result<(&'static str, String), String> {
    let known = known(definition, name);
    // First, because a number that is too large is no mistake about the key.
    if value::is_out_of_range(value) {
        let option = known.map(|(_, option)| option);
        return Err(format!("{}: {}", escaped(name.as_bytes()), value::too_large(option, name, written)));
    }
    let Some((key, option)) = known else {
        return Err(format!("unknown key '{}'{}", escaped(name.as_bytes()), remedy(definition, name)));
    };
    match value::text(option, value, written) {
        Ok(text) => Ok((key, text)),
        Err(why) => Err(format!("{key}: {why}")),
    }
}

/// The key with this name, in which dashes and underscores are equivalent, and its option.
pub fn known<'a>(definition: &'a Command, name: &str) -> Option<(&'static str, &'a Arg)> {
    let with_dashes = name.replace('_', "-");
    let key = KEYS.iter().find(|key| **key == with_dashes)?;
    let option = definition.get_arguments().find(|option| option.get_long() == Some(key))?;
    Some((key, option))
}

/// The remedy for an unknown key.
fn remedy(definition: &Command, unknown: &str) -> String {
    let unknown = unknown.replace('_', "-");
    if definition.get_arguments().any(|option| option.get_long() == Some(&unknown)) {
        return "; a file can't set it, only the command line".to_owned();
    }
    format!("; known are {}, {AUTH}", KEYS.join(", "))
}

/// The number of the line, counted from 1, in which the byte at `offset` is.
fn line(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or_default().matches('\n').count() + 1
}

fn place(file: &str, line: usize) -> String {
    format!("{file}: line {line}")
}

#[cfg(test)]
mod tests;
