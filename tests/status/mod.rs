//! `zklock status`: who holds the locks and who waits, for people and for scripts.

mod exit_code;
mod held;
mod hostile;
mod json;
mod neighbours;
mod permissions;
mod recursive;
mod table;
mod terminal;
mod unreachable;
mod watch;

use crate::support::{Case, Output, Running, SOON, end, holder, host};
use serde_json::Value;

/// The end of `zklock status` with these words.
#[track_caller]
fn status(case: &Case, words: &[&str]) -> Output {
    case.zklock().arg("status").args(words).run()
}

/// What `zklock status --json` says of these paths.
#[track_caller]
fn json(case: &Case, words: &[&str]) -> Value {
    let output = status(case, &[&["--json"], words].concat());
    parsed(&output.assert_code(0).stdout)
}

#[track_caller]
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// A contender that has to wait; returns when it is the one with this place in the queue.
#[track_caller]
fn waiter(case: &Case, options: &[&str], place: usize) -> Running {
    let waiter = case.lock(options, ["echo", "ran"]).spawn();
    case.wait_for_contenders(place);
    waiter
}

/// Ends all of them, the last first, so that nobody else gets to run.
#[track_caller]
fn end_all(contenders: Vec<Running>) {
    contenders.into_iter().rev().for_each(end);
}

/// A server's time, as every program reads it.
fn rfc3339(millis: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(millis).expect("a time"))
}

/// The cells of a row of the table: they are at least two spaces apart.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Waits until the documents of a `--watch --json`, one a line, are as wanted; and gives them.
#[track_caller]
fn wait_for_documents(watch: &Running, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let documents = || watch.stdout().text().lines().map(parsed).collect::<Vec<_>>();
    let found = crate::support::try_for(SOON, || {
        let documents = documents();
        (!documents.is_empty() && wanted(&documents)).then_some(documents)
    });
    found.unwrap_or_else(|| panic!("in vain: {:#?}\n{}", documents(), watch.stderr().text()))
}
