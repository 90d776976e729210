//! zklock gets little processor time: whatever it has to do, it does late.

use crate::support::{
    Case, Cgroup, DEADLINE, History, Output, Proxy, Running, Zklock, command_of, hogs, pass_time, shared,
    skip, try_for, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use std::fs;
use std::process::Command;
use std::time::Duration;

const OPTIONS: [&str; 4] = ["--session-timeout", "6", "--kill-after", "1"];

/// A holder whose lease is short, and a waiter behind it.
fn queue(case: &Case, history: &History) -> (Running, Running) {
    let first = case.lock(&OPTIONS, ["bash", "-c", &history.steady_job("first")]).spawn();
    wait_until("the first command to run", DEADLINE, || history.sections().unwrap().len() == 1);
    let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);
    (first, next)
}

#[track_caller]
fn assert_blames_the_host(output: &Output) {
    output.assert_code(123).assert_stderr("starved of processor time");
    assert!(!output.stderr.contains("confirmed nothing"), "{output}");
}

/// No delay is as long as a lease tolerates. But the confirmations are so far apart then that each is lost before the
/// next: one counts T/3 before another that was answered before the newest was sent.
#[test]
fn a_worker_that_is_late_again_and_again_loses_the_lock_and_says_so() {
    let case = Case::new("late-again");
    let history = case.history();
    let (first, next) = queue(&case, &history);
    let worker = worker_of(first.pid());
    let lost = || !first.is_running() || first.stderr().count("is lost") > 0;
    let delay = || {
        // The monitor may have ended it meanwhile.
        kill(worker, Signal::SIGSTOP).ok();
        pass_time(Duration::from_millis(1_335));
        kill(worker, Signal::SIGCONT).ok();
        pass_time(Duration::from_millis(15));
    };
    try_for(DEADLINE, || {
        delay();
        lost().then_some(())
    });
    let output = first.wait(DEADLINE);
    assert_blames_the_host(&output);
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}

#[test]
fn a_zklock_with_a_small_quota_keeps_the_lock_or_blames_the_host() {
    let case = Case::new("small-quota");
    let history = case.history();
    let (first, next) = queue(&case, &history);
    let Some(quota) = Cgroup::with_quota(DEADLINE) else { return skip("no cgroup with a quota can be made") };
    for process in [first.pid(), worker_of(first.pid())] {
        quota.limit(process);
    }
    try_for(Duration::from_secs(12), || (!first.is_running()).then_some(()));
    drop(quota);
    history.finish("first");
    let output = first.wait(DEADLINE);
    if output.code != Some(0) {
        assert_blames_the_host(&output);
    }
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}

/// The kernel runs zklock and its command only when nothing else wants to run, and something always does. Meanwhile the
/// connection is cut.
#[test]
fn a_zklock_that_may_only_use_idle_time_stops_its_command_before_the_next_begins() {
    let link = Proxy::to(shared());
    let case = Case::new("idle-time").through(&link.connect_string());
    let history = case.history();
    let busy = case.dir().join("busy");
    fs::write(&busy, "").expect("a file");
    // In the same session: the kernel may divide the time between sessions first.
    let first = case.lock(&OPTIONS, ["bash", "-c", &history.steady_job("first")]);
    let first = first.prelude(&hogs(4, &busy, DEADLINE)).spawn();
    wait_until("the first command to run", DEADLINE, || history.sections().unwrap().len() == 1);
    let next = Zklock::at(&shared().connect_string(), case.marker());
    let next = next.args([case.path(), "--", "bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);

    let is_possible = [first.pid(), worker_of(first.pid()), command_of(first.pid())].into_iter().all(|pid| {
        let words = ["--all-tasks", "--idle", "--pid", "0", &pid.to_string()];
        Command::new("chrt").args(words).status().is_ok_and(|status| status.success())
    });
    link.blackhole();
    let next = next.wait(DEADLINE);
    link.pass();
    fs::remove_file(busy).expect("our file");
    let first = first.wait(DEADLINE);
    if !is_possible {
        skip("SCHED_IDLE isn't possible here");
    }
    first.assert_code(123);
    next.assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}
