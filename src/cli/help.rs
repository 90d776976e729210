//! The short help of `zklock -h`: the most used options, on one screen.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, Error};

use super::definition::{definition, is_given, is_subcommand};
use super::mistake;

/// The ids of the options in the short help, in order.
const MOST_USED: [&str; 11] = [
    "zookeeper",
    "nonblock",
    "timeout",
    "conflict_exit_code",
    "shared",
    "slots",
    "once_per",
    "command",
    "label",
    "verbose",
    "quiet",
];

const BEFORE: &str = "\
Run COMMAND while holding the lock PATH in ZooKeeper, one contender at a time

Usage: zklock [OPTIONS] PATH [--] COMMAND [ARG ...]
       zklock [OPTIONS] PATH PATH ... -- COMMAND [ARG ...]
       zklock [OPTIONS] PATH -c 'SHELL STRING'
       zklock ";

const AFTER: &str = "
Example:    zklock -n -E 0 /locks/backup -- ./backup.sh
Exit codes: the command's own; 123 lock lost, 124 busy, 125 zklock itself failed
More help:  zklock --help, zklock SUBCOMMAND --help
";

/// The words that ask for what `help` or `version`, instead of a subcommand, was meant to ask for.
pub(super) fn as_options(words: &[OsString]) -> Option<Vec<OsString>> {
    // Only options may come before it: after a path, it is a command.
    let is_meant = |word: &OsString| word == "help" || word == "version";
    let at = words.iter().skip(1).position(is_meant)? + 1;
    let (before, rest) = words.split_at_checked(at)?;
    let (word, rest) = rest.split_first()?;
    let is_subcommand = |word: &OsString| is_subcommand(word);
    let behind = before.last().filter(|last| is_subcommand(last));
    let is_help = word == "help";
    // Of a subcommand: `zklock help status`, `zklock status help`.
    let (asked, options) = match (rest, behind) {
        ([subcommand, options @ ..], None) if is_help && is_subcommand(subcommand) => {
            (rest.split_at(1).0, options)
        }
        ([options @ .., subcommand], None) if is_help && is_subcommand(subcommand) => {
            (std::slice::from_ref(subcommand), options)
        }
        ([again, options @ ..], None) if is_help && is_meant(again) => (&[][..], options),
        (options, None) => (&[][..], options),
        ([], Some(_)) if is_help => (&[][..], rest),
        _ => return None,
    };
    // Options may follow: `zklock version -v`.
    let (program, before) = before.split_first()?;
    let options = [before, options].concat();
    let all = [std::slice::from_ref(program), &options].concat();
    if behind.is_none() && !mistake::are_options(&all) {
        return None;
    }
    let option = if is_help { "--help" } else { "--version" };
    Some([&all, asked, &[option.into()]].concat())
}

/// Whether the command line has `-h`, and not after a subcommand.
pub(super) fn is_requested(matches: &ArgMatches) -> bool {
    matches.get_flag("short_help")
}

/// Whether `-h` is before a subcommand without its arguments, which are the mistake: `zklock -h revoke`.
pub(super) fn is_before(mistake: &Error, words: &[OsString]) -> bool {
    let line = || definition().ignore_errors(true).try_get_matches_from(words);
    mistake.kind() == ErrorKind::MissingRequiredArgument
        && line().is_ok_and(|line| is_given(&line, "short_help"))
}

/// The text, generated from the definition.
pub(super) fn short(definition: &Command) -> String {
    let subcommands: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
    let option = |id: &&str| definition.get_arguments().find(|arg| arg.get_id() == *id).map(line);
    let options: String = MOST_USED.iter().filter_map(option).collect();
    format!("{BEFORE}{}\n\n{options}{AFTER}", subcommands.join(" | "))
}

fn line(arg: &Arg) -> String {
    let short = arg.get_short().map_or("   ".to_owned(), |short| format!("-{short},"));
    let value = arg.get_value_names().unwrap_or_default().first();
    let value = value.filter(|_| arg.get_action().takes_values()).map(|value| format!(" <{value}>"));
    let name = format!("{short} --{}{}", arg.get_long().unwrap_or_default(), value.unwrap_or_default());
    format!("  {name:28} {}\n", arg.get_help().map(ToString::to_string).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_fits_one_screen_and_has_every_listed_option() {
        let text = short(&definition());
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(
            text.lines().filter(|line| line.starts_with("  ") && line.contains(" --")).count() - 1,
            MOST_USED.len()
        );
    }

    #[test]
    fn the_full_help_has_groups_in_a_fixed_order() {
        let text = definition().render_long_help().to_string();
        let at = |heading: &str| text.find(&format!("\n{heading}:\n"));
        let places: Vec<_> = ["Locking", "Waiting", "Command", "Connection", "Security", "Output"]
            .map(at)
            .into_iter()
            .collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {text}");
        assert!(!text.contains("\nOptions:\n"), "{text}");
    }

    #[test]
    fn a_subcommand_shows_its_own_options_first_and_alone_in_the_short_help() {
        let mut definition = definition();
        definition.build();
        for subcommand in definition.get_subcommands_mut() {
            let (short, long) =
                (subcommand.render_help().to_string(), subcommand.render_long_help().to_string());
            assert!(!short.contains("--zookeeper"), "{short}");
            let asks_servers = !matches!(subcommand.get_name(), "completions" | "man");
            assert_eq!(long.contains("--tls"), asks_servers, "{long}");
            assert!(long.find("\nOptions:\n") < long.find("\nConnection:\n") || !asks_servers, "{long}");
        }
    }
}
