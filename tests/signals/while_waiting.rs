//! Signals while zklock waits, when there is no command to forward them to.

use crate::support::{At, Case, DEADLINE, Proxy, freeze, op, shared, status_of, thaw, wait_until, worker_of};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

const ENDING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

#[test]
fn a_waiter_ignores_signals_that_do_not_ask_it_to_end() {
    let case = Case::new("ignored-while-waiting");
    let holder = case.holder();
    let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
    case.wait_for_contenders(2);
    waiter.signal(Signal::SIGCONT);
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGALRM, Signal::SIGWINCH] {
        waiter.signal(signal);
        // A signal that the worker handles only after the start of the command would be forwarded.
        waiter.wait_for_line(&format!("{signal} is ignored"), DEADLINE);
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn a_waiter_deletes_its_node_and_dies_of_the_signal() {
    let case = Case::new("ended-while-waiting");
    let holder = case.holder();
    for signal in ENDING {
        let waiter = case.lock(&[], ["echo", "ran"]).spawn();
        case.wait_for_contenders(2);
        waiter.signal(signal);
        let output = waiter.wait(DEADLINE);
        assert_eq!(output.assert_signal(signal).stdout, "");
        assert_eq!(case.contenders().len(), 1, "its node is deleted before it exits");
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}

#[test]
fn a_signal_ends_zklock_while_it_connects() {
    let proxy = Proxy::to(shared());
    proxy.blackhole();
    let case = Case::new("ended-while-connecting").through(&proxy.connect_string());
    for signal in ENDING {
        let before = proxy.accepted();
        let waiter = case.lock(&["--connect-timeout", "300"], ["echo", "ran"]).spawn();
        wait_until("a connection", DEADLINE, || proxy.accepted() > before);
        waiter.signal(signal);
        let output = waiter.wait(DEADLINE);
        assert!(!output.assert_signal(signal).stderr.contains("hung"), "{output}");
    }
}

#[test]
fn a_second_signal_ends_a_waiter_at_once_and_its_node_is_still_deleted() {
    let proxy = Proxy::to(shared());
    let case = Case::new("second-signal").through(&proxy.connect_string());
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    proxy.once(op::DELETE, At::Hold);
    waiter.signal(Signal::SIGTERM);
    proxy.wait_fired(1, DEADLINE);
    assert!(waiter.is_running(), "it waits for the answer");
    waiter.signal(Signal::SIGINT);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_signal(Signal::SIGINT).stdout, "");
    assert!(!output.stderr.contains("no server confirmed"), "it didn't wait for that: {output}");
    proxy.cut_all();
    proxy.release();
    case.observer().wait_for_contenders(case.path(), 1, Duration::from_secs(20));
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}

/// Whether the process sleeps without a pending signal. With one it may be about to sleep, and handle the signal next.
fn is_idle(pid: Pid) -> bool {
    let is_empty = |mask| status_of(pid, mask).is_some_and(|mask| mask.trim_matches('0').is_empty());
    is_empty("ShdPnd")
        && is_empty("SigPnd")
        && status_of(pid, "State").is_some_and(|state| state.starts_with('S'))
}

/// The worker is frozen, so it finds both when it continues. SIGINT is left out: another thread of the monitor handles
/// it, so the test couldn't see when it is forwarded.
#[test]
fn a_signal_that_arrives_with_the_lock_prevents_the_command() {
    let case = Case::new("signal-with-the-lock");
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        let holder = case.holder();
        let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
        // The node exists before the waiter knows of it.
        waiter.wait_for_line(": position ", DEADLINE);
        let worker = worker_of(waiter.pid());
        freeze(worker);
        holder.signal(Signal::SIGTERM);
        holder.wait(DEADLINE);
        waiter.signal(signal);
        // The signal has woken the monitor by now: once it sleeps again, it has forwarded the signal.
        wait_until("the monitor to sleep again", DEADLINE, || is_idle(waiter.pid()));
        thaw(worker);
        let output = waiter.wait(DEADLINE);
        assert_eq!(output.assert_signal(signal).stdout, "");
        // A command that is killed before it prints anything would still have been started.
        output.assert_stderr(&format!("left the queue: {}", signal.as_str().trim_start_matches("SIG")));
        assert_eq!(case.contenders(), [""; 0]);
    }
}

/// A frozen worker can't handle a signal; the monitor ends it.
#[test]
fn a_frozen_waiter_is_ended_soon_after_a_signal() {
    let case = Case::new("deaf");
    let holder = case.holder();
    for signal in ENDING {
        let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
        waiter.wait_for_line(": position ", DEADLINE);
        freeze(worker_of(waiter.pid()));
        let began = Instant::now();
        waiter.signal(signal);
        let output = waiter.wait(DEADLINE);
        assert_eq!(output.assert_signal(signal).stdout, "");
        output.assert_stderr(case.path()).assert_stderr(&format!("hung and didn't react to {signal}"));
        output.assert_stderr("the command was not started");
        assert!((2..14).contains(&began.elapsed().as_secs()), "{:?}: {output}", began.elapsed());
        assert_eq!(case.contenders().len(), 1, "its node is deleted before it exits");
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}
