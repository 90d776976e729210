//! `kill -9` of zklock, of a waiter, and of the guard itself.
#![allow(clippy::print_stdout, reason = "what was measured is shown with --nocapture")]

use super::start;
use crate::support::{Case, SOON, freeze, guard_of, is_alive, processes_of, wait_until};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Measured in a few milliseconds; a busy machine may need more.
const AT_ONCE: Duration = Duration::from_millis(500);
/// What a hand-over takes at most, although the session lives on for 30 s.
const HAND_OVER: Duration = Duration::from_secs(3);

/// A job of a shell, a pipeline and a grandchild in the background.
const FAMILY: &str = "(sleep 61 & sleep 62 &); sleep 63 | sleep 64 & echo ready; sleep 65; :";

/// Kills zklock by `deed` and sees its whole job dead, and the node gone, long before the session ends.
#[track_caller]
fn assert_cleaned_up(case: &Case, zklock: Pid, deed: impl FnOnce()) {
    wait_until("the whole job", SOON, || processes_of(case.marker()).len() == 7);
    let job: Vec<_> = processes_of(case.marker());
    let guard = guard_of(zklock);
    let began = Instant::now();
    deed();
    wait_until("the end of every process", AT_ONCE, || !job.iter().any(|(pid, _)| is_alive(*pid)));
    let took = began.elapsed();
    case.observer().wait_for_contenders(case.path(), 0, HAND_OVER);
    println!("all dead after {took:?}, the node gone after {:?}", began.elapsed());
    wait_until("the end of the guard", HAND_OVER, || !is_alive(guard));
}

#[test]
fn the_whole_job_dies_with_zklock() {
    let case = Case::new("kill-9");
    let running = start(&case, &[], FAMILY);
    assert_cleaned_up(&case, running.pid(), || running.signal(Signal::SIGKILL));
    running.wait(SOON).assert_signal(Signal::SIGKILL);
}

#[test]
fn even_if_its_whole_process_group_is_killed() {
    let case = Case::new("killpg");
    let running = start(&case, &[], FAMILY);
    assert_cleaned_up(&case, running.pid(), || {
        killpg(running.pid(), Signal::SIGKILL).expect("zklock's group");
    });
}

#[test]
fn a_stopped_job_dies_with_a_stopped_zklock() {
    let case = Case::new("kill-9-stopped");
    let running = start(&case, &[], FAMILY);
    wait_until("the whole job", SOON, || processes_of(case.marker()).len() == 7);
    for (pid, _) in processes_of(case.marker()) {
        freeze(pid);
    }
    assert_cleaned_up(&case, running.pid(), || running.signal(Signal::SIGKILL));
}

#[test]
fn the_next_contender_runs_at_once_and_never_beside_the_dead_one() {
    let case = Case::new("hand-over");
    let history = case.history();
    let first = case.lock(&[], ["bash", "-c", &history.endless_job("first")]).spawn();
    wait_until("the first to run", SOON, || history.sections().is_ok_and(|sections| sections.len() == 1));
    let second = case.lock(&[], ["bash", "-c", &history.job("second", 0.2)]).spawn();
    case.wait_for_contenders(2);
    let began = Instant::now();
    first.signal(Signal::SIGKILL);
    wait_until("the second to run", HAND_OVER, || {
        history.sections().is_ok_and(|sections| sections.len() == 2)
    });
    println!("handed over after {:?}", began.elapsed());
    second.wait(SOON).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "second"]);
}

#[test]
fn the_node_of_a_killed_waiter_vanishes() {
    let case = Case::new("kill-9-waiter");
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
    waiter.wait_for_line("waiting for", SOON);
    waiter.signal(Signal::SIGKILL);
    case.observer().wait_for_contenders(case.path(), 1, HAND_OVER);
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
}

#[test]
fn a_guard_that_is_killed_is_replaced_by_one_that_knows_everything() {
    let case = Case::new("guard-killed");
    let running = start(&case, &[], FAMILY);
    let mut guards = vec![guard_of(running.pid())];
    for _ in 0..2 {
        kill(guards[guards.len() - 1], Signal::SIGKILL).expect("a guard");
        let other = || guard_of(running.pid());
        wait_until("another guard", SOON, || !guards.contains(&other()));
        guards.push(other());
    }
    assert_cleaned_up(&case, running.pid(), || running.signal(Signal::SIGKILL));
}

#[test]
fn a_waiter_replaces_its_guard_too() {
    let case = Case::new("waiter-guard-killed");
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["bash", "-c", FAMILY]).spawn();
    waiter.wait_for_line("waiting for", SOON);
    let guard = guard_of(waiter.pid());
    kill(guard, Signal::SIGKILL).expect("a guard");
    wait_until("another guard", SOON, || guard_of(waiter.pid()) != guard);
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
    waiter.wait_for_stdout("ready", SOON);
    assert_cleaned_up(&case, waiter.pid(), || waiter.signal(Signal::SIGKILL));
}

#[test]
fn a_command_without_a_lease_to_keep_dies_with_zklock_all_the_same() {
    let case = Case::new("kill-9-continue");
    let running = start(&case, &["--on-lost", "continue"], FAMILY);
    assert_cleaned_up(&case, running.pid(), || running.signal(Signal::SIGKILL));
}
