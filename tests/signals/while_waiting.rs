//! While zklock waits: nothing runs that a signal could be meant for.

use crate::support::{At, Case, Proxy, SOON, freeze, op, shared, status_of, thaw, wait_until, worker_of};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

const ENDING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

#[test]
fn signals_that_ask_for_no_end_are_ignored() {
    let case = Case::new("ignored-while-waiting");
    let holder = case.holder();
    let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
    case.wait_for_contenders(2);
    waiter.signal(Signal::SIGCONT);
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGALRM, Signal::SIGWINCH] {
        waiter.signal(signal);
        // One that is still on its way from process to process when the command starts is for the command.
        waiter.wait_for_line(&format!("{signal} is ignored"), SOON);
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
    let output = waiter.wait(SOON);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn the_first_one_that_does_deletes_the_node_and_ends_zklock() {
    let case = Case::new("ended-while-waiting");
    let holder = case.holder();
    for signal in ENDING {
        let waiter = case.lock(&[], ["echo", "ran"]).spawn();
        case.wait_for_contenders(2);
        waiter.signal(signal);
        let output = waiter.wait(SOON);
        assert_eq!(output.assert_signal(signal).stdout, "");
        assert_eq!(case.contenders().len(), 1, "its node is gone before it is");
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
}

#[test]
fn a_signal_before_there_is_a_connection_ends_it() {
    let proxy = Proxy::to(shared());
    proxy.blackhole();
    let case = Case::new("ended-while-connecting").through(&proxy.connect_string());
    for signal in ENDING {
        let before = proxy.accepted();
        let waiter = case.lock(&[], ["echo", "ran"]).spawn();
        wait_until("a connection", SOON, || proxy.accepted() > before);
        waiter.signal(signal);
        waiter.wait(Duration::from_secs(3)).assert_signal(signal);
    }
}

#[test]
fn a_second_one_ends_it_at_once_and_the_node_still_goes() {
    let proxy = Proxy::to(shared());
    let case = Case::new("second-signal").through(&proxy.connect_string());
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
    waiter.wait_for_line("waiting for", SOON);
    proxy.once(op::DELETE, At::Hold);
    waiter.signal(Signal::SIGTERM);
    proxy.wait_fired(1, SOON);
    assert!(waiter.is_running(), "it waits for the answer");
    waiter.signal(Signal::SIGINT);
    let output = waiter.wait(Duration::from_secs(2));
    assert_eq!(output.assert_signal(Signal::SIGINT).stdout, "");
    proxy.cut_all();
    proxy.release();
    case.observer().wait_for_contenders(case.path(), 1, Duration::from_secs(5));
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
}

/// Whether it sleeps, with no signal left to take. Without the latter it may just be on its way to sleep, and find the
/// signal there.
fn rests(pid: Pid) -> bool {
    let is_empty = |mask| status_of(pid, mask).is_some_and(|mask| mask.trim_matches('0').is_empty());
    is_empty("ShdPnd")
        && is_empty("SigPnd")
        && status_of(pid, "State").is_some_and(|state| state.starts_with('S'))
}

/// The worker is frozen, so that it finds both when it goes on. SIGINT takes one more thread of the monitor, so that it
/// can't be seen whether it was passed on.
#[test]
fn a_signal_that_comes_with_the_lock_wins() {
    let case = Case::new("signal-with-the-lock");
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        let holder = case.holder();
        let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
        // Its node is there sooner than it knows.
        waiter.wait_for_line("waiting for", SOON);
        let worker = worker_of(waiter.pid());
        freeze(worker);
        holder.signal(Signal::SIGTERM);
        holder.wait(SOON);
        waiter.signal(signal);
        // The signal has woken the monitor by now: if it sleeps, it has passed it on.
        wait_until("the monitor to sleep again", SOON, || rests(waiter.pid()));
        thaw(worker);
        let output = waiter.wait(SOON);
        assert_eq!(output.assert_signal(signal).stdout, "");
        // A command that is killed before it can say a word would have been started all the same.
        output.assert_stderr("left the queue");
        assert_eq!(case.contenders(), [""; 0]);
    }
}

/// A worker that stands still hears nothing. Nobody has to wait for that.
#[test]
fn a_frozen_waiter_that_is_told_to_end_is_ended_after_a_moment() {
    let case = Case::new("deaf");
    let holder = case.holder();
    for signal in ENDING {
        let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
        waiter.wait_for_line("waiting for", SOON);
        freeze(worker_of(waiter.pid()));
        let began = Instant::now();
        waiter.signal(signal);
        let output = waiter.wait(SOON);
        assert_eq!(output.assert_signal(signal).stdout, "");
        output.assert_stderr(case.path()).assert_stderr(&format!("stood still and didn't react to {signal}"));
        output.assert_stderr("the command was not started");
        assert!((2..6).contains(&began.elapsed().as_secs()), "{:?}: {output}", began.elapsed());
        assert_eq!(case.contenders().len(), 1, "its node is gone before it is");
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(SOON);
}
