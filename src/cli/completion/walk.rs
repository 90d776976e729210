//! Walks over the words of an unfinished command line: what they mean decides what can follow.

use clap::{Arg, ArgAction, Command};

use super::{Completion, described, has_long, locks, options, value};

/// A scan of the words before the one to complete.
pub(super) struct Walk<'a> {
    /// The definition of the whole command line, or of the subcommand.
    command: &'a Command,
    is_subcommand: bool,
    /// The next word is the value of this option.
    pub(super) value_of: Option<&'a Arg>,
    /// `--` has ended the options.
    only_words: bool,
    /// There is a shell string (`-c`), so no command follows.
    pub(super) is_string_given: bool,
    /// The number of the subcommand's words that aren't options.
    positionals: usize,
    /// The index of the first lock path.
    pub(super) path: Option<usize>,
    /// The options that say how to reach the servers.
    pub(super) connection: Vec<String>,
}

impl<'a> Walk<'a> {
    /// A scan that has seen no word.
    pub(super) fn new(definition: &'a Command) -> Self {
        Self {
            command: definition,
            is_subcommand: false,
            value_of: None,
            only_words: false,
            is_string_given: false,
            positionals: 0,
            path: None,
            connection: vec![],
        }
    }

    /// Takes in the word of this number.
    pub(super) fn pass(&mut self, index: usize, word: &str) {
        if let Some(arg) = self.value_of.take() {
            self.keep(arg, word);
        } else if word == "--" && !self.only_words {
            self.only_words = true;
        } else if word.len() > 1 && word.starts_with('-') && !self.only_words {
            self.option(word);
        } else if self.is_subcommand {
            self.positionals += 1;
        } else if let Some(subcommand) = self.command.find_subcommand(word) {
            (self.command, self.is_subcommand) = (subcommand, true);
        } else {
            self.path = Some(index);
        }
    }

    /// Takes in a word with a long option, or with one or more short options.
    fn option(&mut self, word: &str) {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let Some(arg) = self.command.get_arguments().find(|arg| has_long(arg, name)) else { return };
            self.keep(arg, word);
            self.value_of = Some(arg).filter(|arg| value.is_none() && arg.get_action().takes_values());
            return;
        }
        for (at, short) in word.char_indices().skip(1) {
            let Some(arg) = self.command.get_arguments().find(|arg| arg.get_short() == Some(short)) else {
                return;
            };
            let rest = &word[at + short.len_utf8()..];
            if arg.get_action().takes_values() {
                // Of several short options in a word, only the last can have a value.
                self.keep(arg, &format!("-{short}{rest}"));
                self.value_of = Some(arg).filter(|_| rest.is_empty());
                return;
            }
            self.keep(arg, &format!("-{short}"));
        }
    }

    /// Records an option or a value if it says how to reach the servers.
    fn keep(&mut self, arg: &Arg, word: &str) {
        self.is_string_given |= arg.get_id() == "command";
        if arg.is_global_set() || arg.get_id() == "verbose" {
            self.connection.push(word.to_owned());
        }
    }

    /// The completions before the first lock path.
    pub(super) fn next(&self, typed: &str) -> Completion {
        if typed.starts_with('-') && !self.only_words {
            return match typed.strip_prefix("--").and_then(|long| long.split_once('=')) {
                Some((name, _)) => {
                    let arg = self.command.get_arguments().find(|arg| has_long(arg, name));
                    arg.map(|arg| value(arg, &format!("--{name}="))).unwrap_or_default()
                }
                None => options(self.command),
            };
        }
        if !self.is_subcommand {
            let subcommand =
                |subcommand: &Command| (subcommand.get_name().to_owned(), described(subcommand.get_about()));
            return Completion {
                words: self.command.get_subcommands().map(subcommand).collect(),
                ..locks(typed)
            };
        }
        let positionals: Vec<&Arg> = self.command.get_positionals().collect();
        let last = positionals.last().filter(|arg| matches!(arg.get_action(), ArgAction::Append));
        match positionals.get(self.positionals).or(last) {
            Some(arg) if arg.get_possible_values().is_empty() => locks(typed),
            Some(arg) => value(arg, ""),
            None => Completion::default(),
        }
    }
}
