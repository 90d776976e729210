//! The worker's loop hangs, for example in a system call that doesn't return. Its session ends, because the loop runs it;
//! the monitor is dead, or has nothing to end.

use super::worker_of;
use crate::support::{Case, DEADLINE, Hung, Server, end, is_alive, processes_of, wait_until};
use nix::sys::signal::Signal;
use std::time::Duration;

#[test]
fn the_command_of_a_hung_loop_without_a_monitor_ends_before_the_next_runs() {
    ends_before_the_next_runs(&Case::new("hung-holds"), "5");
}

#[test]
fn it_ends_in_time_if_a_longer_session_timeout_was_asked_for_than_granted() {
    let server = Server::builder().config("maxSessionTimeout=5000").start();
    ends_before_the_next_runs(&Case::on(&server, "hung-granted"), "600");
}

fn ends_before_the_next_runs(case: &Case, session_timeout: &str) {
    let history = case.history();
    let script = |name| history.steady_job(name);
    let other = script("other").replace('\'', "'\\''");
    let job = format!("setsid bash -c '{other}' & {}", script("first"));
    let options = ["--session-timeout", session_timeout, "--kill-after", "0.5"];
    let first = case.lock(&options, ["bash", "-c", &job]).spawn();
    wait_until("both commands to run", DEADLINE, || history.sections().unwrap().len() == 2);
    let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);
    let hung = Hung::in_its_first_thread(worker_of(first.pid()));
    first.signal(Signal::SIGKILL);
    next.wait(DEADLINE).assert_code(0);
    drop(hung);
    let sections = history.sections().unwrap();
    let [one, other, next] = &sections[..] else { panic!("{sections:?}") };
    assert!(!one.overlaps(next) && !other.overlaps(next), "{sections:?}");
    first.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    wait_until("the end of every process", DEADLINE, || processes_of(case.marker()).is_empty());
}

#[test]
fn a_waiter_whose_loop_hangs_without_a_monitor_leaves_the_queue() {
    let case = Case::new("hung-waits");
    let holder = case.holder();
    let waiter = case.lock(&["-v", "--session-timeout", "2"], ["echo", "must not run"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let worker = worker_of(waiter.pid());
    let hung = Hung::in_its_first_thread(worker);
    waiter.signal(Signal::SIGKILL);
    case.observer().wait_for_contenders(case.path(), 1, Duration::from_secs(30));
    drop(hung);
    wait_until("the worker's end", DEADLINE, || !is_alive(worker));
    assert_eq!(waiter.wait(DEADLINE).assert_signal(Signal::SIGKILL).stdout, "");
    end(holder);
}
