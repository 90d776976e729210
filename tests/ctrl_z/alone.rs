//! A stop without a terminal: another process sends TSTP.

use super::{LONGER, nodes, wait_for_jobs, wait_for_status};
use crate::support::{Case, DEADLINE, children_of, is_stopped, pass_time, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;

/// A caller that would see a stop: zklock has a process group of its own in the caller's session.
const IN_A_GROUP: &str = "perl -e 'setpgrp; exec @ARGV' -- \"$0\" \"$@\" & wait $!; exit $?";

/// There is no shell that could continue it with `fg`, whatever its caller does.
#[test]
fn without_a_terminal_it_isn_t_stopped() {
    for prelude in ["", IN_A_GROUP] {
        let case = Case::new("tstp");
        let history = case.history();
        let options = ["--session-timeout", "20", "--kill-after", "0.2"];
        let job = case.lock(&options, ["bash", "-c", &history.steady_job("only")]);
        let running = job.prelude(prelude).spawn();
        wait_for_jobs(&history, 1);
        let is_zklock = |(_, name): &(Pid, String)| name.contains("/zklock ");
        let below = children_of(running.pid()).into_iter().find(is_zklock).map(|(pid, _)| pid);
        let zklock = below.unwrap_or(running.pid());
        let last = || history.sections().unwrap()[0].last;
        for _ in 0..5 {
            kill(zklock, Signal::SIGTSTP).expect("a running zklock");
            let before = last();
            wait_until("some more work", DEADLINE, || last() > before + Duration::from_millis(300));
            assert!(!is_stopped(zklock));
        }
        wait_for_status(&case, case.path(), 0, "held", false);
        history.finish("only");
        running.wait(DEADLINE).assert_code(0);
    }
}

/// KILL and STOP can't be caught. Stopping only the monitor stops nothing that matters.
#[test]
fn a_frozen_monitor_does_not_cost_the_lock() {
    let case = Case::new("frozen-monitor");
    let history = case.history();
    let options = ["--session-timeout", "8", "--kill-after", "0.2"];
    let job = format!("trap 'echo TERM' TERM; {}", history.steady_job("only"));
    let running = case.lock(&options, ["bash", "-c", &job]).spawn();
    wait_for_jobs(&history, 1);
    let before = nodes(&case, &[case.path().to_owned()]);
    crate::support::freeze(running.pid());
    pass_time(LONGER);
    assert_eq!(nodes(&case, &[case.path().to_owned()]), before);
    assert!(!history.sections().unwrap()[0].ended);
    running.signal(Signal::SIGTERM);
    crate::support::thaw(running.pid());
    running.wait_for_stdout("TERM", DEADLINE);
    history.finish("only");
    assert_eq!(running.wait(DEADLINE).assert_code(0).stderr, "");
}
