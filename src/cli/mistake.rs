//! Messages for mistakes on the command line and in variables.

use std::env;
use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::parser::ValueSource;

use super::{StartError, VERBS_WITHOUT_SERVERS, definition, other_tools};
use crate::config::{self, ConfigError, context};
use crate::core::text::escaped;

/// The message for an error of clap's, in printable characters, with a remedy.
pub fn text(error: &Error) -> String {
    let argument = context(error, ContextKind::InvalidArg);
    match (error.kind(), argument) {
        (ErrorKind::UnknownArgument, Some(argument)) => {
            let verb = verb(error);
            let by_letter = || long_option(verb.as_deref()?, argument);
            let suggested = context(error, ContextKind::SuggestedArg).map(str::to_owned).or_else(by_letter);
            let similar = || suggested.map(|option| format!("did you mean '{option}'?"));
            // These remedies are about the command line of a lock, not of a verb.
            let of_a_lock = if verb.is_none() { other_tools::option(argument) } else { None };
            let remedy = of_a_lock.or_else(similar).map(|remedy| format!("; {remedy}"));
            format!("unexpected argument '{}' found{}", shown(argument), remedy.unwrap_or_default())
        }
        _ => config::mistake(error),
    }
}

/// The verb's own option that begins with the letter of `short`, if there is one: a verb's options have no short form.
fn long_option(verb: &str, short: &str) -> Option<String> {
    let letter = short.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-")?;
    let definition = definition();
    let verb = definition.find_subcommand(verb)?;
    let own = verb.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
    let mut found = own.filter_map(|arg| arg.get_long()).filter(|long| long.starts_with(letter));
    let option = found.next()?;
    found.next().is_none().then(|| format!("--{option}"))
}

/// The verb on whose command line the error is, as clap's usage line names it.
pub fn verb(error: &Error) -> Option<String> {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else {
        return None;
    };
    let usage = usage.to_string();
    let word = usage.split_whitespace().skip_while(|word| *word != "zklock").nth(1)?;
    definition().find_subcommand(word).map(|verb| verb.get_name().to_owned())
}

/// Attributes an error to the variable without which it doesn't occur, if there is one, or else to the command line.
pub(super) fn attribute(error: Error, words: &[OsString]) -> StartError {
    let definition = definition();
    for arg in definition.get_arguments() {
        let Some((variable, value)) = arg.get_env().and_then(|name| Some((name, env::var_os(name)?))) else {
            continue;
        };
        let without = definition.clone().mut_arg(arg.get_id().as_str(), |arg| arg.env(None::<&str>));
        match without.try_get_matches_from(words) {
            Err(other) if text(&other) == text(&error) => {}
            _ => {
                let why = config::accepts(arg, &value, &value).err().unwrap_or_else(|| text(&error));
                return StartError::Variable(variable.display().to_string(), why);
            }
        }
    }
    with_verb(error, words).into()
}

/// Adds the usage line of the verb behind which the error is: clap has none for a value that is invalid or missing.
fn with_verb(mut error: Error, words: &[OsString]) -> Error {
    if error.get(ContextKind::Usage).is_none()
        && let Some(verb) = verb_before(&error, words)
    {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(format!("Usage: zklock {verb}").into()));
    }
    error
}

/// The verb among these words, unless the error is in the words before it.
fn verb_before(error: &Error, words: &[OsString]) -> Option<String> {
    let matches = definition().ignore_errors(true).try_get_matches_from(words).ok()?;
    let verb = matches.subcommand_name()?;
    let before = words.iter().take_while(|word| *word != verb);
    let is_before = definition().try_get_matches_from(before).is_err_and(|other| text(&other) == text(error));
    (!is_before).then(|| verb.to_owned())
}

/// Finds an option whose variable is invalid but not needed, because the command line has another value or a verb
/// without servers. clap refuses the variable even then if the option comes after a verb. Returns the option's id, and
/// the matches without the variable.
pub(super) fn overridden_variable(words: &[OsString]) -> Option<(String, ArgMatches)> {
    let definition = definition();
    let variables = definition
        .get_arguments()
        .filter(|arg| arg.get_env().is_some_and(|name| env::var_os(name).is_some()));
    variables.map(|arg| arg.get_id().to_string()).find_map(|option| {
        let without = definition.clone().mut_arg(&option, |arg| arg.env(None::<&str>));
        let matches = without.try_get_matches_from(words).ok()?;
        let is_given = |matches: &ArgMatches| {
            matches.try_contains_id(&option).is_ok()
                && matches.value_source(&option) == Some(ValueSource::CommandLine)
        };
        let is_used = match matches.subcommand() {
            Some((verb, _)) if VERBS_WITHOUT_SERVERS.contains(&verb) => false,
            Some((_, of_verb)) => !is_given(of_verb) && !is_given(&matches),
            None => !is_given(&matches),
        };
        (!is_used).then_some((option, matches))
    })
}

/// Attributes an unreadable configuration file to the variable that names it, if one does.
pub(super) fn attribute_config(error: ConfigError, matches: &ArgMatches) -> StartError {
    let is_by_variable = matches.value_source("config") == Some(ValueSource::EnvVariable);
    match error {
        ConfigError::Unreadable { .. } if is_by_variable => {
            StartError::Variable("ZKLOCK_CONFIG".to_owned(), error.to_string())
        }
        error => error.into(),
    }
}

fn shown(text: &str) -> String {
    escaped(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[&str]) -> String {
        let words = std::iter::once("zklock").chain(words.iter().copied());
        definition().try_get_matches_from(words).map_or_else(|error| text(&error), |_| String::new())
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
                "unexpected argument '--json' found; it goes behind its verb: zklock status --json",
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
            (&["status", "-x"], "unexpected argument '-x' found"),
            (&["revoke", "-é", "/a"], "unexpected argument '-é' found"),
            (&["--slots"], "a value is required for '--slots <N>' but none was supplied"),
        ] {
            assert_eq!(message(words), expected);
        }
    }

    #[test]
    fn a_mistake_behind_a_verb_names_the_verb() {
        for (words, expected) in [
            (&["zklock", "status", "-r"][..], Some("status")),
            (&["zklock", "revoke"], Some("revoke")),
            (&["zklock", "--wait", "status"], None),
            (&["zklock", "-w", "soon", "/status", "status"], None),
        ] {
            let error = definition().try_get_matches_from(words).unwrap_err();
            assert_eq!(verb(&error).as_deref(), expected, "{words:?}");
        }
    }
}
