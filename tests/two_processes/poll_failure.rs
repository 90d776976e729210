//! One of the two processes lives but can't poll: it has too many descriptors for its limit.

use super::{HAND_OFF, worker_of};
use crate::support::{Case, DEADLINE, processes_of, start, wait_until};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::process::Command;

/// From now on `poll` fails in this process, because it waits for more descriptors than the limit allows.
fn break_waiting(pid: Pid) {
    let limited = Command::new("prlimit").args(["--pid", &pid.to_string(), "--nofile=1:1"]).status();
    assert!(limited.expect("prlimit").success());
}

const ENDLESS: &str = "trap '' TERM; (setsid sleep 61 &); echo ready; while :; do sleep 0.05; done";

#[test]
fn a_worker_that_cannot_poll_keeps_the_lock_while_its_command_runs() {
    let case = Case::new("broken-worker");
    let running = start(&case, &[], ENDLESS);
    break_waiting(worker_of(running.pid()));
    // A signal wakes it, so that it polls again.
    running.signal(Signal::SIGWINCH);
    let output = running.wait(DEADLINE);
    assert_eq!(processes_of(case.marker()), [], "{output}");
    output
        .assert_code(123)
        .assert_stderr("can't control the command any more")
        .assert_stderr("the worker process failed");
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
}

#[test]
fn a_monitor_that_cannot_poll_ends_the_command() {
    let case = Case::new("broken-monitor");
    let running = start(&case, &["--session-timeout", "3"], ENDLESS);
    break_waiting(running.pid());
    running.signal(Signal::SIGWINCH);
    wait_until("the end of the command", DEADLINE, || processes_of(case.marker()).is_empty());
    running.wait(DEADLINE).assert_code(123);
    // The monitor can't open a session either, so the node is deleted with the worker's session.
    case.observer().wait_for_contenders(case.path(), 0, DEADLINE);
}
