//! Signals while zklock waits, when there is no command to forward them to.

use crate::support::{At, Case, DEADLINE, Proxy, freeze, op, shared, status_of, thaw, wait_until, worker_of};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::Duration;

const ENDING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

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
    let [silent, refusing] = [(); 2].map(|()| Proxy::to(shared()));
    silent.blackhole();
    refusing.refuse_new(true);
    let case = Case::new("ended-while-connecting");
    for (proxy, signal) in
        [&silent, &refusing].into_iter().flat_map(|proxy| ENDING.map(|signal| (proxy, signal)))
    {
        let (hosts, before) = (proxy.connect_string(), proxy.accepted());
        let options = ["-vv", "-z", &hosts, "--connect-timeout", "300"];
        let waiter = case.lock(&options, ["echo", "ran"]).spawn();
        let has_tried = || proxy.accepted() > before || waiter.stderr().text().contains("no session with");
        wait_until("a try to connect", DEADLINE, has_tried);
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
