//! What people read, all of it on stderr: stdout belongs to the command.

mod line;
mod output;

use std::fmt::Display;
use std::io::{self, Write};

use clap::error::ErrorKind;
use env_logger::Target;
use log::{Level, LevelFilter};

pub use self::line::WaitingLine;
pub use self::output::{drain, drain_at_the_end, drain_before_others, mute, speak};
use crate::cli::{Refused, mistake};
use crate::core::exit::{self, Exit};
use crate::core::path::LockPath;
use crate::core::words::{escaped_lines, without_controls};

/// Sets up the log: `verbose` counts `-v`. `RUST_LOG` has the last word.
pub fn init(verbose: u8, quiet: bool) {
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
        .parse_default_env()
        .target(Target::Pipe(Box::new(io::sink())))
        .format(|_, record| {
            let (level, target, text) = (record.level(), record.target(), record.args());
            let line = if level <= Level::Info && target.starts_with("zklock") {
                format!("zklock: {}\n", escaped_lines(&text.to_string()))
            } else {
                // The client library repeats what servers say.
                let text = without_controls(&text.to_string());
                format!("zklock: {} {target}: {text}\n", level.as_str().to_lowercase())
            };
            output::text(level, line.into_bytes());
            Ok(())
        })
        .init();
}

/// Why zklock doesn't begin, and how it exits then: help and version go to stdout and are no failure; anything
/// else is ours, and never the command's code.
pub fn refused(refused: &Refused) -> Exit {
    match refused {
        Refused::Usage(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            let _ = error.print();
            return Exit::Code(0);
        }
        Refused::ShortHelp(text) => {
            let _ = write!(io::stdout(), "{text}");
            return Exit::Code(0);
        }
        Refused::Usage(error) => usage(error),
        Refused::Variable(..) | Refused::Config(_) => {
            drop(writeln!(io::stderr(), "zklock: {}", escaped_lines(&refused.to_string())));
        }
    }
    Exit::Code(exit::FAILURE)
}

/// A mistake on the command line, in one line, and where to find help.
fn usage(error: &clap::Error) {
    let _ = writeln!(io::stderr(), "zklock: {}\nzklock: see 'zklock --help'", mistake(error));
}

/// A step on the way, shown with `-v`.
pub fn step(path: &LockPath, text: impl Display) {
    log::info!("{path}: {text}");
}

/// Something that the user should know although it goes on.
pub fn warn(path: &LockPath, text: impl Display) {
    log::warn!("{path}: {text}");
}

/// Leaves what is on the screen as it is.
pub fn new_line() {
    output::text(Level::Error, b"\n".to_vec());
}

/// Why it doesn't go on.
pub fn error(path: &LockPath, text: impl Display) {
    log::error!("{path}: {text}");
}
