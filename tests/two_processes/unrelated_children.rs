//! Unrelated children, as in `helper & exec zklock`: zklock inherits them, and they don't belong to the command.

use super::{HAND_OFF, worker_of};
use crate::support::{Case, DEADLINE, is_alive, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

/// A prelude that starts a helper with a child of its own, and writes their pids to a file.
fn helpers(case: &Case) -> String {
    let file = case.dir().join("helpers");
    let inner = "sleep 301 & echo $$ $! >\"$0.new\"; mv \"$0.new\" \"$0\"; wait";
    format!("bash -c '{inner}' '{}' </dev/null >/dev/null 2>&1 &", file.display())
}

#[track_caller]
fn helper_pids(case: &Case) -> Vec<Pid> {
    let file = case.dir().join("helpers");
    let pids = wait_for("the helpers", DEADLINE, || fs::read_to_string(&file).ok());
    pids.split_whitespace().map(|number| Pid::from_raw(number.parse().expect("a number"))).collect()
}

/// Asserts that the helpers are alive, and kills them.
#[track_caller]
fn assert_alive(helpers: Vec<Pid>) {
    assert_eq!(helpers.len(), 2);
    for helper in &helpers {
        assert!(is_alive(*helper), "{helper} was ended");
    }
    for helper in helpers {
        kill(helper, Signal::SIGKILL).expect("a helper");
    }
}

#[test]
fn unrelated_children_survive_a_killed_worker() {
    let case = Case::new("helpers-killed");
    let script = "echo ready; sleep 61 & setsid sleep 62 & wait";
    let running = case.lock(&[], ["bash", "-c", script]).prelude(&helpers(&case)).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let helpers = helper_pids(&case);
    kill(worker_of(running.pid()), Signal::SIGKILL).expect("a worker");
    let output = running.wait(HAND_OFF);
    output.assert_code(123);
    assert!(output.closed, "the command's processes are gone");
    assert_alive(helpers);
}

#[test]
fn unrelated_children_survive_a_lost_lock() {
    let case = Case::new("helpers-lost");
    let script = "echo ready; trap '' TERM; sleep 61 & setsid sleep 62 & wait; wait";
    let zklock = case.lock(&["--kill-after", "0.3"], ["bash", "-c", script]);
    let running = zklock.prelude(&helpers(&case)).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let helpers = helper_pids(&case);
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    let output = running.wait(HAND_OFF);
    output.assert_code(123);
    assert!(output.closed, "the command's processes are gone");
    assert_alive(helpers);
}

#[test]
fn unrelated_children_survive_a_worker_killed_while_waiting() {
    let case = Case::new("helpers-waiting");
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["echo", "must not run"]).prelude(&helpers(&case)).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let helpers = helper_pids(&case);
    kill(worker_of(waiter.pid()), Signal::SIGKILL).expect("a worker");
    waiter.wait(HAND_OFF).assert_code(125);
    assert_alive(helpers);
    crate::support::end(holder);
}

/// Only the end of the command's own process is the command's end.
#[test]
fn the_end_of_unrelated_children_changes_nothing() {
    let case = Case::new("helpers-end");
    let script = "echo ready; read -r line; sleep 0.5; exit 6";
    let running = case.lock(&[], ["bash", "-c", script]).prelude(&helpers(&case)).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    for helper in helper_pids(&case) {
        kill(helper, Signal::SIGKILL).expect("a helper");
    }
    running.wait(DEADLINE).assert_code(6);
}
