//! The command under the lock. It records when it began and when it ended, by the machine's monotonic clock.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// One run of the command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// When its `main` began, in milliseconds.
    pub(crate) began: f64,
    /// When it was about to exit.
    pub(crate) ended: f64,
    /// The sequence number of zklock's node; zero with another lock.
    pub(crate) sequence: u64,
}

/// The current time in milliseconds, the same for all processes of this machine.
pub(crate) fn now() -> f64 {
    Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a monotonic clock")).as_secs_f64() * 1e3
}

/// The command line of a job that runs for `duration`, and with `gate` until that file exists.
pub(crate) fn words(times: &Path, duration: Duration, gate: Option<&Path>) -> Vec<OsString> {
    let own = env::current_exe().expect("the path of this program");
    let mut words = vec![own.into(), "job".into(), times.into(), duration.as_micros().to_string().into()];
    words.extend(gate.map(OsString::from));
    words
}

/// Runs as the job.
pub(crate) fn run(times: &Path, rest: &[&str]) {
    let began = now();
    if let [duration, gate @ ..] = rest {
        sleep(Duration::from_micros(duration.parse().expect("microseconds")));
        while gate.first().is_some_and(|gate| !Path::new(gate).exists()) {
            sleep(Duration::from_millis(1));
        }
    }
    let node = env::var("ZKLOCK_NODE").unwrap_or_default();
    let sequence = node.get(node.len().saturating_sub(10)..).unwrap_or("0");
    let mut file = OpenOptions::new().create(true).append(true).open(times).expect("the file of times");
    // Written last, and in one piece because it is short.
    let line = format!("{began:.4} {:.4} {}\n", now(), sequence.parse::<u64>().unwrap_or(0));
    file.write_all(line.as_bytes()).expect("a line of times");
}

/// The recorded times, in the order in which the jobs began.
pub(crate) fn read(times: &Path) -> Vec<Times> {
    let text = fs::read_to_string(times).unwrap_or_default();
    let mut all: Vec<Times> = text.lines().map(parse).collect();
    all.sort_by(|a, b| a.began.total_cmp(&b.began));
    all
}

fn parse(line: &str) -> Times {
    let words: Vec<&str> = line.split(' ').collect();
    let [began, ended, sequence] = words.as_slice() else { panic!("a line of times: {line}") };
    let number = |word: &str| word.parse().expect("a time");
    Times { began: number(began), ended: number(ended), sequence: sequence.parse().expect("a number") }
}
