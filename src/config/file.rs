//! Reads and parses one configuration file: TOML with a flat table of keys.

use std::io::{self, Read};
use std::path::Path;

use clap::{Arg, Command};
use toml::de::{DeTable, DeValue};

use super::not_toml::not_toml;
use super::value;
use super::{AUTH, Auth, Config, ConfigError, Definition, KEYS, id};
use crate::core::text::escaped;
use crate::runtime::files::{open_to_read, refuse_if_others_can_read};

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
pub(super) fn read_file(definition: Definition, path: &Path) -> Result<Config, ConfigError> {
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
        refuse_if_others_can_read(path, &metadata)
            .map_err(|why| ConfigError::Mistake { place: file, why: why.to_string() })?;
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
pub(super) fn parse(definition: Definition, file: &str, text: &str) -> Result<Config, ConfigError> {
    let definition = definition();
    let mistake = |line, why| ConfigError::Mistake { place: place(file, line), why };
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        mistake(line, not_toml(&definition, &error, text, line))
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
            setting(&definition, name, value.get_ref(), written).map_err(|why| mistake(line, why))?;
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
pub(super) fn known<'a>(definition: &'a Command, name: &str) -> Option<(&'static str, &'a Arg)> {
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
    let keys = || KEYS.iter().copied().chain([AUTH]);
    let nearest = keys().map(|key| (strsim::jaro_winkler(&unknown, key), key));
    match nearest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, key)) if likeness > 0.8 => format!("; did you mean '{key}'?"),
        _ => format!("; known are {}", keys().collect::<Vec<_>>().join(", ")),
    }
}

/// The number of the line, counted from 1, in which the byte at `offset` is.
fn line(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or_default().matches('\n').count() + 1
}

fn place(file: &str, line: usize) -> String {
    format!("{file}: line {line}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::definition;

    fn values(text: &str) -> Result<Vec<(&'static str, String)>, String> {
        let content = parse(definition, "f.toml", text).map_err(|error| error.to_string())?;
        Ok(content.values.into_iter().map(|value| (value.key, value.text)).collect())
    }

    #[test]
    fn values_are_the_same_as_on_the_command_line() {
        let text = "zookeeper = 'zk1:2181,zk2:2181'\nkill-after = 2.5\nsession_timeout = 12\nquiet = true";
        let expected = [
            ("kill-after", "2.5"),
            ("quiet", "true"),
            ("session-timeout", "12"),
            ("zookeeper", "zk1:2181,zk2:2181"),
        ];
        let mut parsed = values(text).unwrap();
        parsed.sort_unstable();
        assert_eq!(parsed, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(values("quiet = false"), Ok(vec![("quiet", "false".to_owned())]));
    }

    #[test]
    fn each_mistake_is_reported_with_its_remedy() {
        for (text, expected) in [
            (
                "sesion-timeout = 5",
                "f.toml: line 1: unknown key 'sesion-timeout'; did you mean 'session-timeout'?",
            ),
            ("zokeeper = 'a'", "f.toml: line 1: unknown key 'zokeeper'; did you mean 'zookeeper'?"),
            (
                "nonblock = true",
                "f.toml: line 1: unknown key 'nonblock'; a file can't set it, only the command line",
            ),
            ("xyzzy = 1", "f.toml: line 1: unknown key 'xyzzy'; known are zookeeper, "),
            ("kill-after = 'soon'", "f.toml: line 1: kill-after: soon: not a time: write 90, 1.5, "),
            ("kill-after = -1", "f.toml: line 1: kill-after: -1: not a time: write 90, 1.5, "),
            ("kill-after = nan", "f.toml: line 1: kill-after: nan: not a time: write 90, 1.5, "),
            ("kill-after = inf", "f.toml: line 1: kill-after: inf: not a time: write 90, 1.5, "),
            (
                "conflict-exit-code = 600",
                "f.toml: line 1: conflict-exit-code: 600: an exit code is a number from 0 to 255",
            ),
            ("naming = 'curatr'", "f.toml: line 1: naming: curatr: it must be one of curator, "),
            ("quiet = 'yes'", "f.toml: line 1: quiet: must be true or false"),
            ("zookeeper = ['a', 'b']", "f.toml: line 1: zookeeper: must be a string or a number"),
            ("[zookeeper]\nhosts = 'a'", "f.toml: line 1: zookeeper: must be a string or a number"),
            ("auth = 'x'", "f.toml: line 1: auth: must be a list of strings"),
            ("\nzookeeper = ", "f.toml: line 2: "),
            ("kill-after = 5\n\nkill-after = 5", "f.toml: line 3: 'kill-after' is set already, in line 1"),
            ("\nzookeeper = a:1", "f.toml: line 2: a text needs quotes: write zookeeper = \"a:1\""),
            ("kill-after = 5s", "f.toml: line 1: a text needs quotes: write kill-after = \"5s\""),
            (
                "\nsession-timeout = 99999999999999999999",
                "f.toml: line 2: session-timeout: the number is too large; write a smaller one",
            ),
            (
                "slots = 99999999999999999999",
                "f.toml: line 1: slots: the number is too large; write a smaller",
            ),
            (
                "kill-after = 1e400 # x",
                "f.toml: line 1: kill-after: the number is too large; write a smaller",
            ),
            ("slots = 1e400", "f.toml: line 1: slots: the number is too large; write a smaller one"),
            ("verbose = 9223372036854775808", "f.toml: line 1: verbose: the number is too large"),
            ("'verbose' = +9_223_372_036_854_775_808", "f.toml: line 1: verbose: the number is too large"),
            ("verbose = 0xffff_ffff_ffff_ffff_f", "f.toml: line 1: verbose: the number is too large"),
            ("quiet = 99999999999999999999", "f.toml: line 1: quiet: the number is too large"),
            (
                "kill-after = -1e400",
                "f.toml: line 1: kill-after: the number is too small; write a larger one",
            ),
            ("verbose = -9223372036854775809", "f.toml: line 1: verbose: the number is too small"),
            (
                "label = 99999999999999999999",
                "f.toml: line 1: label: the number is too large; if it is a text, write label = \"99999999999999999999\"",
            ),
            ("x = [\n1,\n99999999999999999999]", "f.toml: line 1: unknown key 'x'; known are zookeeper, "),
            ("kill-after = 1e300", "f.toml: line 1: kill-after: 1e300: longer than 30 years"),
            ("slots = -1e400", "f.toml: line 1: slots: the number is too small; write a larger one"),
            ("kill-after = 1e400s", "f.toml: line 1: a text needs quotes: write kill-after = \"1e400s\""),
            ("kill-after = 99999999999999999999s", "f.toml: line 1: a text needs quotes: write kill-after"),
            ("kill-after = 007", "f.toml: line 1: a text needs quotes: write kill-after = \"007\""),
            ("auth = 99999999999999999999", "f.toml: line 1: auth: must be a list of strings"),
            ("kill-after = 1.5s", "f.toml: line 1: a text needs quotes: write kill-after = \"1.5s\""),
            ("zookeeper = fs1:2181", "f.toml: line 1: a text needs quotes: write zookeeper = \"fs1:2181\""),
            ("signal = INT # x", "f.toml: line 1: a text needs quotes: write signal = \"INT\""),
            ("label = two words # x", "f.toml: line 1: a text needs quotes: write label = \"two words\""),
            ("tls = yes", "f.toml: line 1: tls must be true or false"),
            ("zookeeper =", "f.toml: line 1: zookeeper has no value"),
            ("atuh = ['digest:a:b']", "f.toml: line 1: unknown key 'atuh'; did you mean 'auth'?"),
            ("\n\nkill-after = 'soon'", "f.toml: line 3: kill-after: soon: not a time"),
            (
                "session-timeout = 4\n\nsession_timeout = 5",
                "f.toml: line 3: 'session-timeout' is set already, in line 1: dashes and underscores are equivalent",
            ),
            (
                "session_timeout = 4\nsession-timeout = 5",
                "f.toml: line 2: 'session-timeout' is set already, in line 1",
            ),
            (
                "quiet = false\nverbose = 300",
                "f.toml: line 2: verbose: 300: must be a number: 1 is -v, 2 is -vv",
            ),
            ("auth-file = \"\"", "f.toml: line 1: auth-file: an empty text is no value; remove the line"),
            ("label = \"a\\u001b\"", "f.toml: line 1: label: a\\u{1b}: a label has no control characters"),
            ("\"a\\u001b\" = 1", "f.toml: line 1: unknown key 'a\\u{1b}'"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_secret_without_quotes_is_not_repeated() {
        for text in ["auth = digest:ci:s3cret", "auth = [digest:ci:s3cret]", "auth = 'digest:ci:s3cret"] {
            let error = values(text).unwrap_err();
            assert!(error.contains("auth = [\"SCHEME:CREDENTIALS\"]"), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_utf_8_is_refused_with_the_line() {
        let error = utf8("f.toml", b"quiet = true\nlabel = '\xff'").unwrap_err();
        assert_eq!(error.to_string(), "f.toml: line 2: it isn't UTF-8");
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,200}") {
            let _ = parse(definition, "f.toml", &text);
        }
    }
}
