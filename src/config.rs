//! Settings from files and variables. Each key is the long name of an option of the command line, with the same meaning:
//! the settings become options in front of the line.
//!
//! Precedence, highest first: command line, environment, the user's file, the system's file. `--config` or
//! `ZKLOCK_CONFIG` names one file that is read instead of both.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use toml::{Table, Value};
use zklock_core::text::{escaped, without_password};

use crate::files::{read_settings, refuse_if_others_can_read};
use crate::plan::{AUTH_VARIABLE, AuthLines};
use crate::process::system_error::{describe, explain};

/// The keys: options that may apply to a whole host or user. Options that concern one job can only be set on its
/// command line.
pub const SETTINGS: &[&str] = &[
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

/// The keys of options without a value.
pub const SWITCHES: [&str; 3] = ["single-child", "tls", "quiet"];

/// What to know instead of 1.1's `on-lost`.
pub const ALWAYS_STOPPED: &str = "the command is always stopped when the lock is lost";

/// The only key that isn't an option, because credentials must not appear on a command line.
pub const AUTH: &str = "auth";
const AUTH_FILE: &str = "auth-file";

const SYSTEM: &str = "/etc/zklock.toml";
const USER: &str = "zklock/config.toml";

/// The settings of all files and variables together.
#[derive(Debug, Default)]
pub struct Config {
    /// The value of each key, and the file or variable that it comes from. That of `auth` is empty.
    settings: BTreeMap<&'static str, (OsString, String)>,
    /// The credentials that are not in a file of their own.
    pub auth: Vec<AuthLines>,
    /// The default files that zklock can't get to, and why.
    pub unreachable: Vec<String>,
}

impl Config {
    /// Reads the `named` file, or else the system's file and the user's file if they exist, and the variables.
    ///
    /// # Errors
    /// If a file can't be read, isn't TOML, or has an unknown key. A default file that zklock can't get to, such as one in
    /// the home of another user, counts as missing.
    pub fn read(named: Option<&Path>) -> Result<Self> {
        let mut config = Self::default();
        if let Some(path) = named {
            config.add_file(path)?;
        } else if let Some(path) = variable("ZKLOCK_CONFIG") {
            config.add_file(path.as_ref()).context("ZKLOCK_CONFIG")?;
        } else {
            let user = user_file(env::var_os("XDG_CONFIG_HOME"), env::var_os("HOME"));
            for path in [Some(PathBuf::from(SYSTEM)), user].into_iter().flatten() {
                config.add_default(&path)?;
            }
        }
        if let Some(servers) = variable("ZKLOCK_ZOOKEEPER") {
            config.settings.insert("zookeeper", (servers, "ZKLOCK_ZOOKEEPER".to_owned()));
        }
        if let Some(text) = variable(AUTH_VARIABLE) {
            let lines = AuthLines { place: AUTH_VARIABLE.to_owned(), text };
            config.set_auth(AUTH_VARIABLE, vec![lines]);
        }
        Ok(config)
    }

    fn add_default(&mut self, path: &Path) -> Result<()> {
        let error = match self.add_file(path) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error.downcast_ref::<io::Error>() {
            Some(why) if is_absent(why) => Ok(()),
            Some(_) if let Some(why) = out_of_reach(path) => {
                let file = escaped(path.as_os_str().as_encoded_bytes());
                self.unreachable.push(format!("{file}: not read, because zklock can't get there: {why}"));
                Ok(())
            }
            Some(_) => {
                bail!("{}; let this user read it, or name another file with --config", explain(&error))
            }
            None => Err(error),
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let (text, metadata) = read_settings(path)?;
        let file = escaped(path.as_os_str().as_encoded_bytes());
        if self.add(&file, &text)? {
            refuse_if_others_can_read(path, &metadata)?;
        }
        Ok(())
    }

    /// Adds the settings of a file's text, which override earlier ones. Returns whether it has credentials.
    ///
    /// # Errors
    /// If the text isn't TOML, or has an unknown key or a value that is no text, number or list.
    pub fn add(&mut self, file: &str, text: &str) -> Result<bool> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            // Only the parser's words: the line itself may have credentials.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let why = escaped(error.message().as_bytes());
            let line = before.matches('\n').count() + 1;
            anyhow!(
                "{file}: line {line}: {why}; a setting is a line such as zookeeper = \"zk1:2181,zk2:2181\""
            )
        })?;
        let (mut settings, mut auth) = (BTreeMap::new(), vec![]);
        for (name, value) in &table {
            if name == AUTH {
                let lines = strings(value).with_context(|| {
                    format!("{file}: {AUTH}: must be a list of texts, such as [\"digest:USER:PASSWORD\"]")
                })?;
                let entry = |(index, line): (usize, &str)| AuthLines {
                    place: format!("{file}: auth entry {}", index + 1),
                    text: line.into(),
                };
                auth = lines.into_iter().enumerate().map(entry).collect();
                continue;
            }
            let with_dashes = name.replace('_', "-");
            if with_dashes == "on-lost" {
                bail!("{file}: remove '{name}': {ALWAYS_STOPPED}");
            }
            let Some(key) = SETTINGS.iter().find(|key| **key == with_dashes) else {
                let name = escaped(without_password(name).as_bytes());
                bail!(
                    "{file}: unknown key '{name}'; known are {}, {AUTH}, as in zookeeper = \"zk1:2181,zk2:2181\"",
                    SETTINGS.join(", ")
                );
            };
            let value = text_of(value).with_context(|| {
                format!("{file}: {key}: must be a text, a number, true, false or a list of texts")
            })?;
            if settings.insert(*key, (value.into(), file.to_owned())).is_some() {
                bail!("{file}: {key} is there twice, with '-' and with '_'; remove one");
            }
        }
        let has_auth = !auth.is_empty();
        if has_auth || settings.contains_key(AUTH_FILE) {
            self.set_auth(file, auth);
        }
        self.settings.extend(settings);
        Ok(has_auth)
    }

    /// Sets the credentials, in place of others and of a file with credentials.
    pub fn set_auth(&mut self, source: &str, lines: Vec<AuthLines>) {
        self.settings.remove(AUTH_FILE);
        self.settings.remove(AUTH);
        if !lines.is_empty() {
            self.settings.insert(AUTH, (OsString::new(), source.to_owned()));
        }
        self.auth = lines;
    }

    /// Removes the setting of `key`, because the command line overrides it.
    pub fn remove(&mut self, key: &str) {
        self.settings.remove(key);
    }

    /// The file or variable that sets `key`.
    pub fn source(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(|(_, source)| source.as_str())
    }

    /// The settings as options of the command line, each with its key and its place.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, String, OsString)> {
        SETTINGS.iter().filter_map(|key| {
            let (value, source) = self.settings.get(key)?;
            Some((*key, format!("{source}: {key}"), option(key, value)?))
        })
    }
}

/// The setting as an option; none for a switch that is off.
fn option(key: &str, value: &OsStr) -> Option<OsString> {
    let is_switch = SWITCHES.contains(&key) || key == "verbose";
    match value.to_str() {
        Some("false" | "0") if is_switch => None,
        Some("true") if is_switch => Some(format!("--{key}").into()),
        // 2 is -vv.
        Some(times)
            if key == "verbose"
                && let Ok(times) = times.parse::<u8>() =>
        {
            Some(format!("-{}", "v".repeat(times.into())).into())
        }
        _ => {
            let mut option = OsString::from(format!("--{key}="));
            option.push(value);
            Some(option)
        }
    }
}

/// The value as on the command line; none if it is a table or a date.
fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(on) => on.to_string(),
        list => strings(list)?.join(","),
    })
}

/// The texts of a list; none if it isn't one, or has something else.
fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// The value of a variable. An empty one counts as unset.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
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
fn is_absent(why: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(why.kind(), NotFound | NotADirectory)
}

/// Why not even the existence of the file can be seen: a directory on the way to it is closed to this user, or no file
/// can have this path. Nothing else: after a fault of a disk or a network, settings that are there would be ignored.
fn out_of_reach(path: &Path) -> Option<String> {
    let why = path.metadata().err()?;
    let errno = why.raw_os_error().map(Errno::from_raw)?;
    matches!(errno, Errno::EACCES | Errno::ELOOP | Errno::ENAMETOOLONG).then(|| describe(&why))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The options that a file with this text stands for.
    fn options(text: &str) -> Result<Vec<String>, String> {
        let mut config = Config::default();
        config.add("f.toml", text).map_err(|error| explain(&error))?;
        Ok(config.options().map(|(.., option)| option.into_string().unwrap()).collect())
    }

    #[test]
    fn a_setting_is_an_option() {
        let text = "verbose = 2\nzookeeper = ['zk1:1', 'zk2:2/app']\nkill-after = 2.5\nsession_timeout = 12\n\
                    tls = true\nquiet = false\nlabel = 'true'";
        let expected = [
            "--zookeeper=zk1:1,zk2:2/app",
            "--session-timeout=12",
            "--kill-after=2.5",
            "--label=true",
            "--tls",
            "-vv",
        ];
        assert_eq!(options(text).unwrap(), expected);
        assert_eq!(options("verbose = true\ntls = 'yes'").unwrap(), ["--tls=yes", "--verbose"]);
        assert_eq!(options("verbose = 0\nauth = []").unwrap(), [""; 0]);
    }

    #[test]
    fn a_later_file_overrides_an_earlier_one_and_its_credentials() {
        let mut config = Config::default();
        config.add("a", "tls = true\nlabel = 'a'\nauth = ['digest:a:b']").unwrap();
        config.add("b", "tls = false\nauth-file = '/b'").unwrap();
        let options: Vec<_> = config.options().collect();
        let expected = [("label", "a: label", "--label=a"), ("auth-file", "b: auth-file", "--auth-file=/b")];
        assert_eq!(options, expected.map(|(key, place, option)| (key, place.to_owned(), option.into())));
        assert!(config.auth.is_empty() && config.source(AUTH).is_none());
        config.set_auth("c", vec![AuthLines { place: String::new(), text: OsString::new() }]);
        assert_eq!((config.source(AUTH), config.source(AUTH_FILE)), (Some("c"), None));
    }

    #[test]
    fn each_mistake_is_reported_with_its_place() {
        for (text, expected) in [
            ("sesion-timeout = 5", "f.toml: unknown key 'sesion-timeout'; known are zookeeper, "),
            ("command = 'x'", "f.toml: unknown key 'command'; known are "),
            ("\"a\\u001b\" = 1", "f.toml: unknown key 'a\\u{1b}'; known"),
            (
                "zookeeper = ['a', 1]",
                "f.toml: zookeeper: must be a text, a number, true, false or a list of texts",
            ),
            ("[zookeeper]\nhosts = 'a'", "f.toml: zookeeper: must be a text"),
            ("label = 2026-01-01", "f.toml: label: must be a text"),
            ("auth = 'x'", "f.toml: auth: must be a list of texts, such as [\"digest:USER:PASSWORD\"]"),
            ("\nkill-after = 5s", "f.toml: line 2: string values must be quoted"),
            ("kill-after = 5\n\nkill-after = 5", "f.toml: line 3: duplicate key"),
        ] {
            let error = options(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_secret_without_quotes_is_not_repeated() {
        for text in ["auth = digest:ci:s3cret", "auth = [digest:ci:s3cret]", "auth = 'digest:ci:s3cret"] {
            let error = options(text).unwrap_err();
            assert!(error.starts_with("f.toml: line 1: ") && !error.contains("s3cret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_in_one_line(text in "\\PC{0,200}") {
            prop_assert!(options(&text).map_or_else(|error| !error.contains('\n'), |_| true));
        }
    }

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
