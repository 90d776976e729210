//! A stop without a terminal: another process sends TSTP.

use super::{LONGER, nodes, wait_for_jobs, wait_for_status};
use crate::support::{
    Case, DEADLINE, History, Running, children_of, is_stopped, pass_time, wait_for, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The process that would become zklock starts it instead, in a process group of its own. It waits for zklock's end,
/// and not for a stop: bash 5.2 hangs in `wait -f` now and then ("No record of process"), and a loop ends at a stop.
const WITH_JOB_CONTROL: &str = "set -m; \"$0\" \"$@\" & tail -f --pid $! -s 0.1 /dev/null; wait $!; exit $?";

/// The same with a process group of its own, but with a caller that doesn't use job control.
const IN_A_GROUP: &str = "perl -e 'setpgrp; exec @ARGV' -- \"$0\" \"$@\" & wait $!; exit $?";

/// The zklock that such a caller has started.
#[track_caller]
fn below(caller: &Running) -> Pid {
    wait_for("zklock", DEADLINE, || {
        let children = children_of(caller.pid()).into_iter();
        children.filter(|(_, name)| name.contains("/zklock ")).map(|(pid, _)| pid).next()
    })
}

#[track_caller]
fn assert_stops_and_goes_on(prelude: &str) {
    let case = Case::new("tstp");
    let history = case.history();
    let job = history.steady_job("only");
    // Long enough for a machine that hangs for five seconds.
    let options = ["--session-timeout", "12", "--kill-after", "0.2"];
    let caller = case.lock(&options, ["bash", "-c", &job]).prelude(prelude).spawn();
    wait_for_jobs(&history, 1);
    let zklock = below(&caller);
    let paths = [case.path().to_owned()];
    let before = nodes(&case, &paths);
    for _ in 0..2 {
        kill(zklock, Signal::SIGTSTP).expect("a running zklock");
        wait_until("zklock to stop", DEADLINE, || is_stopped(zklock));
        caller.wait_for_line("the lock is kept", DEADLINE);
        wait_for_status(&case, case.path(), 0, "held", true);
        let done = history.sections().unwrap();
        assert!(!is_stopped(worker_of(zklock)), "the worker never stops");
        pass_time(LONGER / 2);
        assert_eq!(nodes(&case, &paths), before);
        assert_eq!(history.sections().unwrap(), done);
        kill(zklock, Signal::SIGCONT).expect("a stopped zklock");
        wait_until("it to go on", DEADLINE, || history.sections().unwrap()[0].last > done[0].last);
        wait_for_status(&case, case.path(), 0, "held", false);
    }
    history.finish("only");
    caller.wait(DEADLINE).assert_code(0);
}

#[test]
fn below_a_script_with_job_control_it_stops_and_keeps_the_lock() {
    assert_stops_and_goes_on(WITH_JOB_CONTROL);
}

#[test]
fn also_below_a_caller_without_job_control() {
    assert_stops_and_goes_on(IN_A_GROUP);
}

/// There is no shell that could continue it with `fg`.
#[test]
fn without_a_shell_to_continue_it_it_isn_t_stopped() {
    let case = Case::new("tstp-orphan");
    let history: History = case.history();
    let options = ["--session-timeout", "20", "--kill-after", "0.2"];
    let running = case.lock(&options, ["bash", "-c", &history.steady_job("only")]).spawn();
    wait_for_jobs(&history, 1);
    let last = || history.sections().unwrap()[0].last;
    for _ in 0..5 {
        running.signal(Signal::SIGTSTP);
        let before = last();
        wait_until("some more work", DEADLINE, || last() > before + 300_000_000);
        assert!(!is_stopped(running.pid()));
    }
    wait_for_status(&case, case.path(), 0, "held", false);
    history.finish("only");
    running.wait(DEADLINE).assert_code(0);
}

#[test]
fn a_waiter_without_a_shell_to_continue_it_isn_t_stopped() {
    let case = Case::new("tstp-orphan-waiter");
    let holder = case.holder();
    let waiter = case.lock(&[], ["echo", "ran"]).spawn();
    case.wait_for_contenders(2);
    waiter.signal(Signal::SIGTSTP);
    pass_time(std::time::Duration::from_millis(300));
    crate::support::end(holder);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

/// KILL and STOP can't be caught. Stopping only the monitor stops nothing that matters.
#[test]
fn a_frozen_monitor_does_not_cost_the_lock() {
    let case = Case::new("frozen-monitor");
    let history = case.history();
    let options = ["--session-timeout", "8", "--kill-after", "0.2"];
    let running = case.lock(&options, ["bash", "-c", &history.steady_job("only")]).spawn();
    wait_for_jobs(&history, 1);
    let before = nodes(&case, &[case.path().to_owned()]);
    crate::support::freeze(running.pid());
    pass_time(LONGER);
    assert_eq!(nodes(&case, &[case.path().to_owned()]), before);
    assert!(!history.sections().unwrap()[0].ended);
    crate::support::thaw(running.pid());
    history.finish("only");
    running.wait(DEADLINE).assert_code(0);
}
