//! The worker is frozen.

use super::{HAND_OFF, worker_of};
use crate::support::{
    At, Case, DEADLINE, Held, Proxy, WORKER, command_of, end, freeze, is_alive, op, pass_time, shared,
    signal_counter, start, status_of, thaw, wait_until,
};
use nix::sys::signal::{Signal, kill};
use std::time::Duration;

#[test]
fn a_signal_ends_a_waiter_with_a_frozen_worker() {
    let case = Case::new("frozen-waits");
    let holder = case.holder();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let waiter = case.lock(&["-v"], ["echo", "must not run"]).spawn();
        waiter.wait_for_line(": position ", DEADLINE);
        let worker = worker_of(waiter.pid());
        freeze(worker);
        waiter.signal(signal);
        let output = waiter.wait(Duration::from_secs(14));
        assert_eq!(output.assert_signal(signal).stdout, "");
        assert!(!is_alive(worker));
        case.wait_for_contenders(1);
    }
    end(holder);
}

/// The monitor waits two seconds. On a busy machine, the test may take longer to thaw the worker.
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

#[test]
fn the_command_of_a_frozen_worker_ends_before_the_next_runs() {
    let case = Case::new("frozen-holds");
    let history = case.history();
    let options = ["--session-timeout", "5", "--kill-after", "0.5"];
    let first = case.lock(&options, ["bash", "-c", &history.steady_job("first")]).spawn();
    wait_until("the first command to run", DEADLINE, || history.sections().unwrap().len() == 1);
    let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);
    freeze(worker_of(first.pid()));
    next.wait(DEADLINE).assert_code(0);
    let output = first.wait(DEADLINE);
    output.assert_code(123).assert_stderr("the worker process hung until the lease was nearly over");
    assert_eq!(history.exclusive_order(), ["first", "next"]);
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

/// The monitor inherits the worker's children only when the worker is dead, which can take longer than the lease.
#[test]
fn descendants_of_a_worker_that_dies_slowly_are_killed_meanwhile() {
    let case = Case::new("frozen-dies-slowly");
    let history = case.history();
    let options = ["--session-timeout", "5", "--kill-after", "0.5"];
    let script = |name| history.steady_job(name);
    let job = format!("setsid bash -c '{}' & {}", script("first").replace('\'', "'\\''"), script("other"));
    let first = case.lock(&options, ["bash", "-c", &job]).spawn();
    wait_until("both commands to run", DEADLINE, || history.sections().unwrap().len() == 2);
    let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);
    let worker = worker_of(first.pid());
    freeze(worker);
    let held = Held::at_its_end(worker);
    next.wait(DEADLINE).assert_code(0);
    assert!(is_alive(worker), "the worker is held at its end");
    first.wait_for_line(&format!("({WORKER}) doesn't end after KILL"), DEADLINE);
    drop(held);
    let output = first.wait(DEADLINE);
    output.assert_code(123).assert_stderr("the command was stopped with all its processes");
    let sections = history.sections().unwrap();
    let [one, other, next] = &sections[..] else { panic!("{sections:?}") };
    assert!(!one.overlaps(next) && !other.overlaps(next), "{sections:?}");
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

/// The rest takes seconds at most, so the monitor doesn't wait for a worker that takes longer.
#[test]
fn a_worker_that_is_frozen_during_the_release_delays_the_exit_only_briefly() {
    let proxy = Proxy::to(shared());
    let case = Case::new("frozen-releases").through(&proxy.connect_string());
    proxy.once(op::DELETE, At::Hold);
    let running = case.lock(&[], ["sh", "-c", "exit 4"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    freeze(worker_of(running.pid()));
    proxy.cut_all();
    proxy.release();
    let output = running.wait(Duration::from_secs(40));
    output.assert_code(4).assert_stderr("the worker process hung during the release");
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
}
