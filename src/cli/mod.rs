//! The command line, parsed and checked before zklock does anything else.

mod definition;
mod invocation;
mod lock;
mod plan;
mod subcommands;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use toml::Value;
use zklock_core::text::{escaped, without_password};

pub use self::definition::{Options, definition};
pub use self::invocation::InvocationError;
pub use self::lock::LockOptions;
pub use self::subcommands::{
    CheckOptions, CompletionsOptions, ForgetOptions, ManOptions, RevokeOptions, StatusOptions, Subcommand,
    WaitOptions,
};
use crate::config::{AUTH, Config, SETTINGS, SWITCHES};

/// Parses the command line `words`, of which the first is the program, with the settings of files and variables.
///
/// # Errors
/// If a value is invalid, even one that is overridden; or clap's own error for a request for help.
pub fn parse(words: &[OsString]) -> Result<Options> {
    let is_named = |word: &OsString| word.to_str().is_some_and(|word| word == "help" || is_subcommand(word));
    let definition =
        || if words.iter().any(is_named) { definition() } else { definition::without_subcommands() };
    let line =
        definition().try_get_matches_from(words).or_else(|_| self::definition().try_get_matches_from(words));
    let line = line.map_err(explain)?;
    // A broken configuration file doesn't affect a subcommand that doesn't need it.
    let mut config = match line.subcommand_name() {
        Some("completions" | "man") => Config::default(),
        _ => Config::read(line.get_one("config").map(PathBuf::as_path))?,
    };
    if is_on(&line, "verbose") || is_on(&line, "quiet") {
        config.remove("verbose");
        config.remove("quiet");
    }
    if is_on(&line, "auth_file") {
        config.set_auth("", vec![]);
    }
    let settings: Vec<_> = config.options().collect();
    let mut all = line.clone();
    if !settings.is_empty() {
        let options = settings.iter().map(|(.., option)| option);
        let words = words.iter().take(1).chain(options).chain(words.iter().skip(1));
        all = definition().try_get_matches_from(words).map_err(|error| blame(error, &settings))?;
    }
    let mut options = Options::from_arg_matches(&all).map_err(explain)?;
    if let Some((_, behind)) = all.subcommand() {
        options.verbose = options.verbose.saturating_add(behind.get_count("verbose"));
        options.subcommand = Some(Subcommand::from_arg_matches(&all).map_err(explain)?);
    }
    match &mut options.subcommand {
        Some(Subcommand::Revoke(revoke)) => revoke.check_node()?,
        Some(Subcommand::Status(status)) if status.show_config => {
            options.shown_config = shown(&line, &all, options.verbose, &config);
        }
        _ => {}
    }
    let is_overridden = |key: &str| is_on(&line, &id(key));
    let places = settings.into_iter().map(|(key, place, _)| (key, place));
    options.connection.places = places.filter(|(key, _)| !is_overridden(key)).collect();
    options.connection.auth = config.auth;
    options.connection.sets_connect_timeout = is_on(&all, "connect_timeout");
    options.unreachable_files = config.unreachable;
    Ok(options)
}

fn is_subcommand(word: &str) -> bool {
    <Subcommand as clap::Subcommand>::has_subcommand(word)
}

/// Whether the option with this id is on the line.
fn is_on(line: &ArgMatches, id: &str) -> bool {
    let is_given = |part: &ArgMatches| {
        part.try_contains_id(id).is_ok() && part.value_source(id) == Some(ValueSource::CommandLine)
    };
    is_given(line) || line.subcommand().is_some_and(|(_, behind)| is_given(behind))
}

fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// The error about the setting that clap refuses, with its place.
fn blame(error: clap::Error, settings: &[(&str, String, OsString)]) -> anyhow::Error {
    let refused =
        |option: &OsString| definition().try_get_matches_from([&OsString::from("zklock"), option]).err();
    match settings.iter().find_map(|(_, place, option)| Some((place, refused(option)?))) {
        Some((place, error)) => anyhow!("{place}: {}", one_line(&error)),
        None => explain(error),
    }
}

/// clap's error as zklock's; a request for help as it is.
fn explain(error: clap::Error) -> anyhow::Error {
    if error.use_stderr() {
        anyhow!("{}\nzklock: for more information, try '--help'", one_line(&error))
    } else {
        error.into()
    }
}

/// clap's message as one line in printable characters, with its tips and without its usage.
fn one_line(error: &clap::Error) -> String {
    let mut text = error.to_string();
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        text = text.replace(value, &without_password(value));
    }
    let lines = text.trim_start_matches("error: ").lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("Usage: ") && !line.starts_with("For more "));
    // No lock path looks like an option.
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass '"));
    escaped(lines.collect::<Vec<_>>().join(" ").replace(" tip: ", "; ").as_bytes())
}

/// A configuration file with the settings in effect, and the source of each as a comment. Defaults, and settings without a
/// value or with a hidden one, are comments.
fn shown(line: &ArgMatches, all: &ArgMatches, verbose: u8, config: &Config) -> String {
    let text = |id: &str| {
        let value = all.get_raw(id)?.next_back()?.to_string_lossy().into_owned();
        Some(Value::String(value).to_string())
    };
    let row = |&key: &&'static str| {
        let id = id(key);
        let value = match key {
            "verbose" => Some(verbose.to_string()),
            _ if SWITCHES.contains(&key) => Some(all.get_flag(&id).to_string()),
            _ => text(&id),
        };
        let source = if is_on(line, &id) { "command line" } else { config.source(key).unwrap_or("default") };
        match value {
            None => (format!("# {key} is not set"), source),
            Some(value) if source == "default" => (format!("# {key} = {value}"), source),
            Some(value) => (format!("{key} = {value}"), source),
        }
    };
    let auth = match config.source(AUTH) {
        Some(source) => (format!("# {AUTH} is hidden; copy it from there"), source),
        None => (format!("# {AUTH} is not set"), "default"),
    };
    let rows: Vec<_> = SETTINGS.iter().map(row).chain([auth]).collect();
    let width = rows.iter().map(|(setting, _)| setting.len()).max().unwrap_or_default();
    let lines = rows.iter().map(|(setting, source)| format!("{setting:width$}  # {source}"));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parsed(line: &str) -> Result<Options> {
        let words: Vec<OsString> =
            format!("zklock --config /dev/null {line}").split(' ').map(Into::into).collect();
        parse(&words)
    }

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
        definition::without_subcommands().debug_assert();
    }

    #[test]
    fn every_option_that_a_help_shows_is_accepted_there() {
        let mut definition = definition();
        definition.build();
        let mut tried = 0;
        for subcommand in ["", "status", "revoke", "check", "forget", "wait"] {
            let command = definition.find_subcommand(subcommand).unwrap_or(&definition);
            for arg in command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set()) {
                let paths = match (arg.get_id().as_str(), subcommand) {
                    ("help" | "version", _) => continue,
                    ("show_config", _) => vec![],
                    ("command", _) | (_, "status" | "revoke" | "check" | "forget" | "wait") => vec!["/l"],
                    _ => vec!["/l", "true"],
                };
                let value = match arg.get_id().as_str() {
                    _ if !arg.get_action().takes_values() => None,
                    "naming" => Some("curator-rw"),
                    "signal" => Some("INT"),
                    "zookeeper" => Some("h:1"),
                    "config" => Some("/dev/null"),
                    "acl" => Some("open"),
                    "log_format" => Some("json"),
                    _ => Some("20"),
                };
                let long = arg.get_long_and_visible_aliases().unwrap_or_default();
                let short = arg.get_short_and_visible_aliases().unwrap_or_default();
                let long = long.iter().map(|name| format!("--{name}"));
                for name in long.chain(short.iter().map(|name| format!("-{name}"))) {
                    let words = [subcommand, &name].into_iter().filter(|word| !word.is_empty());
                    let words: Vec<&str> = words.chain(value).chain(paths.iter().copied()).collect();
                    assert!(parsed(&words.join(" ")).is_ok(), "{words:?}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 100, "only {tried} were tried");
    }

    #[test]
    fn options_end_at_the_first_path() {
        let options = parsed("-n /a ls -n -- -v").unwrap();
        assert!(options.lock.nonblock && options.verbose == 0);
        assert!(options.lock.invocation().is_ok_and(|invocation| invocation.arguments.len() == 3));
    }

    #[test]
    fn the_last_of_a_repeated_option_counts() {
        let options = parsed("-w 3 --wait 4.5 /a true");
        assert!(options.is_ok_and(|options| options.lock.timeout == Some(Duration::from_millis(4500))));
    }

    #[test]
    fn unknown_options_are_refused_and_not_taken_for_a_path() {
        assert!(parsed("--nonsense /a true").is_err());
        assert!(parsed("-Z /a true").is_err());
    }

    #[test]
    fn a_subcommand_is_distinguished_from_a_path_and_a_command() {
        let subcommand = |line| parsed(line).unwrap().subcommand;
        assert!(matches!(subcommand("status"), Some(Subcommand::Status(_))));
        assert!(matches!(subcommand("-z h:1 status --json /a"), Some(Subcommand::Status(_))));
        assert!(matches!(subcommand("revoke /a --force"), Some(Subcommand::Revoke(_))));
        assert!(subcommand("/a status").is_none());
        assert!(subcommand("/status -- revoke /a").is_none());
    }

    #[test]
    fn what_every_subcommand_has_may_stand_before_it_and_behind_it() {
        for (line, verbose) in
            [("-z h:1 -vv status", 2), ("-z h:2 -v status -z h:1 -vvv", 4), ("status -z h:1", 0)]
        {
            let options = parsed(line).unwrap();
            let servers = options.connection.zookeeper.to_string();
            assert_eq!((servers.as_str(), options.verbose), ("h:1", verbose), "{line}");
        }
    }
}
