//! Settings from files. What a file can set is an option of the command line, and means the same there.
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

/// What a file can set: options that belong to a host or a user. Whatever belongs to one job stays on its
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

/// The one key that is no option: credentials never stand on a command line.
pub const AUTH: &str = "auth";

/// Makes the definition of the command line, which says what values are. It takes a while, and most hosts have no file.
pub type Definition = fn() -> clap::Command;

const SYSTEM: &str = "/etc/zklock.toml";
const USER: &str = "zklock/config.toml";

/// What is wrong with a configuration file.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("can't read the configuration file {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        why: std::io::Error,
    },
    /// It isn't TOML.
    #[error("{place}: {why}")]
    NotToml {
        /// The file and the line.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// It sets what can't be set there.
    #[error("{place}: unknown key '{key}'{remedy}")]
    UnknownKey {
        /// The file and the line.
        place: String,
        /// What it says.
        key: String,
        /// What was meant, perhaps.
        remedy: String,
    },
    /// It sets something twice, with a dash and with an underscore.
    #[error("{place}: '{key}' is set already, in line {line}: dashes and underscores are equivalent")]
    SetTwice {
        /// The file and the line.
        place: String,
        /// What it says.
        key: String,
        /// The line that set it first.
        line: usize,
    },
    /// It holds a secret that isn't one.
    #[error("{file}: {why}")]
    Exposed {
        /// The file.
        file: String,
        /// Who could read it, and the remedy.
        why: String,
    },
    /// The value isn't one.
    #[error("{place}: {key}: {why}")]
    BadValue {
        /// The file and the line.
        place: String,
        /// The key.
        key: String,
        /// What is wrong with its value.
        why: String,
    },
}

/// All that the files say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    values: Vec<Value>,
    auth: Vec<String>,
    auth_file: Option<String>,
    auth_place: String,
}

impl Config {
    /// Understands the text of one file; `file` is what errors call it.
    ///
    /// # Errors
    /// What the `definition` of the command line wouldn't take either, with the remedy.
    pub fn understand(definition: Definition, file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        config.overlay(file::understand(definition, file, text)?);
        Ok(config)
    }

    /// Whether no file says anything.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.auth.is_empty()
    }

    /// What they say, each key once.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }

    /// The file that sets `key`.
    pub fn source(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|value| value.key() == key).map(Value::file)
    }

    /// Auth lines, of the last file that has some.
    pub fn auth(&self) -> &[String] {
        &self.auth
    }

    /// The file that has them.
    pub fn auth_source(&self) -> Option<&str> {
        self.auth_file.as_deref()
    }

    /// The file and the line that have them.
    pub fn auth_place(&self) -> &str {
        &self.auth_place
    }

    /// Leaves out what is said of `key`: something else overrides it.
    pub fn forget(&mut self, key: &str) {
        self.values.retain(|value| value.key() != key);
    }

    /// The user's word goes before the system's.
    fn overlay(&mut self, content: Content) {
        // Who we are is one thing, whichever way it is said.
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

/// The name that the command line's definition has for a key.
pub fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// Reads the file that is named, or else the system's and the user's where there are any.
///
/// # Errors
/// What the `definition` of the command line wouldn't take either, and files that can't be read.
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

/// Where the user's file is, by the XDG base directory specification: it has relative paths ignored.
fn user_file(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let xdg = xdg.map(PathBuf::from).filter(|directory| directory.is_absolute());
    let home = || home.filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".config"));
    xdg.or_else(home).map(|directory| directory.join(USER))
}

/// No file, or no home directory that it could be in.
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
