//! Messages on stderr: stdout belongs to the command.

mod buffer;
mod json;
mod line;
pub mod stdout;

use std::fmt::Display;
use std::sync::OnceLock;
use std::{io, panic};

use env_logger::Target;
use log::{Level, LevelFilter};
use zklock_core::message::{self, Message};
use zklock_core::path::LockPath;
use zklock_core::protocol::LockNode;
use zklock_core::text::{escaped_lines, without_controls};

pub use self::buffer::{AT_THE_END, BRIEFLY, WHILE_HELD, drain, mute, queue_output};
pub use self::line::{can_draw_line, draw_line, erase_line};

/// The variable that overrides the log levels, in `env_logger`'s syntax.
const LOG: &str = "RUST_LOG";

/// Whether messages are written as JSON.
static JSON: OnceLock<bool> = OnceLock::new();

fn is_json() -> bool {
    JSON.get() == Some(&true)
}

/// Reports a panic like any other message: the standard library would write it directly, and so wait for whoever doesn't
/// read stderr.
fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        queue_output();
        log::error!("{panic}");
        drain(BRIEFLY);
    }));
}

/// Sets up the log: `verbose` is the number of `-v` options. `RUST_LOG` with a target of zklock
/// overrides both `verbose` and `quiet`.
pub fn init(verbose: u8, quiet: bool, as_json: bool) {
    let _ = JSON.set(as_json);
    report_panics();
    let (own, library) = match verbose {
        _ if quiet => (LevelFilter::Error, LevelFilter::Off),
        0 => (LevelFilter::Warn, LevelFilter::Off),
        1 => (LevelFilter::Info, LevelFilter::Off),
        2 => (LevelFilter::Debug, LevelFilter::Debug),
        _ => (LevelFilter::Trace, LevelFilter::Trace),
    };
    env_logger::Builder::new()
        .filter_level(LevelFilter::Off)
        .filter_module("zklock", own)
        .filter_module("zookeeper_client", library)
        .parse_env(LOG)
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
            buffer::text(importance(level), line.into_bytes());
            Ok(())
        })
        .init();
}

/// Writes a message of a run about the lock `path`; `own` is zklock's node there.
pub fn say(path: &LockPath, own: Option<&LockNode>, message: &Message) {
    let mut message = message.clone();
    if let Some(text) = message.text_alone.take().filter(|_| !log::log_enabled!(Level::Warn)) {
        message.text = text;
    }
    let level = message.level;
    if is_json() {
        let shown_from = if message.is_milestone() { level.min(message::Level::Warning) } else { level };
        if is_shown(shown_from) {
            buffer::text(level, json::run_message(path, own, message).into_bytes());
        }
    } else if level == message::Level::Debug {
        log::debug!("{}", message.text);
    } else {
        write_message(level, path, message.text);
    }
}

fn write_message(level: message::Level, path: &LockPath, text: impl Display) {
    if !is_shown(level) {
        return;
    }
    let line = if is_json() {
        json::lock_message(level, path, &text.to_string())
    } else {
        format!("zklock: {}\n", escaped_lines(&format!("{path}: {text}")))
    };
    buffer::text(level, line.into_bytes());
}

/// Whether the log shows messages of this level.
fn is_shown(level: message::Level) -> bool {
    match level {
        message::Level::Error => log::log_enabled!(Level::Error),
        message::Level::Warning | message::Level::Notice => log::log_enabled!(Level::Warn),
        message::Level::Step => log::log_enabled!(Level::Info),
        message::Level::Debug => log::log_enabled!(Level::Debug),
    }
}

/// The importance of a record of the `log` crate.
fn importance(level: Level) -> message::Level {
    match level {
        Level::Error => message::Level::Error,
        Level::Warn => message::Level::Warning,
        Level::Info => message::Level::Step,
        Level::Debug | Level::Trace => message::Level::Debug,
    }
}

/// Reports a step, which is shown with `-v`.
pub fn step(path: &LockPath, text: impl Display) {
    write_message(message::Level::Step, path, text);
}

/// Reports a problem in spite of which zklock continues.
pub fn warn(path: &LockPath, text: impl Display) {
    write_message(message::Level::Warning, path, text);
}

/// Reports why zklock doesn't start, before the log is set up, and waits until that is written.
pub fn refusal(text: &str) {
    queue_output();
    buffer::text(message::Level::Error, format!("zklock: {text}\n").into_bytes());
    drain(AT_THE_END);
}

/// Starts a new line on the screen, so that the waiting line isn't overwritten. JSON output has no waiting line.
pub fn new_line() {
    if !is_json() {
        buffer::text(message::Level::Error, b"\n".to_vec());
    }
}

/// Reports a problem that ends zklock.
pub fn error(path: &LockPath, text: impl Display) {
    write_message(message::Level::Error, path, text);
}
