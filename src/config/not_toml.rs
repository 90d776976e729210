//! Remedies for text that isn't TOML.

use clap::Command;
use toml::de::Error;
use zklock_core::text::escaped;

use super::AUTH;
use super::file::known;
use super::value::is_switch;

/// What is wrong in this line: the parser's message, or the remedy for a value without quotes.
pub(super) fn not_toml(definition: &Command, error: &Error, text: &str, line: usize) -> String {
    let content = text.lines().nth(line - 1).unwrap_or_default();
    let why = match error.message() {
        "duplicate key" => set_already(text, content, line),
        message => unquoted(definition, content).unwrap_or_else(|| message.replace('\n', "; ")),
    };
    escaped(why.as_bytes())
}

/// The message for a key that is set again in this line, with the line that set it first.
fn set_already(text: &str, content: &str, line: usize) -> String {
    let key = |content: &str| content.split_once('=').map(|(key, _)| key.trim().to_owned());
    let wanted = key(content);
    let first = text.lines().take(line - 1).position(|line| key(line) == wanted);
    let first = first.map_or_else(String::new, |first| format!(", in line {}", first + 1));
    format!("'{}' is set already{first}", wanted.unwrap_or_default())
}

/// The remedy for a line whose value has no quotes. The parser's own message may be about a number or a boolean,
/// because such a value can look like the start of one.
fn unquoted(definition: &Command, content: &str) -> Option<String> {
    let (name, value) = content.split_once('=')?;
    let (name, value) = (name.trim(), value.split(" #").next()?.trim());
    if name == AUTH {
        // The message doesn't contain the value, which is a secret.
        return Some("auth is a list of texts in quotes: write auth = [\"SCHEME:CREDENTIALS\"]".to_owned());
    }
    let (key, option) = known(definition, name)?;
    if value.contains(['"', '\'', '#', '\\', '[', '{']) {
        return None;
    }
    Some(if is_switch(option) {
        format!("{key} must be true or false")
    } else if value.is_empty() {
        format!("{key} has no value")
    } else {
        format!("a text needs quotes: write {key} = \"{value}\"")
    })
}
