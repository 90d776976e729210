//! A forced stop: a signal, the grace period, then KILL.

use super::delete_node;
use crate::support::{Case, DEADLINE, freeze, is_alive, start};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Prints the signals that it gets, and ignores them.
const IGNORES_SIGNALS: &str =
    "trap 'echo got TERM' TERM; trap 'echo got INT' INT; echo ready; while :; do sleep 0.05; done";

#[test]
fn the_command_gets_term_and_zklock_reports_the_lost_lock() {
    let case = Case::new("lost");
    let script = "trap 'echo got TERM; exit 5' TERM; sleep 60 & echo ready; wait";
    let running = start(&case, &["--kill-after", "60"], script);
    delete_node(&case);
    let output = running.wait(DEADLINE);
    output
        .assert_code(123)
        .assert_stderr(case.path())
        .assert_stderr("the lock was lost")
        .assert_stderr("deleted by another client");
    assert_eq!(output.stdout, "ready\ngot TERM\n");
    assert!(
        output.elapsed < Duration::from_secs(20),
        "zklock doesn't wait for the rest of the grace period: {output}"
    );
}

#[test]
fn a_lost_lock_is_told_with_what_happens_next_and_its_reason_once() {
    let case = Case::new("lost-told");
    let deaf = "trap '' TERM USR1; echo ready; while :; do sleep 0.05; done";
    for (options, signal) in [(&[][..], "TERM"), (&["--signal", "USR1"], "USR1")] {
        let running = start(&case, &[options, &["--kill-after", "1"]].concat(), deaf);
        delete_node(&case);
        let output = running.wait(DEADLINE);
        let next = format!("; bash is being stopped: {signal} now, KILL in 1 s\n");
        output.assert_code(123).assert_stderr(&next).assert_stderr("the lock was lost; bash was stopped");
        assert_eq!(output.stderr.matches("deleted by another client").count(), 1, "{output}");
    }
    let running = start(&case, &["--kill-after", "0"], deaf);
    delete_node(&case);
    running.wait(DEADLINE).assert_code(123).assert_stderr("; bash is being stopped: KILL now\n");
    let running = start(&case, &["-q", "--kill-after", "0"], deaf);
    delete_node(&case);
    let output = running.wait(DEADLINE);
    output.assert_code(123).assert_stderr(
        "the lock was lost: its node was deleted by another client or with its session; bash was",
    );
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
}

#[test]
fn a_stopped_command_that_exits_with_0_still_gives_123() {
    let case = Case::new("lost-0");
    let running = start(&case, &[], "trap 'exit 0' TERM; sleep 60 & echo ready; wait");
    delete_node(&case);
    running.wait(DEADLINE).assert_code(123);
}

#[test]
fn a_command_that_ignores_term_is_killed_after_the_grace_period() {
    let case = Case::new("killed");
    let running = start(&case, &["--kill-after", "3"], IGNORES_SIGNALS);
    let began = Instant::now();
    delete_node(&case);
    let output = running.wait(DEADLINE);
    output.assert_code(123);
    assert_eq!(output.stdout, "ready\ngot TERM\n");
    let took = began.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_secs(20)).contains(&took), "{took:?}");
}

#[test]
fn without_a_grace_period_the_command_is_killed_at_once() {
    let case = Case::new("no-grace");
    let running = start(&case, &["--kill-after", "0"], IGNORES_SIGNALS);
    delete_node(&case);
    let output = running.wait(DEADLINE);
    output.assert_code(123).assert_stderr("KILL now");
    assert_eq!(output.stdout, "ready\n", "no signal before");
}

#[test]
fn the_first_signal_of_a_stop_is_configurable() {
    let case = Case::new("other-signal");
    for (name, shown) in [("INT", "INT"), ("SIGUSR1", "USR1"), ("1", "HUP")] {
        let script = format!("trap 'echo got {shown}; kill $!; exit 0' {shown}; sleep 60 & echo ready; wait");
        let running = start(&case, &["--signal", name], &script);
        delete_node(&case);
        let output = running.wait(DEADLINE);
        assert_eq!(output.assert_code(123).stdout, format!("ready\ngot {shown}\n"));
    }
}

#[test]
fn a_second_signal_kills_the_command_immediately() {
    let case = Case::new("asked-again");
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let running = start(&case, &["--kill-after", "60"], IGNORES_SIGNALS);
        delete_node(&case);
        running.wait_for_stdout("got TERM", DEADLINE);
        let began = Instant::now();
        running.signal(signal);
        running.wait(DEADLINE).assert_code(123);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

#[test]
fn a_stopped_command_is_continued_for_the_signal() {
    let case = Case::new("stopped-command");
    let script = "trap 'echo got TERM; exit 0' TERM; echo ready $$; while :; do sleep 0.05; done";
    let running = start(&case, &["--kill-after", "60"], script);
    let line = running.wait_for_stdout("ready", DEADLINE);
    let command = Pid::from_raw(line["ready ".len()..].parse().expect("a pid"));
    freeze(command);
    delete_node(&case);
    let output = running.wait(Duration::from_secs(40));
    assert!(output.assert_code(123).stdout.contains("got TERM"), "{output}");
    assert!(!is_alive(command));
}
