//! clap's errors as one line in printable characters.

use clap::error::Error;
use zklock_core::text::escaped;

/// The message for an error of clap's, with its tips and without its usage.
pub fn mistake(error: &Error) -> String {
    let text = error.to_string();
    let lines = text.trim_start_matches("error: ").lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("Usage: ") && !line.starts_with("For more "));
    // No lock path looks like an option.
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass '"));
    escaped(lines.collect::<Vec<_>>().join(" ").replace(" tip: ", "; ").as_bytes())
}
