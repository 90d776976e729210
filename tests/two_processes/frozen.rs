//! The worker is frozen, or seems to be, and continues. What happens if it doesn't is in [`super::killed_or_frozen`].

use super::worker_of;
use crate::support::{
    Case, DEADLINE, Held, Proxy, command_of, end, freeze, is_alive, pass_time, shared, signal_counter, start,
    status_of, thaw, wait_until,
};
use nix::sys::signal::{Signal, kill};
use std::time::Duration;

/// The monitor waits two seconds, and the test may be too late to thaw the worker.
#[test]
fn a_waiter_that_is_thawed_in_time_handles_the_signal() {
    let case = Case::new("frozen-briefly");
    let holder = case.holder();
    let handles_it = |_| {
        let waiter = case.lock(&["-v"], ["echo", "must not run"]).spawn();
        waiter.wait_for_line(": position ", DEADLINE);
        let worker = worker_of(waiter.pid());
        freeze(worker);
        waiter.signal(Signal::SIGTERM);
        kill(worker, Signal::SIGCONT).ok();
        let output = waiter.wait(DEADLINE);
        let is_handled = output.assert_signal(Signal::SIGTERM).stderr.contains("left the queue");
        assert!(is_handled || output.stderr.contains("hung and didn't react"), "{output}");
        is_handled
    };
    assert!((0..5).any(handles_it), "the monitor ended it each time");
    end(holder);
}

/// Another contender may have the lock meanwhile: then the worker's lock is no longer valid when it continues.
#[test]
fn a_worker_frozen_as_it_becomes_first_runs_nothing_under_a_lock_that_it_has_lost() {
    for (timeout, is_lost) in [("30", false), ("4", true)] {
        let case = Case::new("frozen-first");
        let holder = case.holder();
        let command = ["sh", "-c", "echo ran under $ZKLOCK_NODE; exit 6"];
        let waiter = case.lock(&["-v", "--session-timeout", timeout], command).spawn();
        let queued = waiter.wait_for_line("queued as ", DEADLINE);
        let node = queued.rsplit('/').next().expect("a node");
        waiter.wait_for_line(": position ", DEADLINE);
        let worker = worker_of(waiter.pid());
        freeze(worker);
        end(holder);
        let next = is_lost.then(|| case.holder());
        assert_eq!(case.contenders().iter().any(|name| name == node), !is_lost);
        thaw(worker);
        if let Some(next) = next {
            waiter.wait_for_line("the session was lost while waiting", DEADLINE);
            waiter.wait_for_line(": position ", DEADLINE);
            case.wait_for_contenders(2);
            assert_eq!(waiter.stdout().text(), "");
            end(next);
        }
        let output = waiter.wait(DEADLINE);
        assert!(output.assert_code(6).stdout.starts_with("ran under "), "{output}");
        assert_eq!(output.stdout.contains(node), !is_lost, "{output}");
    }
}

/// The socket between the two processes holds some 280 messages.
#[test]
fn signals_that_a_frozen_worker_has_no_room_for_reach_the_command_later() {
    const MANY: usize = 600;
    let case = Case::new("frozen-signals");
    let running = case.lock(&["--session-timeout", "40"], signal_counter(false)).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let worker = worker_of(running.pid());
    freeze(worker);
    for _ in 0..MANY {
        running.signal_number(37);
    }
    running.signal(Signal::SIGTERM);
    wait_until("the monitor to take them", DEADLINE, || {
        status_of(running.pid(), "ShdPnd").is_some_and(|pending| pending.trim_matches('0').is_empty())
            && status_of(running.pid(), "State").is_some_and(|state| state.starts_with('S'))
    });
    thaw(worker);
    wait_until("the last signal", DEADLINE, || running.stdout().count("got 15") == 1);
    wait_until("all signals", DEADLINE, || running.stdout().count("got 37") == MANY);
    running.signal(Signal::SIGKILL);
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

/// Only its session keeps the lock then.
#[test]
fn a_worker_that_waits_for_the_end_of_a_killed_command_is_not_frozen() {
    let proxy = Proxy::to(shared());
    let case = Case::new("killing-on").through(&proxy.connect_string());
    let running = start(&case, &["--session-timeout", "6", "--kill-after", "1"], "echo ready; sleep 60; :");
    let worker = worker_of(running.pid());
    let held = Held::at_its_end(command_of(running.pid()));
    proxy.blackhole();
    running.wait_for_line("(bash) doesn't end after KILL", DEADLINE);
    assert!(is_alive(worker), "{}", running.stderr().text());
    proxy.pass();
    drop(held);
    let output = running.wait(DEADLINE);
    assert!(!output.assert_code(123).stderr.contains("the worker process"), "{output}");
}

#[test]
fn a_worker_that_is_frozen_shortly_keeps_the_lock() {
    let case = Case::new("frozen-short");
    let history = case.history();
    let options = ["--session-timeout", "18", "--kill-after", "1"];
    let job = format!("{}; exit 6", history.steady_job("only"));
    let running = case.lock(&options, ["bash", "-c", &job]).spawn();
    wait_until("the command to run", DEADLINE, || history.sections().unwrap().len() == 1);
    let worker = worker_of(running.pid());
    for _ in 0..3 {
        freeze(worker);
        pass_time(Duration::from_millis(1500));
        thaw(worker);
        pass_time(Duration::from_millis(500));
    }
    history.finish("only");
    assert_eq!(running.wait(DEADLINE).assert_code(6).stderr, "");
}
