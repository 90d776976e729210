//! `zklock wait`: returns when locks are free of all that held them or queued for them when it began, and takes none.

mod ends;
mod inside;
mod neighbours;
mod reconnected;
mod refused;
mod requests;
mod shown;

use crate::support::{Case, DEADLINE, Output, Running, Zklock, end, holder, shared, wait_until};

/// `zklock wait` with these words.
fn wait(case: &Case, words: &[&str]) -> Zklock {
    case.zklock().arg("wait").args(words)
}

/// Starts a wait for the case's lock with these options, and returns when it waits for so many contenders.
#[track_caller]
fn waiting(case: &Case, options: &[&str], count: usize) -> Running {
    let running = wait(case, &[&["-v"], options, &[case.path()]].concat()).spawn();
    running.wait_for_line(&format!(", {count} ahead"), DEADLINE);
    running
}

/// Starts a contender behind the others, whose command prints `running` and waits for a signal.
#[track_caller]
fn queue(case: &Case, options: &[&str]) -> Running {
    let ahead = case.contenders().len();
    let contender = case.lock(options, ["sh", "-c", "echo running; exec sleep 60"]).spawn();
    case.wait_for_contenders(ahead + 1);
    contender
}

/// The wait has ended because the lock was free.
#[track_caller]
fn assert_free(running: Running) -> Output {
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).assert_stderr(": free after ").stdout, "");
    output
}

/// Waits until so many clients watch the case's lock or a node below it, and returns the nodes that are watched.
#[track_caller]
fn watched(case: &Case, count: usize) -> Vec<String> {
    let nodes = || case.contenders().into_iter().map(|name| format!("{}/{name}", case.path()));
    let watchers = |node: &String| shared().watchers_of(node);
    wait_until("the watches", DEADLINE, || nodes().map(|node| watchers(&node)).sum::<usize>() == count);
    nodes().filter(|node| watchers(node) > 0).collect()
}
