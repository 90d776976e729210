//! Moments in which the one is already there and the other not yet: each is covered.

use super::start;
use crate::support::{
    At, Case, Proxy, Running, SOON, children_of, freeze, guard_of, is_alive, is_stopped, op, processes_of,
    shared, status_of, thaw, wait_for, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// A zklock with the lock, whose guard is frozen and whose command stands at the guard's gate: its guard, and
/// the child that waits. It waited behind another, so that there was time to freeze the guard.
fn at_the_gate(case: &Case, options: &[&str]) -> (Running, Pid, Pid) {
    let holder = case.holder();
    let command = ["sh", "-c", "echo ran; exit 6"];
    let waiter = case.lock(&[&["-vv"], options].concat(), command).spawn();
    waiter.wait_for_line("waiting for", SOON);
    let guard = guard_of(waiter.pid());
    freeze(guard);
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
    let child = wait_for("a child at the gate", SOON, || {
        let mut children = children_of(waiter.pid()).into_iter();
        children.find_map(|(child, _)| (child != guard).then_some(child))
    });
    (waiter, guard, child)
}

#[test]
fn killed_before_the_guard_knows_of_the_command_which_never_runs() {
    let case = Case::new("window-spawn");
    let (waiter, guard, child) = at_the_gate(&case, &[]);
    waiter.signal(Signal::SIGKILL);
    // Its descriptors are closed when the last of its threads is gone.
    wait_until("zklock's death", SOON, || {
        !waiter.is_running() && status_of(waiter.pid(), "Threads").is_none_or(|threads| threads == "1")
    });
    thaw(guard);
    let output = waiter.wait(SOON);
    assert_eq!(output.assert_signal(Signal::SIGKILL).stdout, "");
    case.observer().wait_for_contenders(case.path(), 0, Duration::from_secs(3));
    wait_until("the end of both", SOON, || !is_alive(child) && !is_alive(guard));
    assert!(output.closed);
}

#[test]
fn a_guard_that_does_not_answer_is_replaced_and_the_command_runs() {
    let case = Case::new("window-frozen");
    let (waiter, guard, _) = at_the_gate(&case, &[]);
    let output = waiter.wait(SOON);
    output.assert_code(6).assert_stderr("trying once more");
    assert_eq!(output.stdout, "ran\n");
    assert!(!is_alive(guard), "the silent one is killed");
}

#[test]
fn a_guard_that_answers_late_is_kept() {
    let case = Case::new("window-late");
    let (waiter, guard, _) = at_the_gate(&case, &[]);
    thaw(guard);
    let output = waiter.wait(SOON);
    assert_eq!(output.assert_code(6).stdout, "ran\n");
    assert!(!output.stderr.contains("once more"), "{output}");
}

#[test]
fn a_lease_that_ends_before_the_command_has_started_lets_it_not() {
    let case = Case::new("window-lease");
    let (waiter, _, _) = at_the_gate(&case, &["--session-timeout", "2"]);
    let output = waiter.wait(SOON);
    assert_eq!(output.assert_code(125).stdout, "");
    output.assert_stderr(case.path()).assert_stderr("not started");
}

/// With a terminal that could be Ctrl-Z.
#[test]
fn a_stop_at_the_gate_does_not_freeze_everything() {
    let case = Case::new("window-stop");
    let (waiter, guard, child) = at_the_gate(&case, &[]);
    kill(child, Signal::SIGTSTP).expect("a child");
    thaw(guard);
    let output = waiter.wait(SOON);
    assert_eq!(output.assert_code(6).stdout, "ran\n");
}

/// The job's number may be somebody else's by then; here a leftover of the job stands for that somebody.
#[test]
fn killed_between_the_job_s_end_and_the_release_nobody_is_signalled() {
    let proxy = Proxy::to(shared());
    let case = Case::new("window-release").through(&proxy.connect_string());
    let script = "sleep 61 >/dev/null 2>&1 & echo ready $!; read -r line; exit 0";
    proxy.once(op::DELETE, At::Hold);
    let running = start(&case, &[], script);
    let bystander = running.stdout().wait_for("ready", SOON)["ready ".len()..].to_owned();
    let bystander = Pid::from_raw(bystander.parse().expect("a pid"));
    proxy.wait_fired(1, SOON);
    let guard = guard_of(running.pid());
    running.signal(Signal::SIGKILL);
    proxy.cut_all();
    proxy.release();
    case.observer().wait_for_contenders(case.path(), 0, Duration::from_secs(5));
    wait_until("the end of the guard", SOON, || !is_alive(guard));
    assert!(is_alive(bystander), "the guard killed who was no longer the job");
    kill(bystander, Signal::SIGKILL).expect("the bystander");
}

#[test]
fn a_guard_that_is_frozen_at_the_end_keeps_nobody_waiting() {
    let case = Case::new("frozen-at-the-end");
    let running = start(&case, &[], "echo ready; read -r line; sleep 0.5; exit 3");
    let guard = guard_of(running.pid());
    freeze(guard);
    running.wait(Duration::from_secs(6)).assert_code(3);
    assert!(!is_alive(guard));
}

#[test]
fn a_frozen_zklock_whose_job_may_go_on_is_left_alone() {
    let case = Case::new("frozen-continue");
    let options = ["--session-timeout", "2", "--on-lost", "continue"];
    let running = start(&case, &options, "echo ready; sleep 60; :");
    freeze(running.pid());
    let began = Instant::now();
    wait_until("the session's end", SOON, || {
        began.elapsed() > Duration::from_secs(2) && case.contenders().is_empty()
    });
    let job = processes_of(case.marker());
    assert_eq!(job.len(), 3, "zklock, the shell and its sleep: {job:?}");
    assert!(is_stopped(running.pid()));
    thaw(running.pid());
    running.wait_for_line("the lock is lost", SOON);
    running.signal(Signal::SIGTERM);
    running.wait(SOON).assert_signal(Signal::SIGTERM);
}
