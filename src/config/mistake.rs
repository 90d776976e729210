//! clap's errors as one line in printable characters.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use zklock_core::text::{escaped, escaped_lines};

/// The message for an error of clap's.
pub fn mistake(error: &Error) -> String {
    let argument = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue);
    match (error.kind(), argument, value) {
        (ErrorKind::InvalidValue, Some(argument), Some(value)) if !value.is_empty() => {
            let known = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(known)) => known.join(", "),
                _ => String::new(),
            };
            format!("invalid value '{}' for '{argument}': it must be one of {known}", shown(value))
        }
        (ErrorKind::TooManyValues, Some(argument), Some(value)) => {
            format!("'{argument}' takes no value, but got '{}'", shown(value))
        }
        // clap's tips are left out: they explain how to pass an option as a value, which isn't the problem here.
        _ => {
            let text = error.to_string();
            escaped_lines(text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: "))
        }
    }
}

/// A text that clap stored with the error, such as the argument or the value.
pub fn context(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

fn shown(text: &str) -> String {
    escaped(text.as_bytes())
}
