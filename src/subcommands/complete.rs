//! Completions by clap's own engine, with the servers' nodes as lock paths. The scripts that `zklock completions` prints
//! call zklock with a variable that names the shell.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use zklock_core::queue::name::Name;
use zklock_core::queue::once::recorded_lock;

use super::session::in_session;
use crate::cli::{definition, parse};
use crate::ensemble::Request;

/// The variable of a call by a completion script.
const VARIABLE: &str = "ZKLOCK_COMPLETE";

/// The longest time to connect, because a user is waiting at the prompt, and for a session that is left behind.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
const SESSION_LIMIT: Duration = Duration::from_secs(2);

/// Answers a completion script; returns whether one has called.
pub fn complete() -> bool {
    let directory = env::current_dir().ok();
    let env = CompleteEnv::with_factory(completing).var(VARIABLE);
    let is_other = matches!(env.try_complete(env::args_os(), directory.as_deref()), Ok(false));
    if !is_other {
        // A shell that can't be answered isn't told why.
        let _ = io::stdout().flush();
    }
    !is_other
}

/// The completion script for a shell.
pub(super) fn script(shell: &str) -> Result<Vec<u8>> {
    let mut script = vec![];
    if let Some(shell) = Shells::builtins().completer(shell) {
        shell.write_registration(VARIABLE, "zklock", "zklock", "zklock", &mut script)?;
    }
    if shell == "zsh" {
        // zsh loads the file when it first needs it.
        script.extend(b"[[ $funcstack[1] != _zklock ]] || _clap_dynamic_completer_zklock\n");
    }
    Ok(script)
}

fn completing() -> Command {
    if !locks_and_command().is_empty() {
        // zklock's options and subcommands don't stand here.
        let words = Arg::new("words").num_args(0..).allow_hyphen_values(true);
        let words = words.add(ArgValueCompleter::new(lock_or_command));
        return Command::new("zklock").disable_help_flag(true).arg(words);
    }
    let command = definition().mut_arg("words", |arg| arg.add(ArgValueCompleter::new(lock_paths)));
    command.mut_subcommands(|subcommand| {
        subcommand.mut_args(|arg| match arg.get_id().as_str() {
            "path" | "paths" => arg.add(ArgValueCompleter::new(lock_paths)),
            _ => arg,
        })
    })
}

/// What may stand behind the first lock path: another one, a program, or a file.
fn lock_or_command(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = PathCompleter::any().complete(typed);
    match locks_and_command().last() {
        Some(path) if path.as_encoded_bytes().starts_with(b"/") => {
            found.extend(lock_paths(typed));
            found.extend(programs(typed));
        }
        Some(word) if word == "--" => found.extend(programs(typed)),
        _ => {}
    }
    found
}

/// The programs in `PATH` whose names begin so.
fn programs(typed: &OsStr) -> impl Iterator<Item = CompletionCandidate> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).filter_map(|directory| directory.read_dir().ok());
    let names = directories.flatten().flatten().map(|entry| entry.file_name());
    let is_meant = |name: &OsString| name.as_encoded_bytes().starts_with(typed.as_encoded_bytes());
    let names: BTreeSet<_> = names.filter(|name| !typed.is_empty() && is_meant(name)).collect();
    names.into_iter().map(CompletionCandidate::new)
}

/// The nodes below the last slash that is typed, except those of contenders. Of a lock that nobody uses now, only the record
/// of a success may be left.
fn lock_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let parent = typed.rsplit_once('/').map_or("", |(parent, _)| parent);
    // If no server can be reached, no paths are offered.
    let children = children(parent).unwrap_or_default();
    let names = children.iter().filter(|child| Name::parse(child).is_none());
    let names: BTreeSet<&str> = names.map(|child| recorded_lock(child).unwrap_or(child)).collect();
    let paths =
        names.into_iter().map(|name| format!("{parent}/{name}")).filter(|path| path.starts_with(&*typed));
    paths.map(CompletionCandidate::new).collect()
}

fn children(parent: &str) -> Result<Vec<String>> {
    let mut options = parse(&[line_before(), vec!["/-".into()]].concat())?;
    // Nothing is shown while it connects.
    options.is_json = true;
    options.connection.connect_timeout = CONNECT_LIMIT.min(options.connection.connect_timeout);
    options.connection.session_timeout = SESSION_LIMIT;
    let parent = if parent.is_empty() { "/" } else { parent };
    in_session(&options, |session| Ok(session.ask::<Vec<_>>(Request::List(parent.into()))??))
}

/// The words that are typed behind the options.
fn locks_and_command() -> Vec<OsString> {
    let line = definition().ignore_errors(true).try_get_matches_from(line_before());
    let words = |line: ArgMatches| Some(line.get_many("words")?.cloned().collect());
    line.ok().and_then(words).unwrap_or_default()
}

/// The words before the one to complete.
fn line_before() -> Vec<OsString> {
    let line: Vec<_> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let index = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    let (mut words, mut is_open) = (Vec::<OsString>::new(), false);
    for word in line.iter().take(index.unwrap_or(line.len().saturating_sub(1))) {
        // bash splits words at these.
        let is_part = word == ":" || word == "=";
        match words.last_mut() {
            Some(last) if is_part || is_open => last.push(word),
            _ => words.push(word.clone()),
        }
        is_open = is_part;
    }
    words
}
