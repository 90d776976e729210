//! Confirmations stop: the command is dead before another contender can hold the lock.

use crate::faults::holder::{now, wait_until_steady};
use crate::support::{
    Case, DEADLINE, History, Proxy, Server, freeze, is_alive, is_stopped, shared, start, thaw, wait_until,
    worker_of,
};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

const T: Duration = Duration::from_secs(5);
const OPTIONS: &[&str] = &["--session-timeout", "5", "--kill-after", "1"];

/// The pid that a script prints after `ready`.
fn pid_of(line: &str) -> Pid {
    Pid::from_raw(line["ready ".len()..].parse().expect("a pid"))
}

/// How long the only job of a history lived after this time, by its own signs of life: the test may see its end late.
fn lived_after(since: u128, history: &History) -> Duration {
    let sections = history.sections().unwrap();
    assert_eq!(sections.len(), 1, "{sections:?}");
    Duration::from_nanos_u128(sections[0].last.saturating_sub(since))
}

#[test]
fn the_command_is_dead_before_the_session_can_expire() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "lease-over").through(&proxy.connect_string());
    let history = case.history();
    let script = format!("trap 'echo got TERM' TERM; echo ready $$; {}", history.steady_job("job"));
    let running = start(&case, OPTIONS, &script);
    let command = pid_of(&running.wait_for_stdout("ready", DEADLINE));
    wait_until_steady(&proxy, 1);
    server.freeze();
    let last_possible_confirmation = now();
    wait_until("the end of the command", DEADLINE, || !is_alive(command));
    let output = running.wait(DEADLINE);
    server.thaw();
    // Requests that the client had sent before keep the session alive for another T.
    case.wait_for_contenders(0);
    let lived = lived_after(last_possible_confirmation, &history);
    assert!(lived < T, "it survived for {lived:?}: {output}");
    output.assert_code(123).assert_stderr("after the servers last confirmed the lock");
    let reasons = ["no answer for ", "no connection for "];
    assert!(reasons.iter().any(|reason| output.stderr.contains(reason)), "{output}");
    assert!(output.stdout.contains("got TERM"), "TERM comes first: {output}");
}

#[test]
fn a_short_silence_does_not_cost_the_lock() {
    let proxy = Proxy::to(shared());
    let case = Case::new("short-silence").through(&proxy.connect_string());
    let running = start(&case, &["--session-timeout", "30"], "echo ready; sleep 5; exit 8");
    proxy.blackhole();
    let silent_since = Instant::now();
    wait_until("a short while", DEADLINE, || silent_since.elapsed() > Duration::from_secs(3));
    proxy.pass();
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(8).stderr, "");
}

/// A stopped worker can't act, so the monitor stops the command.
#[test]
fn a_frozen_worker_loses_its_lock_and_its_command() {
    let proxy = Proxy::to(shared());
    let case = Case::new("frozen").through(&proxy.connect_string());
    let history = case.history();
    let script = format!("echo ready $$; {}", history.steady_job("job"));
    let running = start(&case, OPTIONS, &script);
    let command = pid_of(&running.wait_for_stdout("ready", DEADLINE));
    let worker = worker_of(running.pid());
    wait_until_steady(&proxy, 1);
    freeze(worker);
    let since = now();
    wait_until("the end of the command", DEADLINE, || !is_alive(command));
    let output = running.wait(DEADLINE);
    let lived = lived_after(since, &history);
    assert!(lived < T, "it survived for {lived:?}: {output}");
    output.assert_code(123).assert_stderr(case.path()).assert_stderr("the worker process hung");
    output.assert_stderr("the command was stopped with all its processes");
    assert!(!is_alive(worker), "it could continue");
    assert_eq!(case.contenders(), [""; 0]);
}

/// The freeze is shorter than the lease, as on a busy machine.
#[test]
fn a_worker_that_is_frozen_for_a_moment_continues() {
    let case = Case::new("frozen-shortly");
    let go = case.dir().join("go");
    let script = format!("echo ready; until [ -e {} ]; do sleep 0.02; done; exit 8", go.display());
    let running = start(&case, &["--session-timeout", "30"], &script);
    let worker = worker_of(running.pid());
    freeze(worker);
    let frozen_since = Instant::now();
    wait_until("a short while", DEADLINE, || frozen_since.elapsed() > Duration::from_secs(3));
    thaw(worker);
    std::fs::write(go, "").expect("a file");
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(8).stderr, "");
}

/// The worker continues without the monitor for any time.
#[test]
fn a_frozen_monitor_does_not_cost_the_lock() {
    let case = Case::new("frozen-monitor");
    let script = "trap 'kill $! 2>/dev/null; exit 7' TERM; sleep 60 & echo ready; wait";
    let running = start(&case, &["--session-timeout", "9", "--kill-after", "1"], script);
    let node = case.wait_for_contenders(1);
    freeze(running.pid());
    let frozen_since = Instant::now();
    wait_until("more than a session timeout", DEADLINE, || frozen_since.elapsed() > Duration::from_secs(11));
    assert_eq!(case.contenders(), node);
    // The signal that was sent meanwhile is delivered.
    running.signal(Signal::SIGTERM);
    assert!(running.is_running());
    thaw(running.pid());
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(7).stderr, "");
}

/// Other contenders don't have to wait until the monitor is continued.
#[test]
fn a_frozen_monitor_blocks_no_other_contender() {
    let case = Case::new("frozen-monitor-end");
    let go = case.dir().join("go");
    let script = format!("echo ready; until [ -e {} ]; do sleep 0.02; done; exit 3", go.display());
    let running = start(&case, &[], &script);
    let next = case.lock(&["-v"], ["echo", "ran"]).spawn();
    next.wait_for_line(": position ", DEADLINE);
    freeze(running.pid());
    std::fs::write(go, "").expect("a file");
    assert_eq!(next.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    assert!(is_stopped(running.pid()));
    thaw(running.pid());
    running.wait(DEADLINE).assert_code(3);
}

/// As when a container is paused or a laptop sleeps: neither process could act in time. The result doesn't depend on
/// which of them continues first.
#[test]
fn a_frozen_command_is_killed_before_it_can_continue_without_the_lock() {
    for monitor_first in [true, false] {
        let case = Case::new("all-frozen");
        let file = case.dir().join("writes");
        let script = format!(
            "trap 'echo TERM >> {0}' TERM; trap 'echo CONT >> {0}' CONT; echo alive >> {0}; echo ready $$; \
             while :; do echo alive >> {0}; done",
            file.display()
        );
        let running = start(&case, &["--session-timeout", "3", "--kill-after", "1"], &script);
        let command = pid_of(&running.wait_for_stdout("ready", DEADLINE));
        let worker = worker_of(running.pid());
        for pid in [running.pid(), worker, command] {
            freeze(pid);
        }
        let writes = || std::fs::read_to_string(&file).expect("the file");
        let before = writes();
        let frozen_since = Instant::now();
        wait_until("the session's end", DEADLINE, || {
            frozen_since.elapsed() > Duration::from_secs(3) && case.contenders().is_empty()
        });
        if !monitor_first {
            thaw(worker);
            wait_until("the end of the command", DEADLINE, || !is_alive(command));
        }
        thaw(running.pid());
        let output = running.wait(DEADLINE);
        output.assert_code(123);
        assert_eq!(writes().len(), before.len(), "it continued after the lock was lost: {output}");
    }
}
