//! `zklock status`: the holders and waiters of locks, for people and for scripts.

mod exit_code;
mod held_since;
mod json;
mod openmetrics;
mod permissions;
mod recursive;
mod table;
mod terminal;
mod unreachable;
mod watch;

use crate::support::{Case, DEADLINE, Output, Running, end, holder, host};
use serde_json::Value;

/// Runs `zklock status` with these arguments.
#[track_caller]
fn status(case: &Case, words: &[&str]) -> Output {
    case.zklock().arg("status").args(words).run()
}

/// The output of `zklock status --json` for these paths.
#[track_caller]
fn json(case: &Case, words: &[&str]) -> Value {
    let output = status(case, &[&["--json"], words].concat());
    parsed(&output.assert_code(0).stdout)
}

#[track_caller]
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Starts a waiter, and returns when it has this position in the queue.
#[track_caller]
fn waiter(case: &Case, options: &[&str], place: usize) -> Running {
    let waiter = case.lock(options, ["echo", "ran"]).spawn();
    case.wait_for_contenders(place);
    waiter
}

/// Ends all of them, the last first, so that no waiter runs.
#[track_caller]
fn end_all(contenders: Vec<Running>) {
    contenders.into_iter().rev().for_each(end);
}

/// A server's time in RFC 3339.
fn rfc3339(millis: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(millis).expect("a time"))
}

/// The cells of a table row, which are separated by at least two spaces.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Waits until the documents of a `--watch --json`, one per line, are as wanted, and returns them.
#[track_caller]
fn wait_for_documents(watch: &Running, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let documents = || watch.stdout().text().lines().map(parsed).collect::<Vec<_>>();
    let found = crate::support::try_for(DEADLINE, || {
        let documents = documents();
        (!documents.is_empty() && wanted(&documents)).then_some(documents)
    });
    found.unwrap_or_else(|| panic!("not as wanted: {:#?}\n{}", documents(), watch.stderr().text()))
}
