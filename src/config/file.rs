//! Reads and parses one configuration file: TOML with a flat table of keys.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use clap::Command;
use toml::{Spanned, Value as Toml};

use super::check;
use super::{AUTH, ConfigError, Definition, KEYS, id};
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
        format!("{}: line {}: {}", self.file, self.line, self.key)
    }
}

/// The settings of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) values: Vec<Value>,
    pub(super) auth: Vec<String>,
    pub(super) file: String,
    pub(super) auth_place: String,
    keys: BTreeMap<&'static str, usize>,
}

/// No settings fill more than this.
const LONGEST: u64 = 1024 * 1024;

/// Reads and parses a configuration file.
pub(super) fn read_file(definition: Definition, path: &Path) -> Result<Content, ConfigError> {
    let file = escaped(path.as_os_str().as_encoded_bytes());
    let unreadable = |why| ConfigError::Unreadable { file: file.clone(), why };
    let (open, metadata) = open_to_read(path).map_err(unreadable)?;
    let mut bytes = vec![];
    open.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        let why = format!("longer than {} KiB: is it the right file?", LONGEST / 1024);
        return Err(unreadable(io::Error::other(why)));
    }
    let content = parse(definition, &file, utf8(&file, &bytes)?)?;
    if !content.auth.is_empty() {
        refuse_if_others_can_read(path, &metadata)
            .map_err(|why| ConfigError::Exposed { file: file.clone(), why: why.to_string() })?;
    }
    Ok(content)
}

/// The file's text, which TOML requires to be UTF-8.
fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = line(&String::from_utf8_lossy(before), before.len());
        ConfigError::NotToml { place: place(file, line), why: "it isn't UTF-8".to_owned() }
    })
}

/// Parses the text of a file. Every value is checked, even if the command line overrides it, so that a mistake shows at
/// once and not only in some calls.
pub(super) fn parse(definition: Definition, file: &str, text: &str) -> Result<Content, ConfigError> {
    let table: BTreeMap<Spanned<String>, Toml> =
        toml::from_str(text).map_err(|why| not_toml(&definition(), file, &why, text))?;
    let definition = definition();
    let mut content = Content { file: file.to_owned(), ..Content::default() };
    for (name, value) in &table {
        let line = line(text, name.span().start);
        let place = place(file, line);
        let name = name.get_ref().as_str();
        if name == AUTH {
            content.auth = check::lines(&place, value)?;
            content.auth_place = place;
            continue;
        }
        let key = known_key(&definition, &place, name)?;
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

/// The key with this name, in which dashes and underscores are equivalent.
fn known_key(definition: &Command, place: &str, name: &str) -> Result<&'static str, ConfigError> {
    let with_dashes = name.replace('_', "-");
    if let Some(key) = KEYS.iter().find(|key| **key == with_dashes) {
        return Ok(key);
    }
    Err(ConfigError::UnknownKey {
        place: place.to_owned(),
        key: escaped(name.as_bytes()),
        remedy: check::remedy(definition, &with_dashes),
    })
}

/// The error for text that isn't TOML: the parser's message in one line with the line number, or the remedy for a value
/// without quotes.
fn not_toml(definition: &Command, file: &str, why: &toml::de::Error, text: &str) -> ConfigError {
    let line = why.span().map_or(1, |span| line(text, span.start));
    let content = text.lines().nth(line - 1).unwrap_or_default();
    let why = match why.message() {
        "duplicate key" => set_already(text, content, line),
        message => out_of_range(definition, content)
            .or_else(|| unquoted(definition, content))
            // The number is in a list.
            .or_else(|| message.starts_with("invalid type: integer").then(|| IN_LIST.to_owned()))
            .unwrap_or_else(|| message.replace('\n', "; ")),
    };
    ConfigError::NotToml { place: place(file, line), why: escaped(why.as_bytes()) }
}

const IN_LIST: &str = "a number in it is too large; write a smaller one";

/// The message for a key that is set again in this line, with the line that set it first.
fn set_already(text: &str, content: &str, line: usize) -> String {
    let key = |content: &str| content.split_once('=').map(|(key, _)| key.trim().to_owned());
    let wanted = key(content);
    let first = text.lines().take(line - 1).position(|line| key(line) == wanted);
    let first = first.map_or_else(String::new, |first| format!(", in line {}", first + 1));
    format!("'{}' is set already{first}", wanted.unwrap_or_default())
}

/// The message for a line whose value is a number beyond what TOML's numbers can be.
fn out_of_range(definition: &Command, content: &str) -> Option<String> {
    let (key, value) = content.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let key = key.trim().trim_matches(['"', '\'']);
    let with_dashes = key.replace('_', "-");
    if with_dashes == AUTH || !is_out_of_range(value) {
        return None;
    }
    let known = KEYS.iter().find(|known| **known == with_dashes);
    let is_text = |key: &&&'static str| {
        !check::is_switch(definition, key) && check::as_option(definition, "", key, value).is_ok()
    };
    Some(match known.filter(is_text) {
        Some(key) => {
            format!("{key}: the number is too large; if it is a text, write {key} = \"{value}\"")
        }
        None if value.starts_with('-') => format!("{key}: the number is too small; write a larger one"),
        None => format!("{key}: the number is too large; write a smaller one"),
    })
}

/// Whether it is a number as TOML writes it, but no 64-bit integer or float.
fn is_out_of_range(value: &str) -> bool {
    let number = value.replace('_', "");
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(&number);
    let has_radix = |radix: u32, digits: &str| {
        !digits.is_empty()
            && digits.chars().all(|c| c.is_digit(radix))
            && i64::from_str_radix(digits, radix).is_err()
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = number.strip_prefix(prefix) {
            return has_radix(radix, digits);
        }
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.parse::<i64>().is_err();
    }
    number.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// The remedy for a line whose value has no quotes. The parser's own message may be about a number or a boolean,
/// because such a value can look like the start of one.
fn unquoted(definition: &Command, content: &str) -> Option<String> {
    let (key, value) = content.split_once('=')?;
    let value = value.split(" #").next()?.trim();
    let with_dashes = key.trim().replace('_', "-");
    if with_dashes == AUTH {
        // The message doesn't contain the value, which is a secret.
        return Some("auth is a list of texts in quotes: write auth = [\"SCHEME:CREDENTIALS\"]".to_owned());
    }
    let key = KEYS.iter().find(|key| **key == with_dashes)?;
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
        assert_eq!(values("quiet = false"), Ok(vec![]));
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
            (
                "x = [\n1,\n99999999999999999999]",
                "f.toml: line 3: a number in it is too large; write a smaller",
            ),
            ("kill-after = 1e400s", "f.toml: line 1: a text needs quotes: write kill-after = \"1e400s\""),
            ("kill-after = 99999999999999999999s", "f.toml: line 1: a text needs quotes: write kill-after"),
            ("kill-after = 007", "f.toml: line 1: a text needs quotes: write kill-after = \"007\""),
            ("auth = 99999999999999999999", "f.toml: line 1: auth is a list of texts in quotes"),
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
