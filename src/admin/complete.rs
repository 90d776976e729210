//! Completions, asked for by the scripts for the shells: options and values from the definition, lock paths from the
//! servers.
//!
//! The first line says what the shell completes by itself: nothing, `files`, or `command N`. Each further line is a
//! word, a tab and a description.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;

use super::conversation::Conversation;
use super::listing::places_below;
use super::print;
use crate::cli::{self, ByShell, Completion, complete as find};
use crate::core::exit::Exit;

/// Somebody waits with a finger on the key.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints what can be typed in the place of the last word of `line`, and never a message.
pub fn complete(line: &[String]) -> Result<Exit> {
    let found = find(line);
    let mut text = match found.shell {
        ByShell::Nothing => "nothing\n".to_owned(),
        ByShell::Files => "files\n".to_owned(),
        ByShell::Command(at) => format!("command {at}\n"),
    };
    for (word, description) in &found.words {
        let _ = writeln!(text, "{word}\t{description}");
    }
    // Without servers there are no paths to offer.
    for path in paths(&found).unwrap_or_default() {
        let _ = writeln!(text, "{path}\t");
    }
    print(text.as_bytes())
}

/// Locks, and nodes above locks with a slash behind them, that begin as was typed.
fn paths(found: &Completion) -> Result<Vec<String>> {
    let Some(typed) = &found.lock else { return Ok(vec![]) };
    // As `-n`, which tries every server once, would connect.
    let words =
        ["zklock", "-n"].into_iter().chain(found.connection.iter().map(String::as_str)).chain(["/-", "-"]);
    let (mut options, _) = cli::parse(&words.map(Into::into).collect::<Vec<_>>())?;
    options.ensemble.connect_timeout = PATIENCE.min(options.ensemble.connect_timeout);
    let parent = typed.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut conversation = Conversation::open(&options)?;
    let mut paths = places_below(&mut conversation, parent)?;
    conversation.close();
    paths.retain(|path| path.starts_with(typed));
    Ok(paths)
}
