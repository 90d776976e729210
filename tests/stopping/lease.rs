//! Nothing confirms the lock any more: the command is gone before another contender can have it.

use crate::support::{
    Case, Proxy, SOON, Server, freeze, is_alive, is_stopped, shared, start, thaw, wait_until, worker_of,
};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

const T: Duration = Duration::from_secs(4);
const OPTIONS: &[&str] = &["--session-timeout", "4", "--kill-after", "1"];

/// The pid that a script says behind `ready`.
fn pid_of(line: &str) -> Pid {
    Pid::from_raw(line["ready ".len()..].parse().expect("a pid"))
}

#[test]
fn the_command_is_dead_before_the_session_can_end() {
    let server = Server::start();
    let case = Case::on(&server, "lease-over");
    let script = "trap 'echo got TERM' TERM; echo ready $$; while :; do sleep 0.05; done";
    let running = start(&case, OPTIONS, script);
    let command = pid_of(&running.wait_for_stdout("ready", SOON));
    let last_possible_confirmation = Instant::now();
    server.freeze();
    wait_until("the end of the command", SOON, || !is_alive(command));
    let after = last_possible_confirmation.elapsed();
    let output = running.wait(SOON);
    server.thaw();
    // What the client had sent before keeps the session alive for another T.
    case.wait_for_contenders(0);
    assert!(after < T, "it lived on for {after:?}: {output}");
    output
        .assert_code(123)
        .assert_stderr("confirmed nothing for ")
        .assert_stderr("after the last confirmation");
    assert!(output.stdout.contains("got TERM"), "TERM comes first: {output}");
}

#[test]
fn a_command_that_may_go_on_does_so_without_a_server() {
    let proxy = Proxy::to(shared());
    let case = Case::new("lease-continue").through(&proxy.connect_string());
    let script = "trap 'echo got TERM' TERM; echo ready; sleep 6; exit 9";
    let options = [OPTIONS, &["--on-lost", "continue"]].concat();
    let running = start(&case, &options, script);
    proxy.blackhole();
    running.wait_for_line("the lock is lost", SOON);
    let output = running.wait(SOON);
    output.assert_code(9).assert_stderr("continues (--on-lost continue)");
    assert_eq!(output.stdout, "ready\n");
    // Its worker goes on asking for the node until it has an answer.
    proxy.pass();
}

#[test]
fn a_short_silence_costs_nothing() {
    let proxy = Proxy::to(shared());
    let case = Case::new("short-silence").through(&proxy.connect_string());
    let running = start(&case, &["--session-timeout", "9"], "echo ready; sleep 4; exit 8");
    proxy.blackhole();
    let silent_since = Instant::now();
    wait_until("a short while", SOON, || silent_since.elapsed() > Duration::from_secs(1));
    proxy.pass();
    let output = running.wait(SOON);
    assert_eq!(output.assert_code(8).stderr, "");
}

/// The worker can do nothing while it is stopped: the monitor does.
#[test]
fn a_frozen_worker_loses_its_lock_and_its_command() {
    let case = Case::new("frozen");
    let running = start(&case, OPTIONS, "echo ready $$; while :; do sleep 0.05; done");
    let command = pid_of(&running.wait_for_stdout("ready", SOON));
    let began = Instant::now();
    let worker = worker_of(running.pid());
    freeze(worker);
    wait_until("the end of the command", SOON, || !is_alive(command));
    assert!(began.elapsed() < T, "it lived on for {:?}", began.elapsed());
    let output = running.wait(SOON);
    output.assert_code(123).assert_stderr(case.path()).assert_stderr("the worker process stood still");
    output.assert_stderr("the command was stopped with all its processes");
    assert!(!is_alive(worker), "it might go on");
    assert_eq!(case.contenders(), [""; 0]);
}

/// Shorter than the lease, as on a busy machine.
#[test]
fn a_worker_that_stands_still_for_a_moment_goes_on() {
    let case = Case::new("frozen-shortly");
    let running = start(&case, &["--session-timeout", "9"], "echo ready; sleep 1.5; exit 8");
    let worker = worker_of(running.pid());
    freeze(worker);
    let frozen_since = Instant::now();
    wait_until("a short while", SOON, || frozen_since.elapsed() > Duration::from_secs(1));
    thaw(worker);
    let output = running.wait(SOON);
    assert_eq!(output.assert_code(8).stderr, "");
}

/// The worker goes on without it, for as long as it takes.
#[test]
fn a_frozen_monitor_costs_nothing() {
    let case = Case::new("frozen-monitor");
    let script = "trap 'kill $! 2>/dev/null; exit 7' TERM; sleep 60 & echo ready; wait";
    let running = start(&case, &["--session-timeout", "6", "--kill-after", "1"], script);
    let node = case.wait_for_contenders(1);
    freeze(running.pid());
    let frozen_since = Instant::now();
    wait_until("more than a session timeout", SOON, || frozen_since.elapsed() > Duration::from_secs(9));
    assert_eq!(case.contenders(), node);
    // What was sent meanwhile arrives.
    running.signal(Signal::SIGTERM);
    assert!(running.is_running());
    thaw(running.pid());
    let output = running.wait(SOON);
    assert_eq!(output.assert_code(7).stderr, "");
}

/// Nobody who queues has to wait until somebody continues the monitor.
#[test]
fn a_frozen_monitor_blocks_no_other_contender() {
    let case = Case::new("frozen-monitor-end");
    let go = case.dir().join("go");
    let script = format!("echo ready; until [ -e {} ]; do sleep 0.02; done; exit 3", go.display());
    let running = start(&case, &[], &script);
    let next = case.lock(&["-v"], ["echo", "ran"]).spawn();
    next.wait_for_line("waiting for", SOON);
    freeze(running.pid());
    std::fs::write(go, "").expect("a file");
    assert_eq!(next.wait(SOON).assert_code(0).stdout, "ran\n");
    assert!(is_stopped(running.pid()));
    thaw(running.pid());
    running.wait(SOON).assert_code(3);
}

/// As when a container is paused, or a laptop sleeps: nobody could act in time. Whichever half of zklock goes on first.
#[test]
fn a_stopped_command_does_nothing_more_when_it_is_too_late() {
    for monitor_first in [true, false] {
        let case = Case::new("all-frozen");
        let file = case.dir().join("deeds");
        let script = format!(
            "trap 'echo TERM >> {0}' TERM; trap 'echo CONT >> {0}' CONT; echo ready $$; \
             while :; do echo deed >> {0}; done",
            file.display()
        );
        let running = start(&case, &["--session-timeout", "2", "--kill-after", "1"], &script);
        let command = pid_of(&running.wait_for_stdout("ready", SOON));
        let worker = worker_of(running.pid());
        for pid in [running.pid(), worker, command] {
            freeze(pid);
        }
        let deeds = || std::fs::read_to_string(&file).expect("deeds");
        let before = deeds();
        let frozen_since = Instant::now();
        wait_until("the session's end", SOON, || {
            frozen_since.elapsed() > Duration::from_secs(2) && case.contenders().is_empty()
        });
        if !monitor_first {
            thaw(worker);
            wait_until("the end of the command", SOON, || !is_alive(command));
        }
        thaw(running.pid());
        let output = running.wait(SOON);
        output.assert_code(123);
        assert_eq!(deeds().len(), before.len(), "it went on after the lock was gone: {output}");
    }
}
