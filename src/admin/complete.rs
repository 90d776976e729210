//! Prints completions for the scripts in `completions/`: options and values from the definition of the command line, lock
//! paths from the servers.
//!
//! The first line says what the shell itself completes: `nothing`, `files`, or `command N`, where N is the number of the
//! word at which the command begins. Each further line is a word, a tab and a description.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;

use super::conversation::Conversation;
use super::listing::places_below;
use super::print;
use crate::cli::{self, ByShell, Completion, complete as find};
use crate::core::exit::Exit;

/// The longest time to connect, because a user is waiting at the prompt.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints the possible completions of the last word of `line`. Never prints a message.
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
    // If no server can be reached, no paths are offered.
    for path in paths(&found).unwrap_or_default() {
        let _ = writeln!(text, "{path}\t");
    }
    print(text.as_bytes())
}

/// The paths that begin with the typed text: locks, and nodes above locks with a slash at the end.
fn paths(found: &Completion) -> Result<Vec<String>> {
    let Some(typed) = &found.lock else { return Ok(vec![]) };
    // With `-n`, every server is tried only once.
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
