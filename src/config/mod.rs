//! Configuration files. Each key is the long name of an option of the command line, with the same meaning.
//!
//! Precedence, highest first: command line, environment, the user's file, the system's file. `--config` or
//! `ZKLOCK_CONFIG` names one file that is read instead of both.

mod check;
mod file;
mod mistake;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::check::reason;
pub use self::file::Value;
use self::file::{Content, read_file};
pub use self::mistake::{context, mistake};

/// The keys: options that may apply to a whole host or user. Options that concern one job can only be set on its
/// command line.
pub const KEYS: &[&str] = &[
    "zookeeper",
    "connect-timeout",
    "session-timeout",
    "timeout",
    "progress",
    "conflict-exit-code",
    "signal",
    "kill-after",
    "on-lost",
    "naming",
    "label",
    "auth-file",
    "acl",
    "tls",
    "tls-ca",
    "tls-cert",
    "tls-key",
    "log-format",
    "verbose",
    "quiet",
];

const AUTH_FILE: &str = "auth-file";

/// The only key that isn't an option, because credentials must not appear on a command line.
pub const AUTH: &str = "auth";

/// Builds the definition of the command line, with which values are checked. A function, because building it takes a
/// while and most hosts have no configuration file.
pub type Definition = fn() -> clap::Command;

const SYSTEM: &str = "/etc/zklock.toml";
const USER: &str = "zklock/config.toml";

/// Why a configuration file can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("can't read the configuration file {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        why: std::io::Error,
    },
    /// It isn't TOML.
    #[error("{place}: {why}")]
    NotToml {
        /// The file and the line.
        place: String,
        /// The parser's message, or a remedy.
        why: String,
    },
    /// It has a key that isn't one of [`KEYS`] or [`AUTH`].
    #[error("{place}: unknown key '{key}'{remedy}")]
    UnknownKey {
        /// The file and the line.
        place: String,
        /// The key as written.
        key: String,
        /// The remedy, such as a similar key.
        remedy: String,
    },
    /// It sets a key twice, with a dash and with an underscore.
    #[error("{place}: '{key}' is set already, in line {line}: dashes and underscores are equivalent")]
    SetTwice {
        /// The file and the line.
        place: String,
        /// The key.
        key: String,
        /// The line that set it first.
        line: usize,
    },
    /// It contains credentials, and other users may read or change it.
    #[error("{file}: {why}")]
    Exposed {
        /// The file.
        file: String,
        /// The file's mode, and the remedy.
        why: String,
    },
    /// It has a value that the option doesn't accept.
    #[error("{place}: {key}: {why}")]
    BadValue {
        /// The file and the line.
        place: String,
        /// The key.
        key: String,
        /// Why the value isn't accepted.
        why: String,
    },
}

/// The settings of all configuration files together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    values: Vec<Value>,
    auth: Vec<String>,
    auth_file: Option<String>,
    auth_place: String,
}

impl Config {
    /// Parses the text of one file; errors call it `file`.
    ///
    /// # Errors
    /// If the text isn't TOML, or has a key or a value that the `definition` of the command line doesn't accept.
    pub fn parse(definition: Definition, file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        config.overlay(file::parse(definition, file, text)?);
        Ok(config)
    }

    /// Whether there is no setting.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.auth.is_empty()
    }

    /// The settings, each key once.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }

    /// The file that sets `key`, if any does.
    pub fn source(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|value| value.key() == key).map(Value::file)
    }

    /// The auth lines, from the file with the highest precedence that has some.
    pub fn auth(&self) -> &[String] {
        &self.auth
    }

    /// The file with the auth lines.
    pub fn auth_source(&self) -> Option<&str> {
        self.auth_file.as_deref()
    }

    /// The file and the line number of the auth lines.
    pub fn auth_place(&self) -> &str {
        &self.auth_place
    }

    /// Removes the setting of `key`, because another option overrides it.
    pub fn remove(&mut self, key: &str) {
        self.values.retain(|value| value.key() != key);
    }

    /// Adds the settings of a file with higher precedence.
    fn overlay(&mut self, content: Content) {
        // `auth` and `auth-file` replace each other: both set the credentials.
        if content.values.iter().any(|value| value.key() == AUTH_FILE) || !content.auth.is_empty() {
            self.values.retain(|older| older.key() != AUTH_FILE);
            (self.auth, self.auth_file) = (vec![], None);
        }
        for value in content.values {
            self.values.retain(|older| older.key() != value.key());
            self.values.push(value);
        }
        if !content.auth.is_empty() {
            (self.auth, self.auth_file) = (content.auth, Some(content.file));
            self.auth_place = content.auth_place;
        }
    }
}

/// The id of a key's option in the definition of the command line.
pub fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// Reads the `named` file, or else the system's file and the user's file if they exist.
///
/// # Errors
/// If a file can't be read or parsed, or has a key or a value that the `definition` of the command line doesn't accept.
pub fn read(definition: Definition, named: Option<&Path>) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    if let Some(path) = named {
        config.overlay(read_file(definition, path)?);
        return Ok(config);
    }
    let user = user_file(env::var_os("XDG_CONFIG_HOME"), env::var_os("HOME"));
    for path in [Some(PathBuf::from(SYSTEM)), user].into_iter().flatten() {
        match read_file(definition, &path) {
            Ok(content) => config.overlay(content),
            Err(ConfigError::Unreadable { why, .. }) if is_absent(&why) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(config)
}

/// The path of the user's file, by the XDG base directory specification, which says to ignore relative paths.
fn user_file(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let xdg = xdg.map(PathBuf::from).filter(|directory| directory.is_absolute());
    let home = || home.filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".config"));
    xdg.or_else(home).map(|directory| directory.join(USER))
}

/// Whether the file, or a directory on the way to it, doesn't exist.
fn is_absent(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(why.kind(), NotFound | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_s_file_is_where_xdg_says_or_below_home() {
        for (xdg, home, expected) in [
            (Some("/x"), Some("/h"), Some("/x/zklock/config.toml")),
            (None, Some("/h"), Some("/h/.config/zklock/config.toml")),
            (Some(""), Some("/h"), Some("/h/.config/zklock/config.toml")),
            (Some("relative"), Some("/h"), Some("/h/.config/zklock/config.toml")),
            (Some("/x"), None, Some("/x/zklock/config.toml")),
            (None, Some(""), None),
            (None, None, None),
        ] {
            let found = user_file(xdg.map(OsString::from), home.map(OsString::from));
            assert_eq!(found, expected.map(PathBuf::from), "{xdg:?} {home:?}");
        }
    }
}
