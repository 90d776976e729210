//! Finds the possible completions of an unfinished command line.

mod walk;

use clap::{Arg, Command};

use self::walk::Walk;
use super::definition;

/// The first argument of a call by a completion script. It isn't a subcommand, because users never type it.
const REQUEST: &str = "__complete";

/// The signals that are offered for `--signal`, which accepts every signal.
const SIGNALS: [&str; 9] = ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "KILL", "RTMIN", "RTMAX"];

/// The possible completions of a word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// Words, each with a description.
    pub words: Vec<(String, String)>,
    /// The beginning of a lock path, if the word can be one.
    pub lock: Option<String>,
    /// The completions that the shell itself adds.
    pub shell: ByShell,
    /// The shared options on the line, which say how to reach the servers.
    pub connection: Vec<String>,
}

/// The completions that the shell itself adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ByShell {
    /// Nothing.
    #[default]
    Nothing,
    /// The name of a file.
    Files,
    /// The words of a command that begins with the word of this number, counted from 0.
    Command(usize),
}

/// The line to complete, up to the cursor, if this is a call by a completion script.
pub fn completion_request(words: &[std::ffi::OsString]) -> Option<Vec<String>> {
    let line = words.get(1).filter(|word| *word == REQUEST).and_then(|_| words.get(2..))?;
    Some(line.iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// The possible completions of the last word of `line`, whose first word is zklock.
pub fn complete(line: &[String]) -> Completion {
    let mut definition = definition();
    definition.build();
    let Some((typed, before)) = line.split_last() else { return Completion::default() };
    let mut walk = Walk::new(&definition);
    for (index, word) in before.iter().enumerate().skip(1) {
        walk.pass(index, word);
        if walk.path.is_some() {
            break;
        }
    }
    let mut found = match (walk.value_of, walk.path) {
        (Some(arg), _) => value(arg, ""),
        (None, Some(path)) => after_path(path, before, typed, walk.is_string_given),
        (None, None) => walk.next(typed),
    };
    found.words.retain(|(word, _)| word.starts_with(typed.as_str()));
    found.connection = walk.connection;
    found
}

/// The completions after the first lock path, which is the word number `path`.
fn after_path(path: usize, before: &[String], typed: &str, is_string_given: bool) -> Completion {
    let rest = before.get(path + 1..).unwrap_or_default();
    let paths = rest.iter().take_while(|word| word.starts_with('/')).count();
    let command = |at: usize| ByShell::Command(path + 1 + at);
    let word = |word: &str, text: &str| (word.to_owned(), text.to_owned());
    match rest.get(paths).map(String::as_str) {
        _ if is_string_given => locks(typed),
        Some("--") => Completion { shell: command(paths + 1), ..Completion::default() },
        Some("-c" | "--command") if paths == 0 => Completion::default(),
        None if typed.starts_with('-') => {
            let string = word("-c", "Run a string by /bin/sh");
            let words =
                std::iter::once(word("--", "The command follows")).chain((paths == 0).then_some(string));
            Completion { words: words.collect(), ..Completion::default() }
        }
        // The word may be another lock or the command.
        None if typed.starts_with('/') => Completion { shell: command(0), ..locks(typed) },
        _ => Completion { shell: command(0), ..Completion::default() },
    }
}

fn locks(typed: &str) -> Completion {
    let lock = (typed.is_empty() || typed.starts_with('/')).then(|| typed.to_owned());
    Completion { lock, ..Completion::default() }
}

/// The values of an option, each after `prefix`.
fn value(arg: &Arg, prefix: &str) -> Completion {
    let listed = arg.get_possible_values();
    let known: Vec<&str> = match arg.get_id().as_str() {
        "signal" => SIGNALS.to_vec(),
        "acl" => vec!["open", "creator"],
        _ => listed.iter().map(clap::builder::PossibleValue::get_name).collect(),
    };
    let is_file = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.as_str() == "FILE"));
    let shell = if is_file { ByShell::Files } else { ByShell::Nothing };
    let words = known.into_iter().map(|value| (format!("{prefix}{value}"), String::new())).collect();
    Completion { words, shell, ..Completion::default() }
}

fn options(command: &Command) -> Completion {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
    let names = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let help = described(arg.get_help());
        arg.get_short()
            .map(|short| format!("-{short}"))
            .into_iter()
            .chain(long)
            .map(move |name| (name, help.clone()))
    };
    Completion {
        words: shown.flat_map(|arg| names(arg).collect::<Vec<_>>()).collect(),
        ..Completion::default()
    }
}

fn has_long(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
}

fn described(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Completion {
        complete(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    fn words(line: &str) -> Vec<String> {
        typed(line).words.into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn subcommands_and_options_are_completed_where_they_can_stand() {
        assert_eq!(
            words("zklock "),
            ["status", "revoke", "wait", "check", "forget", "completions", "man", "help"]
        );
        assert_eq!(words("zklock -n -w 5 re"), ["revoke"]);
        assert_eq!(words("zklock --ti"), ["--timeout"]);
        assert_eq!(words("zklock status --re"), ["--recursive"]);
        assert_eq!(words("zklock revoke --f"), ["--force"]);
        assert_eq!(words("zklock revoke --zoo"), ["--zookeeper"]);
        assert!(words("zklock /a --ti").is_empty() && words("zklock -- st").contains(&"status".to_owned()));
    }

    #[test]
    fn values_are_completed_after_a_space_and_after_an_equals_sign() {
        assert_eq!(words("zklock completions "), ["bash", "zsh", "fish"]);
        assert_eq!(words("zklock --naming cur"), ["curator", "curator-rw"]);
        assert_eq!(words("zklock --naming=k"), ["--naming=kazoo"]);
        assert_eq!(words("zklock --signal US"), ["USR1", "USR2"]);
        assert_eq!(words("zklock --signal RT"), ["RTMIN", "RTMAX"]);
        assert_eq!(typed("zklock --tls-ca /e").shell, ByShell::Files);
        assert_eq!(typed("zklock --tls-ca=/e").shell, ByShell::Files);
        assert_eq!(typed("zklock -w ").shell, ByShell::Nothing);
        assert!(words("zklock --wait s").is_empty() && words("zklock -nw s").is_empty());
    }

    #[test]
    fn the_command_is_completed_by_the_shell() {
        for (line, at) in [
            ("zklock /a ", 2),
            ("zklock -n /a l", 3),
            ("zklock -w 5 /a -- l", 5),
            ("zklock /a git chec", 2),
            ("zklock /a /b -- git ", 4),
            ("zklock /a git -- -", 2),
            ("zklock /a /bin/l", 2),
        ] {
            assert_eq!(typed(line).shell, ByShell::Command(at), "{line}");
        }
        assert_eq!(words("zklock /a -"), ["--", "-c"]);
        assert_eq!(typed("zklock /a -c l"), Completion::default());
    }

    #[test]
    fn lock_paths_are_completed_where_one_can_stand() {
        for (line, lock) in [
            ("zklock ", Some("")),
            ("zklock /lo", Some("/lo")),
            ("zklock -nw 5 /lo", Some("/lo")),
            ("zklock status /a /lo", Some("/lo")),
            ("zklock revoke /lo", Some("/lo")),
            ("zklock revoke /a /lo", None),
            ("zklock /a /lo", Some("/lo")),
            ("zklock -c x /a /lo", Some("/lo")),
            ("zklock /a ls /lo", None),
            ("zklock -w /lo", None),
            ("zklock man /", None),
            ("zklock completions /", None),
        ] {
            assert_eq!(typed(line).lock.as_deref(), lock, "{line}");
        }
    }

    #[test]
    fn options_for_the_connection_are_kept() {
        let kept = |line: &str| typed(line).connection.join(" ");
        assert_eq!(kept("zklock -z h:1 -n -w 5 --tls-ca=f /"), "-z h:1 --tls-ca=f");
        assert_eq!(kept("zklock -nqzh:1 status --json --config c /"), "-q -zh:1 --config c");
        assert_eq!(kept("zklock -z h:1 /a ls -z x"), "-z h:1");
    }
}
