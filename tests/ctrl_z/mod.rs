//! Ctrl-Z stops the command, and zklock keeps its lock. A stopped waiter doesn't block the queue. What the keys do in a script, a
//! loop, a pipeline or a zklock inside is in `terminal::keys`.

mod alone;
mod holder;
mod holder_ends;
mod orphans;
mod waiter;

use crate::support::{Case, DEADLINE, History, Shell, try_for, wait_until};
use serde_json::Value;
use std::fs;
use std::time::Duration;

const CTRL_Z: &[u8] = b"\x1a";

/// The options of most tests. The session timeout is short, so that it takes little time to outlast it. With so short a grace
/// period, three seconds without an answer don't cost the lock.
const SHORT: &str = "--session-timeout 8 --kill-after 0.2";

/// Longer than that session can live without a message from zklock.
const LONGER: Duration = Duration::from_millis(9_500);

/// Writes a `bash` script into the case's directory, so that the lines that a test types stay short.
fn script(case: &Case, name: &str, text: &str) -> String {
    let file = case.dir().join(name);
    fs::write(&file, text).expect("a script");
    file.display().to_string()
}

/// Types this line, and waits until the history has this many jobs.
#[track_caller]
fn enter(shell: &mut Shell, line: &str, history: &History, jobs: usize) {
    shell.enter(line, DEADLINE);
    wait_for_jobs(history, jobs);
}

#[track_caller]
fn wait_for_jobs(history: &History, jobs: usize) {
    wait_until("the command to run", DEADLINE, || {
        history.sections().is_ok_and(|sections| sections.len() == jobs)
    });
}

/// Types Ctrl-Z and waits for the shell's prompt. Returns what was printed before "Stopped".
#[track_caller]
fn stop(shell: &mut Shell) -> String {
    shell.terminal().send(CTRL_Z);
    let said = shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    said
}

/// The contenders of this path in the output of `status`.
#[track_caller]
fn contenders(case: &Case, path: &str) -> Vec<Value> {
    let output = case.zklock().args(["status", "--json", path]).run();
    let said: Value = serde_json::from_str(&output.assert_code(0).stdout).expect("JSON");
    said["locks"][0]["contenders"].as_array().expect("contenders").clone()
}

/// Waits until `status` shows the contender at this position, counted from 0, in this state and stopped or not.
#[track_caller]
fn wait_for_status(case: &Case, path: &str, place: usize, state: &str, stopped: bool) {
    let seen = try_for(DEADLINE, || {
        let seen = contenders(case, path);
        let found = seen.get(place).is_some_and(|one| one["state"] == state && one["stopped"] == stopped);
        found.then_some(())
    });
    assert!(seen.is_some(), "{place}, {state}, stopped {stopped}: {:#?}", contenders(case, path));
}

/// The nodes of these paths, each with the transaction that created it and with its session.
fn nodes(case: &Case, paths: &[String]) -> Vec<(String, i64, i64)> {
    let nodes = paths.iter().flat_map(|path| {
        case.observer().children(path).into_iter().map(move |name| format!("{path}/{name}"))
    });
    let seen = nodes.filter_map(|node| Some((case.observer().stat(&node)?, node)));
    seen.map(|(stat, node)| (node, stat.czxid, stat.ephemeral_owner)).collect()
}
