//! How CI runners end the processes that they started.

use crate::support::{Case, DEADLINE, is_alive, wait_until, worker_of};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

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
