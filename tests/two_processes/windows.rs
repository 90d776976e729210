//! Faults at moments when one of the two processes is ready and the other isn't yet. Each of these moments is covered.

use super::{HAND_OFF, kill_worker};
use crate::support::{
    At, Case, DEADLINE, Proxy, Running, freeze, is_alive, op, shared, start, thaw, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// A waiter whose worker was frozen before the lock became free, and so has not noticed that; and the worker.
fn first_and_frozen(case: &Case, options: &[&str]) -> (Running, Pid) {
    let holder = case.holder();
    let command = ["sh", "-c", "echo ran under $ZKLOCK_NODE; exit 6"];
    let waiter = case.lock(&[&["-v"], options].concat(), command).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let worker = worker_of(waiter.pid());
    freeze(worker);
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
    (waiter, worker)
}

/// When the worker continues, the lock is its own and the monitor is dead.
#[test]
fn a_monitor_that_is_killed_before_the_command_runs_takes_it_along() {
    let case = Case::new("window-monitor");
    let (waiter, worker) = first_and_frozen(&case, &[]);
    waiter.signal(Signal::SIGKILL);
    // The worker need not be continued from outside.
    wait_until("the worker's end", DEADLINE, || !is_alive(worker));
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_signal(Signal::SIGKILL).stdout, "");
    assert!(output.closed);
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
}

#[test]
fn a_worker_frozen_as_it_became_first_runs_the_command_if_continued_in_time() {
    let case = Case::new("window-late");
    let (waiter, worker) = first_and_frozen(&case, &[]);
    let node = case.wait_for_contenders(1).remove(0);
    thaw(worker);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(6).stdout, format!("ran under {}/{node}\n", case.path()));
}

/// Another contender had the lock meanwhile, so the worker's lock is no longer valid when it continues.
#[test]
fn a_worker_frozen_for_longer_than_its_session_runs_nothing_under_the_old_lock() {
    let case = Case::new("window-lease");
    let (waiter, worker) = first_and_frozen(&case, &["--session-timeout", "4"]);
    let queued = waiter.wait_for_line("queued as ", DEADLINE);
    let old = queued.rsplit('/').next().expect("a node").to_owned();
    let next = case.holder();
    assert!(!case.contenders().contains(&old), "its session is over");
    thaw(worker);
    waiter.wait_for_line("the session was lost while waiting", DEADLINE);
    waiter.wait_for_line(": position ", DEADLINE);
    case.wait_for_contenders(2);
    assert_eq!(waiter.stdout().text(), "");
    next.signal(Signal::SIGTERM);
    next.wait(DEADLINE);
    let output = waiter.wait(DEADLINE);
    assert!(output.assert_code(6).stdout.starts_with("ran under "), "{output}");
    assert!(!output.stdout.contains(&old), "{output}");
}

/// A contender that has no time to queue again fails, and runs nothing.
#[test]
fn a_worker_frozen_until_its_lease_was_over_runs_nothing() {
    let case = Case::new("window-limit");
    let (waiter, worker) = first_and_frozen(&case, &["--session-timeout", "4", "-w", "7"]);
    let frozen_since = Instant::now();
    let next = case.holder();
    wait_until("the end of its time", DEADLINE, || frozen_since.elapsed() > Duration::from_secs(7));
    thaw(worker);
    let output = waiter.wait(DEADLINE);
    assert!(matches!(output.code, Some(124 | 125)), "{output}");
    assert_eq!(output.stdout, "");
    next.signal(Signal::SIGTERM);
    next.wait(DEADLINE);
}

#[test]
fn a_worker_frozen_while_it_leaves_the_queue_blocks_no_waiter() {
    let proxy = Proxy::to(shared());
    let case = Case::new("window-leaving").through(&proxy.connect_string());
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["true"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let worker = worker_of(waiter.pid());
    proxy.once(op::DELETE, At::Hold);
    waiter.signal(Signal::SIGTERM);
    proxy.wait_fired(1, DEADLINE);
    // The worker has received the signal, and its node still exists.
    freeze(worker);
    let output = waiter.wait(DEADLINE);
    output.assert_signal(Signal::SIGTERM).assert_stderr("didn't react to SIGTERM");
    proxy.release();
    case.wait_for_contenders(1);
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}

/// A job that has ended by itself and left a process in the background, which no longer belongs to it. The request to
/// delete its node is in flight.
fn releasing(case: &Case, proxy: &Proxy) -> (Running, Pid) {
    let script = "sleep 61 >/dev/null 2>&1 & echo ready $!; exit 5";
    proxy.once(op::DELETE, At::Hold);
    let running = start(case, &[], script);
    let bystander = running.stdout().wait_for("ready", DEADLINE)["ready ".len()..].to_owned();
    proxy.wait_fired(1, DEADLINE);
    (running, Pid::from_raw(bystander.parse().expect("a pid")))
}

#[track_caller]
fn assert_spared(bystander: Pid) {
    assert!(is_alive(bystander), "whoever was no longer the job was killed");
    kill(bystander, Signal::SIGKILL).expect("the bystander");
}

#[test]
fn a_monitor_killed_between_the_job_s_end_and_the_release_kills_no_other_process() {
    let proxy = Proxy::to(shared());
    let case = Case::new("window-release").through(&proxy.connect_string());
    let (running, bystander) = releasing(&case, &proxy);
    let worker = worker_of(running.pid());
    running.signal(Signal::SIGKILL);
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    proxy.cut_all();
    proxy.release();
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
    wait_until("the end of the worker", DEADLINE, || !is_alive(worker));
    assert_spared(bystander);
}

#[test]
fn a_worker_killed_between_the_job_s_end_and_the_release_kills_no_other_process_and_keeps_the_code() {
    let proxy = Proxy::to(shared());
    let case = Case::new("window-release-worker").through(&proxy.connect_string());
    let (running, bystander) = releasing(&case, &proxy);
    kill_worker(&running);
    proxy.cut_all();
    proxy.release();
    let output = running.wait(DEADLINE);
    output.assert_code(5).assert_stderr("the command had ended before");
    assert_eq!(case.contenders(), [""; 0]);
    assert_spared(bystander);
}
