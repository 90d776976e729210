//! The worker's loop hangs, for example in a system call that doesn't return. Its session ends, because the loop runs it;
//! the monitor is dead.

use super::worker_of;
use crate::support::{Case, DEADLINE, Hung, Server, processes_of, wait_until};
use nix::sys::signal::Signal;

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
    let job = format!("bash -c '{other}' & {}", script("first"));
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
