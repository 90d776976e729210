//! Messages on stderr: stdout belongs to the command.

mod json;
mod line;
mod narrow;
mod output;

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;

use anyhow::Result;
use clap::error::ErrorKind;
use env_logger::Target;
use log::{Level, LevelFilter};

pub use self::line::WaitingLine;
pub use self::output::{drain, drain_at_the_end, drain_before_others, mute, queue_output};
use super::stdout;
use crate::cli::{LogFormat, StartError, mistake, mistaken_verb};
use crate::core::exit::{self, Exit};
use crate::core::message::{self, Message};
use crate::core::pair::OwnedNode;
use crate::core::path::LockPath;
use crate::core::text::{escaped_lines, without_controls};

/// The variable that overrides the log levels, in `env_logger`'s syntax.
const LOG: &str = "RUST_LOG";

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// Sets up the log: `verbose` is the number of `-v` options. `RUST_LOG` overrides both `verbose` and `quiet`.
pub fn init(verbose: u8, quiet: bool, format: LogFormat) {
    let _ = FORMAT.set(format);
    let (own, library) = match verbose {
        _ if quiet => (LevelFilter::Error, LevelFilter::Off),
        0 => (LevelFilter::Warn, LevelFilter::Off),
        1 => (LevelFilter::Info, LevelFilter::Off),
        2 => (LevelFilter::Debug, LevelFilter::Debug),
        _ => (LevelFilter::Trace, LevelFilter::Trace),
    };
    let filters = env::var(LOG).ok();
    // env_logger would report an invalid value itself, and not in zklock's format.
    let (filters, mistake) =
        match filters.map(|text| (env_filter::Builder::new().try_parse(&text).is_ok(), text)) {
            Some((false, text)) => (None, Some(text)),
            filters => (filters.map(|(_, text)| text), None),
        };
    env_logger::Builder::new()
        .filter_level(LevelFilter::Off)
        .filter_module("zklock", own)
        .filter_module("zookeeper_client", library)
        .parse_filters(filters.as_deref().unwrap_or_default())
        .target(Target::Pipe(Box::new(io::sink())))
        .format(|_, record| {
            let (level, target, text) = (record.level(), record.target(), record.args());
            let line = if is_json() {
                json::log_record(level, target, &text.to_string())
            } else if level <= Level::Info && target.starts_with("zklock") {
                format!("zklock: {}\n", escaped_lines(&text.to_string()))
            } else {
                // The client library logs text from servers, which may contain control characters.
                let text = without_controls(&text.to_string());
                format!("zklock: {} {target}: {text}\n", level.as_str().to_lowercase())
            };
            output::text(level, line.into_bytes());
            Ok(())
        })
        .init();
    if let Some(text) = mistake {
        log::warn!("{LOG}: {text}: not a list of TARGET=LEVEL; ignored");
    }
}

/// Reports why zklock doesn't start, and returns its exit code: 0 for help and version, which go to stdout, and
/// otherwise 125.
pub fn report_start_error(error: &StartError) -> Exit {
    match error {
        StartError::Usage(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            return shown(stdout::print_by(|| error.print()));
        }
        StartError::ShortHelp(text) => return shown(stdout::print(text.as_bytes())),
        StartError::Usage(error) => usage(error),
        StartError::Variable(..) | StartError::Config(_) => {
            drop(writeln!(io::stderr(), "zklock: {}", escaped_lines(&error.to_string())));
        }
    }
    Exit::Code(exit::FAILURE)
}

/// The exit code for help that was written to stdout, or an error that is reported here.
fn shown(printed: Result<Exit>) -> Exit {
    printed.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "zklock: {error}");
        Exit::Code(exit::FAILURE)
    })
}

/// Reports a mistake on the command line in one line, and where to find help.
fn usage(error: &clap::Error) {
    let help = mistaken_verb(error).map_or_else(String::new, |verb| format!("{verb} "));
    let _ = writeln!(io::stderr(), "zklock: {}\nzklock: see 'zklock {help}--help'", mistake(error));
}

/// Writes a message of a run about the lock `path`; `own` is zklock's node there.
pub fn say(path: &LockPath, own: Option<&OwnedNode>, message: &Message) {
    let level = match message.level() {
        message::Level::Error => Level::Error,
        message::Level::Warning | message::Level::Notice => Level::Warn,
        message::Level::Step => Level::Info,
        message::Level::Debug => Level::Debug,
    };
    if is_json() {
        let shown_from = if message.is_milestone() { level.min(Level::Warn) } else { level };
        if log::log_enabled!(shown_from) {
            output::text(level, json::run_message(path, own, message).into_bytes());
        }
    } else if level == Level::Debug {
        log::debug!("{message}");
    } else {
        write_message(level, path, message);
    }
}

fn write_message(level: Level, path: &LockPath, text: impl Display) {
    if !is_json() {
        log::log!(level, "{path}: {text}");
    } else if log::log_enabled!(level) {
        output::text(level, json::lock_message(level, path, &text.to_string()).into_bytes());
    }
}

/// Reports a step, which is shown with `-v`.
pub fn step(path: &LockPath, text: impl Display) {
    write_message(Level::Info, path, text);
}

/// Reports a problem in spite of which zklock continues.
pub fn warn(path: &LockPath, text: impl Display) {
    write_message(Level::Warn, path, text);
}

/// Starts a new line on the screen, so that the waiting line isn't overwritten. JSON output has no waiting line.
pub fn new_line() {
    if !is_json() {
        output::text(Level::Error, b"\n".to_vec());
    }
}

/// Reports a problem that ends zklock.
pub fn error(path: &LockPath, text: impl Display) {
    write_message(Level::Error, path, text);
}
