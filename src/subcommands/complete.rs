//! The scripts in `completions/`, and the completions that these scripts ask for: options and values from the
//! definition of the command line, lock paths from the servers.
//!
//! The first line of the output says what the shell itself completes: `nothing`, `files`, or `command N`, where N is
//! the number of the word at which the command begins. Each further line is a word, a tab and a description.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use zklock_core::exit::Exit;

use super::listing::paths_below;
use super::print;
use super::session;
use crate::cli::{self, ByShell, Completion, KnownShell, complete as complete_line};

/// The longest time to connect, because a user is waiting at the prompt.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// Prints the possible completions of the last word of `line`. Never prints a message.
pub fn complete(line: &[String]) -> Result<Exit> {
    let completion = complete_line(line);
    let mut text = match completion.shell {
        ByShell::Nothing => "nothing\n".to_owned(),
        ByShell::Files => "files\n".to_owned(),
        ByShell::Command(at) => format!("command {at}\n"),
    };
    for (word, description) in &completion.words {
        let _ = writeln!(text, "{word}\t{description}");
    }
    // If no server can be reached, no paths are offered.
    for path in paths(&completion).unwrap_or_default() {
        let _ = writeln!(text, "{path}\t");
    }
    print(text.as_bytes())
}

/// The completion script for a shell. It runs zklock to get the completions.
pub fn completions(shell: KnownShell) -> &'static str {
    match shell {
        KnownShell::Bash => include_str!("completions/zklock.bash"),
        KnownShell::Zsh => include_str!("completions/_zklock"),
        KnownShell::Fish => include_str!("completions/zklock.fish"),
    }
}

/// The paths that begin with the typed text: locks, and nodes above locks with a slash at the end.
fn paths(completion: &Completion) -> Result<Vec<String>> {
    let Some(typed) = &completion.lock else { return Ok(vec![]) };
    // With `-n`, every server is tried only once.
    let words = ["zklock", "-n"]
        .into_iter()
        .chain(completion.connection.iter().map(String::as_str))
        .chain(["/-", "-"]);
    let mut options = cli::parse(&words.map(Into::into).collect::<Vec<_>>())?;
    options.connection.connect_timeout = CONNECT_LIMIT.min(options.connection.connect_timeout);
    let parent = typed.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut paths = session::in_session(&options, |session| paths_below(session, parent))?;
    paths.retain(|path| path.starts_with(typed));
    Ok(paths)
}
