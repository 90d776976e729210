//! `kill -9` of the monitor, of the worker, and of a waiter's processes.
#![allow(clippy::print_stdout, reason = "what was measured is shown with --nocapture")]

use super::{HAND_OFF, kill_worker};
use crate::support::{
    Case, DEADLINE, Running, freeze, is_alive, is_stopped, processes_of, start, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::time::Instant;

/// A job of a shell, a pipeline and a grandchild in the background.
const FAMILY: &str = "(sleep 61 & sleep 62 &); sleep 63 | sleep 64 & echo ready; sleep 65; :";
/// The number of its processes and both processes of zklock.
const ALL: usize = 8;

/// Calls `deed`, which kills a process, and checks that the whole job is dead and the node is gone long before the
/// session ends.
#[track_caller]
fn assert_cleaned_up(case: &Case, deed: impl FnOnce()) {
    wait_until("the whole job", DEADLINE, || processes_of(case.marker()).len() == ALL);
    let is_of_job = |name: &str| name.starts_with("sleep") || name.starts_with("bash");
    let mut job = processes_of(case.marker());
    let zklocks: Vec<_> = job.extract_if(.., |(_, name)| !is_of_job(name)).collect();
    assert_eq!(zklocks.len(), 2, "{zklocks:?}");
    let began = Instant::now();
    deed();
    wait_until("the end of every process", HAND_OFF, || !job.iter().any(|(pid, _)| is_alive(*pid)));
    let took = began.elapsed();
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF.saturating_sub(took));
    println!("all dead after {took:?}, the node gone after {:?}", began.elapsed());
    wait_until("the end of zklock", HAND_OFF, || !zklocks.iter().any(|(pid, _)| is_alive(*pid)));
}

/// Checks how zklock ends after its worker was killed while the command ran.
#[track_caller]
fn assert_lost(case: &Case, running: Running) {
    let output = running.wait(DEADLINE);
    output
        .assert_code(123)
        .assert_stderr(case.path())
        .assert_stderr("the worker process was killed by signal 9");
    output
        .assert_stderr("the command was stopped with all its processes")
        .assert_stderr("the lock node is gone");
    assert!(output.closed, "{output}");
}

#[test]
fn the_whole_job_dies_with_the_monitor() {
    let case = Case::new("kill-9");
    let running = start(&case, &[], FAMILY);
    assert_cleaned_up(&case, || running.signal(Signal::SIGKILL));
    let output = running.wait(DEADLINE);
    assert!(output.assert_signal(Signal::SIGKILL).closed, "{output}");
}

#[test]
fn the_whole_job_dies_with_the_worker() {
    let case = Case::new("kill-9-worker");
    let running = start(&case, &[], FAMILY);
    assert_cleaned_up(&case, || kill_worker(&running));
    assert_lost(&case, running);
}

#[test]
fn even_if_the_whole_process_group_of_either_is_killed() {
    let case = Case::new("killpg");
    let running = start(&case, &[], FAMILY);
    assert_cleaned_up(&case, || {
        killpg(running.pid(), Signal::SIGKILL).expect("the monitor's group");
    });
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    let running = start(&case, &[], FAMILY);
    assert_cleaned_up(&case, || {
        killpg(worker_of(running.pid()), Signal::SIGKILL).expect("the worker's group");
    });
    assert_lost(&case, running);
}

/// The worker is stopped too, and the death of the monitor wakes it.
#[test]
fn a_stopped_job_dies_with_a_stopped_monitor_although_the_worker_is_stopped() {
    let case = Case::new("kill-9-stopped");
    let running = start(&case, &[], FAMILY);
    wait_until("the whole job", DEADLINE, || processes_of(case.marker()).len() == ALL);
    for (pid, _) in processes_of(case.marker()) {
        freeze(pid);
    }
    assert_cleaned_up(&case, || running.signal(Signal::SIGKILL));
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

#[test]
fn a_stopped_job_dies_with_a_stopped_worker() {
    let case = Case::new("kill-9-stopped-worker");
    let running = start(&case, &[], FAMILY);
    wait_until("the whole job", DEADLINE, || processes_of(case.marker()).len() == ALL);
    for (pid, _) in processes_of(case.marker()).into_iter().filter(|(pid, _)| *pid != running.pid()) {
        freeze(pid);
    }
    assert_cleaned_up(&case, || kill_worker(&running));
    assert_lost(&case, running);
}

/// The monitor was stopped, for example by Ctrl-Z, before one of the two was killed. The kernel ends the command's group
/// meanwhile, and the monitor what has left the group.
#[test]
fn a_stopped_monitor_notices_the_worker_s_death_when_it_is_continued() {
    let case = Case::new("kill-9-monitor-stopped");
    let running = start(&case, &[], &format!("setsid sleep 66 & {FAMILY}"));
    // The worker may lead a session too.
    let has_left =
        |(pid, name): (Pid, String)| name.starts_with("sleep") && nix::unistd::getsid(Some(pid)) == Ok(pid);
    wait_until("a process in a session of its own", DEADLINE, || {
        processes_of(case.marker()).into_iter().any(has_left)
    });
    freeze(running.pid());
    kill_worker(&running);
    assert!(is_stopped(running.pid()));
    wait_until("the end of the group", DEADLINE, || processes_of(case.marker()).len() == 2);
    running.signal(Signal::SIGCONT);
    assert_lost(&case, running);
    assert_eq!(processes_of(case.marker()), []);
    assert_eq!(case.contenders(), [""; 0]);
}

#[test]
fn the_next_contender_runs_at_once_and_never_beside_the_dead_one() {
    for worker in [false, true] {
        let case = Case::new("hand-off");
        let history = case.history();
        let first = case.lock(&[], ["bash", "-c", &history.endless_job("first")]).spawn();
        wait_until("the first to run", DEADLINE, || {
            history.sections().is_ok_and(|sections| sections.len() == 1)
        });
        let second = case.lock(&[], ["bash", "-c", &history.job("second", 0.2)]).spawn();
        case.wait_for_contenders(2);
        let began = Instant::now();
        if worker {
            kill_worker(&first);
        } else {
            first.signal(Signal::SIGKILL);
        }
        wait_until("the second to run", HAND_OFF, || {
            history.sections().is_ok_and(|sections| sections.len() == 2)
        });
        println!("handed over after {:?}", began.elapsed());
        second.wait(DEADLINE).assert_code(0);
        assert_eq!(history.exclusive_order(), ["first", "second"]);
    }
}

#[test]
fn the_node_of_a_killed_waiter_vanishes() {
    let case = Case::new("kill-9-waiter");
    let holder = case.holder();
    for victim in ["monitor", "worker"] {
        let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
        waiter.wait_for_line(": position ", DEADLINE);
        let worker = worker_of(waiter.pid());
        if victim == "monitor" {
            waiter.signal(Signal::SIGKILL);
            waiter.wait(DEADLINE).assert_signal(Signal::SIGKILL);
            case.observer().wait_for_contenders(case.path(), 1, HAND_OFF);
            wait_until("the worker's end", HAND_OFF, || !is_alive(worker));
        } else {
            kill(worker, Signal::SIGKILL).expect("a worker");
            let output = waiter.wait(DEADLINE);
            output.assert_code(125).assert_stderr(case.path());
            output.assert_stderr("killed by signal 9").assert_stderr("the command was not started");
            assert_eq!(output.stdout, "");
            assert_eq!(case.contenders().len(), 1, "its node is gone before it is");
        }
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}
