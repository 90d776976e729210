//! What people read, all of it on stderr: stdout belongs to the command.

mod line;
mod output;

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use env_logger::Target;
use log::{Level, LevelFilter};

pub use self::line::{Seen, WaitingLine};
pub use self::output::{drain, drain_at_the_end, drain_before_others, mute, speak};
use crate::cli::Refused;
use crate::exit::{self, Exit};
use crate::lock::path::LockPath;
use crate::lock::record::without_controls;
use crate::zk::Diagnosis;

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
                format!("zklock: {text}\n")
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
        Refused::Usage(error) => usage(error),
        Refused::Config(error) => drop(writeln!(io::stderr(), "zklock: {error}")),
    }
    Exit::Code(exit::FAILURE)
}

/// Why no server could be had in this time: what each of them said.
pub fn unreachable(diagnoses: &[Diagnosis], limit: Duration) -> String {
    let limit = time(limit);
    let mut text = format!(
        "no ZooKeeper server could be reached within {limit}; name others with -z or ZKLOCK_ZOOKEEPER"
    );
    for diagnosis in diagnoses {
        text.push_str("\n  ");
        text.push_str(&diagnosis.to_string());
    }
    text
}

/// A mistake on the command line, in one line, and where to find help.
fn usage(error: &clap::Error) {
    let text = error.to_string();
    // clap's tip for an unknown option is to pass it as a value, which is never what was meant here.
    let first = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let suggestion = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(option)) => format!("; did you mean '{option}'?"),
        _ => String::new(),
    };
    let _ = writeln!(io::stderr(), "zklock: {first}{suggestion}\nzklock: see 'zklock --help'");
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

/// A time as people say it: `35 ms`, `1.2 s`, `4 min 10 s`, `2 h 5 min`.
pub fn time(span: Duration) -> String {
    let (millis, seconds) = (span.as_millis(), span.as_secs());
    match seconds {
        0 => format!("{millis} ms"),
        1..60 if millis % 1000 < 50 => format!("{seconds} s"),
        1..60 => format!("{:.1} s", span.as_secs_f64()),
        60..3600 if seconds % 60 == 0 => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if seconds / 60 % 60 == 0 => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        for (millis, said) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_290, "1.3 s"),
            (2_003, "2 s"),
            (250_000, "4 min 10 s"),
            (300_000, "5 min"),
            (43_200_000, "12 h"),
            (7_500_000, "2 h 5 min"),
        ] {
            assert_eq!(time(Duration::from_millis(millis)), said);
        }
    }
}
