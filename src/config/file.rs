//! One file: TOML with a flat table of keys.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Command;
use toml::{Spanned, Value as Toml};

use super::check;
use super::{AUTH, ConfigError, Definition, KEYS, id};
use crate::core::words::escaped;
use crate::runtime::files::refuse_if_others_can_read;

/// A setting as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    key: &'static str,
    text: String,
    file: String,
    line: usize,
}

impl Value {
    /// The key.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// The name that the command line's definition has for it.
    pub fn id(&self) -> String {
        id(self.key)
    }

    /// The value as the command line would have it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file that says it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The file, the line and the key, for whoever made a mistake there.
    pub fn place(&self) -> String {
        format!("{}: line {}: {}", self.file, self.line, self.key)
    }
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) values: Vec<Value>,
    pub(super) auth: Vec<String>,
    pub(super) file: String,
    pub(super) auth_place: String,
    keys: BTreeMap<&'static str, usize>,
}

pub(super) fn read_file(definition: Definition, path: &Path) -> Result<Content, ConfigError> {
    let file = escaped(path.as_os_str().as_encoded_bytes());
    let unreadable = |why| ConfigError::Unreadable { file: file.clone(), why };
    let mut open = File::open(path).map_err(unreadable)?;
    let metadata = open.metadata().map_err(unreadable)?;
    let mut bytes = vec![];
    open.read_to_end(&mut bytes).map_err(unreadable)?;
    let content = understand(definition, &file, utf8(&file, &bytes)?)?;
    if !content.auth.is_empty() {
        refuse_if_others_can_read(path, &metadata)
            .map_err(|why| ConfigError::Exposed { file: file.clone(), why: why.to_string() })?;
    }
    Ok(content)
}

/// TOML is UTF-8.
fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = line(&String::from_utf8_lossy(before), before.len());
        ConfigError::NotToml { place: place(file, line), why: "it isn't UTF-8".to_owned() }
    })
}

/// Understands what a file says. Every value is checked, also one that the command line overrides: a mistake
/// that shows only now and then is found too late.
pub(super) fn understand(definition: Definition, file: &str, text: &str) -> Result<Content, ConfigError> {
    let table: BTreeMap<Spanned<String>, Toml> =
        toml::from_str(text).map_err(|why| not_toml(&definition(), file, &why, text))?;
    let definition = definition();
    let mut content = Content { file: file.to_owned(), ..Content::default() };
    for (said, value) in &table {
        let line = line(text, said.span().start);
        let place = place(file, line);
        let said = said.get_ref().as_str();
        if said == AUTH {
            content.auth = check::lines(&place, value)?;
            content.auth_place = place;
            continue;
        }
        let key = known(&definition, &place, said)?;
        if let Some(other) = content.keys.insert(key, line) {
            let (line, place) = (other.min(line), self::place(file, other.max(line)));
            return Err(ConfigError::SetTwice { place, key: key.to_owned(), line });
        }
        if let Some(text) = check::text(&definition, &place, key, value)? {
            check::as_option(&definition, &place, key, &text)?;
            content.values.push(Value { key, text, file: file.to_owned(), line });
        }
    }
    Ok(content)
}

/// The key that is meant: dashes or underscores are the same.
fn known(definition: &Command, place: &str, said: &str) -> Result<&'static str, ConfigError> {
    let meant = said.replace('_', "-");
    if let Some(key) = KEYS.iter().find(|key| **key == meant) {
        return Ok(key);
    }
    Err(ConfigError::UnknownKey {
        place: place.to_owned(),
        key: escaped(said.as_bytes()),
        remedy: check::remedy(definition, &meant),
    })
}

/// The parser's words without its drawing of the place, but with the line; and what to write where the value of a key has
/// no quotes.
fn not_toml(definition: &Command, file: &str, why: &toml::de::Error, text: &str) -> ConfigError {
    let line = why.span().map_or(1, |span| line(text, span.start));
    let said = text.lines().nth(line - 1).unwrap_or_default();
    let why = match why.message() {
        "duplicate key" => set_already(text, said, line),
        message => unquoted(definition, said).unwrap_or_else(|| message.replace('\n', "; ")),
    };
    ConfigError::NotToml { place: place(file, line), why: escaped(why.as_bytes()) }
}

/// What is set for a second time, and where for the first time.
fn set_already(text: &str, said: &str, line: usize) -> String {
    let key = |said: &str| said.split_once('=').map(|(key, _)| key.trim().to_owned());
    let wanted = key(said);
    let first = text.lines().take(line - 1).position(|line| key(line) == wanted);
    let first = first.map_or_else(String::new, |first| format!(", in line {}", first + 1));
    format!("'{}' is set already{first}", wanted.unwrap_or_default())
}

/// What to write instead of a value without quotes. The parser takes some of them for numbers or switches.
fn unquoted(definition: &Command, said: &str) -> Option<String> {
    let (key, value) = said.split_once('=')?;
    let value = value.split(" #").next()?.trim();
    let meant = key.trim().replace('_', "-");
    if meant == AUTH {
        // Without the value, which is a secret.
        return Some("auth is a list of texts in quotes: write auth = [\"SCHEME:CREDENTIALS\"]".to_owned());
    }
    let key = KEYS.iter().find(|key| **key == meant)?;
    if value.contains(['"', '\'', '#', '\\', '[', '{']) {
        return None;
    }
    Some(if check::is_switch(definition, key) {
        format!("{key} must be true or false")
    } else if value.is_empty() {
        format!("{key} has no value")
    } else {
        format!("a text needs quotes: write {key} = \"{value}\"")
    })
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

    fn said(text: &str) -> Result<Vec<(&'static str, String)>, String> {
        let content = understand(definition, "f.toml", text).map_err(|error| error.to_string())?;
        Ok(content.values.into_iter().map(|value| (value.key, value.text)).collect())
    }

    #[test]
    fn every_kind_of_value_is_taken_as_the_command_line_would_have_it() {
        let text = "zookeeper = 'zk1:2181,zk2:2181'\nkill-after = 2.5\nsession_timeout = 12\nquiet = true";
        let expected = [
            ("kill-after", "2.5"),
            ("quiet", "true"),
            ("session-timeout", "12"),
            ("zookeeper", "zk1:2181,zk2:2181"),
        ];
        let mut values = said(text).unwrap();
        values.sort_unstable();
        assert_eq!(values, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(said("quiet = false"), Ok(vec![]));
    }

    #[test]
    fn each_mistake_is_said_with_its_remedy() {
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
            ("kill-after = nan", "f.toml: line 1: kill-after: NaN: not a time: write 90, 1.5, "),
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
            ("label = \"a\\u001b\"", "f.toml: line 1: label: a\\u{1b}: a label has no control characters"),
            ("\"a\\u001b\" = 1", "f.toml: line 1: unknown key 'a\\u{1b}'"),
        ] {
            let error = said(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_secret_without_quotes_is_not_repeated() {
        for text in ["auth = digest:ci:s3cret", "auth = [digest:ci:s3cret]", "auth = 'digest:ci:s3cret"] {
            let error = said(text).unwrap_err();
            assert!(error.contains("auth = [\"SCHEME:CREDENTIALS\"]"), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_file_of_other_bytes_than_utf_8_is_refused_with_the_line() {
        let error = utf8("f.toml", b"quiet = true\nlabel = '\xff'").unwrap_err();
        assert_eq!(error.to_string(), "f.toml: line 2: it isn't UTF-8");
    }

    proptest! {
        #[test]
        fn any_text_is_understood_or_refused(text in "\\PC{0,200}") {
            let _ = understand(definition, "f.toml", &text);
        }
    }
}
