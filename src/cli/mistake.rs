//! Messages for mistakes on the command line and in variables.

use std::ffi::OsString;

use clap::error::{ContextKind, Error, ErrorKind};
use zklock_core::spelling::nearest_or_longer;
use zklock_core::text::escaped;

use super::definition::{is_shared, is_subcommand};
use super::{StartError, definition, other_tools};
use crate::config::{self, context};

/// Why zklock doesn't start, by clap's error about these words.
pub(super) fn usage(error: Error, words: &[OsString]) -> StartError {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => StartError::Help(error),
        _ => {
            let subcommand = subcommand(words);
            StartError::Usage { message: text(&error, subcommand.as_deref()), subcommand }
        }
    }
}

/// The subcommand behind which a mistake among these words is; none if it is before the subcommand.
fn subcommand(words: &[OsString]) -> Option<String> {
    let mut found = words.iter().enumerate().skip(1).filter(|(_, word)| is_subcommand(word));
    let (_, subcommand) = found.find(|(at, _)| words.get(..*at).is_some_and(are_options))?;
    subcommand.to_str().map(str::to_owned)
}

/// Whether the words behind the first are options without mistakes, as before a subcommand, and none of them is a path.
fn are_options(words: &[OsString]) -> bool {
    let matches = definition().try_get_matches_from(words);
    matches.is_ok_and(|matches| matches.subcommand_name().is_none() && !matches.contains_id("words"))
}

/// The message for an error of clap's, in printable characters, with a remedy.
fn text(error: &Error, subcommand: Option<&str>) -> String {
    let argument = context(error, ContextKind::InvalidArg);
    match (error.kind(), argument) {
        (ErrorKind::UnknownArgument, Some(argument)) => {
            let similar =
                || similar_option(subcommand, argument).map(|option| format!("did you mean '{option}'?"));
            let remedy = other_tools::option(subcommand, argument).or_else(similar);
            let remedy = remedy.map(|remedy| format!("; {remedy}"));
            format!("unexpected argument '{}' found{}", shown(argument), remedy.unwrap_or_default())
        }
        _ => config::mistake(error),
    }
}

/// The option of zklock, or of this subcommand, that was meant, if one is similar enough.
fn similar_option(subcommand: Option<&str>, argument: &str) -> Option<String> {
    let mut definition = definition();
    definition.build();
    let command = match subcommand {
        Some(subcommand) => definition.find_subcommand(subcommand)?,
        None => &definition,
    };
    let options = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let option = match argument.strip_prefix("--") {
        Some(name) => nearest_or_longer(name, options.filter_map(|arg| arg.get_long()))?,
        None => by_letter(&definition, options, argument)?,
    };
    Some(format!("--{option}"))
}

/// The only option of a subcommand that begins with the letter of `short`: a subcommand's options have no short form. None
/// for a letter that means something else before a lock path.
fn by_letter<'a>(
    definition: &clap::Command,
    options: impl Iterator<Item = &'a clap::Arg>,
    short: &str,
) -> Option<&'a str> {
    let letter = short.strip_prefix('-').filter(|letter| letter.chars().count() == 1)?;
    let is_known = |arg: &clap::Arg| arg.get_short().is_some_and(|known| letter.starts_with(known));
    if definition.get_arguments().any(is_known) {
        return None;
    }
    let own = options.filter(|arg| !is_shared(arg));
    let mut found = own.filter_map(|arg| arg.get_long()).filter(|long| long.starts_with(letter));
    let option = found.next()?;
    found.next().is_none().then_some(option)
}

fn shown(text: &str) -> String {
    escaped(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(words: &[&str]) -> (String, Option<String>) {
        let words: Vec<_> = std::iter::once("zklock").chain(words.iter().copied()).map(Into::into).collect();
        let error = definition().try_get_matches_from(&words).unwrap_err();
        match usage(error, &words) {
            StartError::Usage { message, subcommand } => (message, subcommand),
            error => panic!("{error}"),
        }
    }

    #[test]
    fn a_mistake_is_reported_in_printable_characters() {
        for (words, expected) in [
            (&["--\x1b[1m"][..], "unexpected argument '--\\u{1b}[1m' found"),
            (&["--tiemout", "3"], "unexpected argument '--tiemout' found; did you mean '--timeout'?"),
            (
                &["-e"],
                "unexpected argument '-e' found; write -x, or leave it out: an exclusive lock is the default",
            ),
            (
                &["--json"],
                "unexpected argument '--json' found; write it after its subcommand: zklock status --json",
            ),
            (
                &["--naming", "\x1b"],
                "invalid value '\\u{1b}' for '--naming <FAMILY>': it must be one of curator, curator-rw, kazoo",
            ),
            (&["--tls=\n"], "'--tls' takes no value, but got '\\n'"),
            (
                &["--label", "\x1b"],
                "invalid value '\\u{1b}' for '--label <TEXT>': a label has no control characters",
            ),
            (
                &["--slots", "0"],
                "invalid value '0' for '--slots <N>': the number of slots is from 1 to 4294967295",
            ),
            (&["forget", "--json"], "unexpected argument '--json' found"),
            (&["status", "--jsn"], "unexpected argument '--jsn' found; did you mean '--json'?"),
            (&["status", "-r"], "unexpected argument '-r' found; did you mean '--recursive'?"),
            (
                &["check", "--session-timeout", "\n"],
                "invalid value '\\n' for '--session-timeout <SECS>': not a time: write 90, 1.5, 500ms, 30s, 10m, 2h or 1d",
            ),
            (&["status", "-x"], "unexpected argument '-x' found"),
            (&["status", "-w"], "unexpected argument '-w' found"),
            (&["revoke", "-n"], "unexpected argument '-n' found"),
            (
                &["--name", "a"],
                "unexpected argument '--name' found; the PATH names the lock, and --label the contender",
            ),
            (&["--hosts=a"], "unexpected argument '--hosts' found; write -z HOST:PORT,... (--zookeeper)"),
            (
                &["status", "--hosts"],
                "unexpected argument '--hosts' found; write -z HOST:PORT,... (--zookeeper)",
            ),
            (
                &["status", "--all"],
                "unexpected argument '--all' found; leave it out: without a PATH, status shows all locks",
            ),
            (&["forget", "--all"], "unexpected argument '--all' found"),
            (&["--stat"], "unexpected argument '--stat' found"),
            (&["revoke", "-é", "/a"], "unexpected argument '-é' found"),
            (&["--slots"], "a value is required for '--slots <N>' but none was supplied"),
        ] {
            assert_eq!(mistake(words).0, expected);
        }
    }

    #[test]
    fn a_mistake_behind_a_subcommand_names_the_subcommand() {
        for (words, expected) in [
            (&["status", "-r"][..], Some("status")),
            (&["revoke"], Some("revoke")),
            (&["-z", "status", "status", "-r"], Some("status")),
            (&["-r", "status"], None),
            (&["-w", "soon", "status"], None),
            (&["--wait", "status"], None),
            (&["-w", "soon", "/status", "status"], None),
        ] {
            assert_eq!(mistake(words).1.as_deref(), expected, "{words:?}");
        }
    }
}
