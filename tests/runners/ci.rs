//! How service managers and CI runners end the processes that they started.

use crate::support::{Case, DEADLINE, is_alive, processes_of, wait_until, worker_of};
use nix::sys::signal::{Signal, kill};
use std::time::{Duration, Instant};

/// Signals all processes, as a service manager does with a control group.
fn signal_all(case: &Case, signal: Signal) {
    for (pid, _) in processes_of(case.marker()) {
        // A process may have ended already because of another one.
        kill(pid, signal).ok();
    }
}

#[test]
fn a_stopped_service_leaves_no_node_and_no_process() {
    let case = Case::new("service");
    let running = case.lock(&[], ["bash", "-c", "echo ready; sleep 61 | sleep 62"]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let worker = worker_of(running.pid());
    signal_all(&case, Signal::SIGTERM);
    running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
    assert_eq!(case.contenders(), [""; 0]);
    assert!(!is_alive(worker));
}

/// No process is left that could delete the node: it goes with the session.
#[test]
fn the_node_of_a_killed_service_goes_with_its_session() {
    let case = Case::new("service-killed");
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let options = ["--session-timeout", "4"];
    let running = case.lock(&options, ["bash", "-c", stubborn]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let worker = worker_of(running.pid());
    signal_all(&case, Signal::SIGTERM);
    assert!(running.is_running() && is_alive(worker));
    signal_all(&case, Signal::SIGKILL);
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    case.observer().wait_for_contenders(case.path(), 0, Duration::from_secs(20));
}

/// GitHub's runner sends INT, TERM after 7.5 s, and KILL 2.5 s later. The test is ten times as fast.
#[test]
fn a_cancelled_ci_job_that_ignores_signals_leaves_nothing() {
    let case = Case::new("cancelled");
    let stubborn =
        "trap 'echo got INT' INT; trap 'echo got TERM' TERM; echo ready; while :; do sleep 0.05; done";
    let running = case.lock(&[], ["bash", "-c", stubborn]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let worker = worker_of(running.pid());
    let pause = |millis| {
        let began = Instant::now();
        let over = || began.elapsed() >= Duration::from_millis(millis);
        wait_until("the runner's next signal", DEADLINE, over);
    };
    running.signal(Signal::SIGINT);
    running.wait_for_stdout("got INT", DEADLINE);
    pause(750);
    running.signal(Signal::SIGTERM);
    running.wait_for_stdout("got TERM", DEADLINE);
    pause(250);
    assert!(running.is_running(), "zklock only forwards the signals");
    running.signal(Signal::SIGKILL);
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    case.observer().wait_for_contenders(case.path(), 0, Duration::from_secs(20));
    wait_until("the worker's end", DEADLINE, || !is_alive(worker));
}

#[test]
fn a_cancelled_ci_job_that_obeys_int_ends_at_once() {
    let case = Case::new("cancelled-politely");
    let running = case.holder();
    running.signal(Signal::SIGINT);
    running.wait(DEADLINE).assert_signal(Signal::SIGINT);
    assert_eq!(case.contenders(), [""; 0]);
}
