//! Configuration files. Each key is the long name of an option of the command line, with the same meaning.
//!
//! Precedence, highest first: command line, environment, the user's file, the system's file. `--config` or
//! `ZKLOCK_CONFIG` names one file that is read instead of both.

mod file;
mod mistake;
mod not_toml;
mod value;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Command;
use nix::errno::Errno;
use thiserror::Error;

use self::file::read_file;
pub use self::file::{Value, known};
pub use self::mistake::mistake;
pub use self::value::accepts;
use crate::process::system_error::describe;

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
    "single-child",
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

const SYSTEM: &str = "/etc/zklock.toml";
const USER: &str = "zklock/config.toml";

/// Why a configuration file can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("can't read the configuration file {file}: {}{}", describe(why), remedy(why))]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        why: std::io::Error,
    },
    /// Others can read the credentials in it. Has the file and the remedy.
    #[error("{0}")]
    Exposed(String),
    /// It isn't TOML, or has a key or a value that isn't accepted.
    #[error("{place}: {why}")]
    Mistake {
        /// The file and, if the mistake is in one, the line.
        place: String,
        /// What is wrong, and the remedy.
        why: String,
    },
}

/// The settings of all configuration files together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    values: Vec<Value>,
    auth: Option<Auth>,
    unreachable: Vec<String>,
}

/// The auth lines of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    /// At least one.
    pub lines: Vec<String>,
    /// The path of the file.
    pub file: String,
    /// The file and the line, for error messages.
    pub place: String,
}

impl Config {
    /// Parses the text of one file; errors call it `file`.
    ///
    /// # Errors
    /// If the text isn't TOML, or has a key or a value that the `definition` of the command line doesn't accept.
    pub fn parse(definition: &Command, file: &str, text: &str) -> Result<Self, ConfigError> {
        file::parse(definition, file, text)
    }

    /// The settings, each key once.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }

    /// The setting of `key`.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.key() == key)
    }

    /// The auth lines, from the file with the highest precedence that has some.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// The default files that zklock can't get to, and why.
    pub fn unreachable(&self) -> &[String] {
        &self.unreachable
    }

    /// Removes the setting of `key`, because another one overrides it.
    fn remove(&mut self, key: &str) {
        self.values.retain(|value| value.key() != key);
    }

    /// Adds the settings of a file with higher precedence.
    fn overlay(&mut self, file: Self) {
        // `auth` and `auth-file` replace each other: both set the credentials.
        if file.auth.is_some() || file.value(AUTH_FILE).is_some() {
            self.remove(AUTH_FILE);
            self.auth = file.auth;
        }
        for value in file.values {
            self.remove(value.key());
            self.values.push(value);
        }
    }
}

/// The id of a key's option in the definition of the command line.
fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// Reads the `named` file, or else the system's file and the user's file if they exist.
///
/// # Errors
/// If a file can't be read or parsed, or has a key or a value that the `definition` of the command line doesn't accept.
/// A default file that zklock can't get to, such as one in the home of another user, counts as missing.
pub fn read(definition: &Command, named: Option<&Path>) -> Result<Config, ConfigError> {
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
            Err(ConfigError::Unreadable { file, .. }) if let Some(why) = out_of_reach(&path) => {
                config.unreachable.push(format!("{file}: not read, because zklock can't get there: {why}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(config)
}

/// The path of the user's file, by the XDG base directory specification, which says to ignore relative paths.
fn user_file(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |directory: Option<OsString>| directory.map(PathBuf::from).filter(|path| path.is_absolute());
    let xdg = absolute(xdg);
    let home = || absolute(home).map(|home| home.join(".config"));
    xdg.or_else(home).map(|directory| directory.join(USER))
}

/// Whether the file, or a directory on the way to it, doesn't exist.
fn is_absent(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(why.kind(), NotFound | NotADirectory)
}

/// Why not even the existence of the file can be seen: a directory on the way to it is closed to this user, or no file
/// can have this path. Nothing else: after a fault of a disk or a network, settings that are there would be ignored.
fn out_of_reach(path: &Path) -> Option<String> {
    let why = path.metadata().err()?;
    let errno = why.raw_os_error().map(Errno::from_raw)?;
    matches!(errno, Errno::EACCES | Errno::ELOOP | Errno::ENAMETOOLONG).then(|| describe(&why))
}

/// The remedy for a file that can't be read.
fn remedy(why: &std::io::Error) -> &'static str {
    if why.kind() == std::io::ErrorKind::PermissionDenied {
        "; let this user read it, or name another file with --config"
    } else {
        ""
    }
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
            (None, Some("relative"), None),
            (Some("relative"), Some("~"), None),
            (None, None, None),
        ] {
            let found = user_file(xdg.map(OsString::from), home.map(OsString::from));
            assert_eq!(found, expected.map(PathBuf::from), "{xdg:?} {home:?}");
        }
    }
}
