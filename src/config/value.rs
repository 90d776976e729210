//! The values of a configuration file, checked by the options of the command line.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml::de::DeValue;
use zklock_core::text::escaped;

use super::mistake;

/// The value as text, as on the command line, or why the option doesn't accept it. `written` is the value as it stands
/// in the file.
pub(super) fn text(option: &Arg, value: &DeValue<'_>, written: &str) -> Result<String, String> {
    if is_switch(option) {
        return value.as_bool().map(|on| on.to_string()).ok_or_else(|| "must be true or false".to_owned());
    }
    let text = match (value, option.get_action()) {
        (DeValue::String(text), _) => text.clone().into_owned(),
        // As many as -v: natural beside `quiet = true`.
        (DeValue::Boolean(on), ArgAction::Count) => u8::from(*on).to_string(),
        (DeValue::Array(_), _) if is_list(option) => {
            strings(value).ok_or("must be a string, or a list of strings")?.join(",")
        }
        _ => number(value).ok_or_else(|| format!("must be a string or a number, not {}", kind(value)))?,
    };
    if text.is_empty() {
        return Err("an empty text is no value; remove the line".to_owned());
    }
    // A number is shown as it was written: 1e300 has 301 digits.
    let shown = if value.is_str() { &text } else { written };
    accepts(option, text.as_ref(), shown.as_ref())?;
    Ok(text)
}

/// The auth lines. The credentials in them are checked later, together with those of other sources.
pub(super) fn lines(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    strings(value).ok_or_else(|| "must be a list of strings, such as [\"digest:USER:PASSWORD\"]".to_owned())
}

/// The strings of a list; `None` if it isn't one, or has something else.
fn strings(value: &DeValue<'_>) -> Option<Vec<String>> {
    let string = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
    value.as_array()?.iter().map(|value| string(value.get_ref())).collect()
}

/// Whether the option's value is a list with commas, for which a file may have a list.
fn is_list(option: &Arg) -> bool {
    matches!(option.get_long(), Some("zookeeper" | "acl"))
}

/// What a value is that is neither a string nor a number.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Boolean(_) => "true or false",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
        _ => "a date",
    }
}

/// Whether the option accepts this value, and if not, why. The reason calls the value `shown`.
pub fn accepts(option: &Arg, value: &OsStr, shown: &OsStr) -> Result<(), String> {
    let alone = option.clone().default_value(value.to_owned());
    let command = Command::new("zklock").arg(alone);
    command.try_get_matches_from(["zklock"]).map(drop).map_err(|error| reason(&error, shown))
}

/// Why clap refused a value: the value and the reason, without the option's name, because the message names a key or a
/// variable.
fn reason(error: &clap::Error, shown: &OsStr) -> String {
    let line = mistake(error);
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => match line.split_once(&format!(" for '{option}': ")) {
            Some((_, why)) => format!("{}: {why}", escaped(shown.as_encoded_bytes())),
            None => line,
        },
        _ => line,
    }
}

/// A number as text. `None` if it isn't a number, or too large.
fn number(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|number| number.to_string())
        }
        DeValue::Float(float) => {
            let number = float.as_str().parse::<f64>().ok()?;
            (number.is_finite() || !has_digits(float.as_str())).then(|| number.to_string())
        }
        _ => None,
    }
}

/// Unlike `inf` and `nan`.
fn has_digits(float: &str) -> bool {
    float.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether the value is a number, but no 64-bit integer or float.
pub(super) fn is_out_of_range(value: &DeValue<'_>) -> bool {
    (value.is_integer() || value.is_float()) && number(value).is_none()
}

/// The message for such a number, and the remedy: for an `option` that takes any text, quotes.
pub(super) fn too_large(option: Option<&Arg>, key: &str, written: &str) -> String {
    let takes_text =
        |option: &&Arg| !is_switch(option) && accepts(option, written.as_ref(), written.as_ref()).is_ok();
    match option.filter(takes_text) {
        Some(_) => format!("the number is too large; if it is a text, write {key} = \"{written}\""),
        None if written.starts_with('-') => "the number is too small; write a larger one".to_owned(),
        None => "the number is too large; write a smaller one".to_owned(),
    }
}

/// Whether the option takes no value.
pub(super) fn is_switch(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::SetTrue)
}
