//! `--once-per`: skip the command when it succeeded not long ago, on whatever host.

mod clocks;
mod faults;
mod forget;
mod period;
mod recorded;
mod usage;

use crate::support::{Case, Output};

/// Longer than any test.
const HOUR: &[&str] = &["--once-per", "3600"];

/// Shorter than it takes to start a program.
const MOMENT: &[&str] = &["--once-per", "0.001"];

/// Runs a shell command under the case's lock with these options.
#[track_caller]
fn run(case: &Case, options: &[&str], command: &str) -> Output {
    case.lock(options, ["sh", "-c", command]).run()
}

/// Where the success is recorded, beside the lock.
fn record(case: &Case) -> String {
    let (above, name) = case.path().rsplit_once('/').expect("a path");
    format!("{above}/.{name}.zklock-last")
}

/// It did not run: the lock counts as busy.
#[track_caller]
fn assert_skipped(output: &Output, code: i32) {
    output.assert_code(code).assert_stderr("skipped: the command succeeded");
    assert_eq!(output.stderr.matches("skipped").count(), 1, "said once: {output}");
    assert_eq!(output.stdout, "");
}
