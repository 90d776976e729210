//! Separates the words after the options into locks and command.
//!
//! A lock path begins with a slash, and so may a command. Therefore only a `--` after nothing but absolute paths ends a
//! list of locks; without it, only the first word is a lock.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use thiserror::Error;
use zklock_core::path::{LockPath, PathError};
use zklock_core::text::{escaped, shell_word, without_password};

use crate::files::is_program;
use crate::plan::Invocation;

/// Why the words aren't locks and a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvocationError {
    /// There are no words.
    #[error("no lock path; write zklock PATH -- COMMAND, as in zklock /locks/job -- ./job.sh")]
    NoPath,
    /// A lock, but no command.
    #[error("no command to run under {0}; write zklock {word} -- COMMAND", word = shell_word(.0))]
    NoCommand(String),
    /// The command's name is empty.
    #[error("the command to run under {0} is an empty word")]
    EmptyCommand(String),
    /// A shell string and a command.
    #[error("-c takes one string and nothing else, but '{0}' follows; put the whole command into the string")]
    TwoCommands(String),
    /// `--slots` with a naming that has no slots.
    #[error("--slots works with the default --naming only: the others have no names for slots")]
    SlotsNaming,
    /// `--once-per` with several locks: the record of the last success belongs to one path.
    #[error("--once-per goes with one lock: its record belongs to one path")]
    OncePerSeveral,
    /// An option where the command begins.
    #[error("'{0}' stands where the command begins: options go before the path, as in zklock {0} {word} ...", word = shell_word(.1))]
    LateOption(String, String),
    /// A program where a further lock is expected: a wrapper of the command.
    #[error(
        "'{0}' is a program, and before -- stands a lock: to run it, write it behind --; to lock that path, name it first"
    )]
    Program(String),
    /// A path that can't be a lock.
    #[error("'{0}' can't be a lock: {1}")]
    Path(String, PathError),
}

/// Separates `words` into locks and command; `shell` is the value of a `-c` among the options.
pub(super) fn parse(words: &[OsString], shell: Option<&OsStr>) -> Result<Invocation, InvocationError> {
    let Some(first) = words.first() else {
        return Err(InvocationError::NoPath);
    };
    let is_path = |word: &OsString| word.as_bytes().starts_with(b"/");
    let paths = words.iter().take_while(|word| is_path(word)).count();
    let dashes = words.get(paths).is_some_and(|word| word == "--");

    if let Some(string) = shell {
        // With -c among the options, every word must be a lock.
        let rest = words.get(paths + usize::from(dashes && paths > 0)..).unwrap_or_default();
        if paths > 0
            && let Some(extra) = rest.first()
        {
            return Err(InvocationError::TwoCommands(escaped(extra.as_encoded_bytes())));
        }
        return shell_words(locks(words.get(..paths.max(1)).unwrap_or_default())?, string);
    }
    let (locks_end, command_start) = if paths > 0 && dashes { (paths, paths + 1) } else { (1, 1) };
    let locks = locks(words.get(..locks_end).unwrap_or_default())?;
    let path = escaped(first.as_encoded_bytes());
    match words.get(command_start..) {
        None | Some([]) => Err(InvocationError::NoCommand(path)),
        Some([dash_c, rest @ ..]) if !dashes && (dash_c == "-c" || dash_c == "--command") => match rest {
            [] => Err(InvocationError::NoCommand(path)),
            [string] => shell_words(locks, string),
            [_, extra, ..] => Err(InvocationError::TwoCommands(escaped(extra.as_encoded_bytes()))),
        },
        Some([program, ..]) if program.is_empty() => Err(InvocationError::EmptyCommand(path)),
        Some([option, ..]) if !dashes && option.as_bytes().starts_with(b"-") => {
            Err(InvocationError::LateOption(escaped(option.as_encoded_bytes()), path))
        }
        Some([program, arguments @ ..]) => Ok(Invocation {
            locks,
            program: program.clone(),
            arguments: arguments.to_vec(),
            shown: program.clone(),
            label: None,
        }),
    }
}

fn shell_words(locks: Vec<LockPath>, string: &OsStr) -> Result<Invocation, InvocationError> {
    let first = string.as_bytes().split(u8::is_ascii_whitespace).find(|word| !word.is_empty());
    // The first word may be an assignment with a secret. Then the name of the shell is shown instead.
    let shown = match first {
        None => {
            return Err(InvocationError::EmptyCommand(
                locks.first().map(ToString::to_string).unwrap_or_default(),
            ));
        }
        Some(word) if word.iter().all(|b| b.is_ascii_alphanumeric() || b"/._-+".contains(b)) => {
            OsStr::from_bytes(word)
        }
        Some(_) => OsStr::new("sh"),
    };
    Ok(Invocation {
        locks,
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), string.to_owned()],
        shown: shown.to_owned(),
        label: None,
    })
}

fn locks(words: &[OsString]) -> Result<Vec<LockPath>, InvocationError> {
    if let Some(program) = words.iter().skip(1).find(|word| is_program(Path::new(word))) {
        return Err(InvocationError::Program(escaped(program.as_encoded_bytes())));
    }
    words
        .iter()
        .map(|word| {
            let shown = || without_password(&escaped(word.as_encoded_bytes()));
            LockPath::parse(word).map_err(|why| InvocationError::Path(shown(), why))
        })
        .collect()
}

#[cfg(test)]
mod tests;
