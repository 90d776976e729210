//! `--once-per` skips the command if it succeeded within the period, on any host.

mod clocks;
mod faults;
mod forget;
mod period;
mod record;
mod unrecorded_success;

use crate::support::{Case, Output};

/// A period longer than any test.
const HOUR: &[&str] = &["--once-per", "3600"];

/// A period shorter than the start of a program.
const MOMENT: &[&str] = &["--once-per", "0.001"];

/// Runs a shell command under the case's lock with these options.
#[track_caller]
fn run(case: &Case, options: &[&str], command: &str) -> Output {
    case.lock(options, ["sh", "-c", command]).run()
}

/// The path of the record, beside the lock.
fn record(case: &Case) -> String {
    let (above, name) = case.path().rsplit_once('/').expect("a path");
    format!("{above}/.{name}.zklock-last")
}

/// The command didn't run, and the exit code is that of a busy lock.
#[track_caller]
fn assert_skipped(output: &Output, code: i32) {
    output.assert_code(code).assert_stderr("skipped: the command succeeded");
    assert_eq!(output.stderr.matches("skipped").count(), 1, "one message: {output}");
    assert_eq!(output.stdout, "");
}
