//! A zklock in the command of another, of which one process is killed.

use super::{HAND_OFF, worker_of};
use crate::support::{
    Case, Output, Running, SOON, children_of, freeze, processes_of, status_of, wait_for, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Two pairs around one command, and the second lock.
struct Nest {
    case: Case,
    outer: Running,
    inner: Pid,
    second: String,
}

impl Nest {
    #[track_caller]
    fn start(name: &str) -> Self {
        let case = Case::new(name);
        let second = format!("{}-b", case.path());
        let script = "echo ready; sleep 61 & setsid sleep 62 & wait";
        let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "--session-timeout", "3", &second];
        let outer = case.lock(&[], inner.into_iter().chain(["--", "bash", "-c", script])).spawn();
        outer.wait_for_stdout("ready", SOON);
        let inner = wait_for("the inner one", SOON, || {
            let below = children_of(worker_of(outer.pid())).into_iter().map(|(pid, _)| pid);
            below.into_iter().find(|pid| status_of(*pid, "Name").as_deref() == Some("zklock"))
        });
        Self { case, outer, inner, second }
    }

    /// One is killed: the command ends with all its processes, and both locks are free. Where both inner ones end at
    /// once, as part of the outer one's command, the second is so at the end of its session.
    #[track_caller]
    fn end(self, killed: Pid) -> Output {
        kill(killed, Signal::SIGKILL).expect("a process");
        let Self { case, outer, second, .. } = self;
        let output = outer.wait(HAND_OFF);
        case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
        case.observer().wait_for_contenders(&second, 0, HAND_OFF);
        wait_until("the end of all", HAND_OFF, || processes_of(case.marker()).is_empty());
        output
    }
}

#[test]
fn the_inner_worker() {
    let nest = Nest::start("inner-worker");
    let worker = worker_of(nest.inner);
    let output = nest.end(worker);
    output.assert_code(123).assert_stderr("the worker process was killed by signal 9");
}

#[test]
fn the_inner_monitor() {
    let nest = Nest::start("inner-monitor");
    let inner = nest.inner;
    nest.end(inner).assert_signal(Signal::SIGKILL);
}

#[test]
fn the_outer_worker() {
    let nest = Nest::start("outer-worker");
    let worker = worker_of(nest.outer.pid());
    let output = nest.end(worker);
    output.assert_code(123).assert_stderr("the worker process was killed by signal 9");
}

#[test]
fn the_outer_monitor() {
    let nest = Nest::start("outer-monitor");
    let outer = nest.outer.pid();
    nest.end(outer).assert_signal(Signal::SIGKILL);
}

/// The inner one has become the command: there is one pair, and nothing of it is lost.
#[test]
fn on_the_same_path_there_is_one_worker() {
    let case = Case::new("nested-one");
    let words = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), case.path(), "--"];
    let script = ["bash", "-c", "echo ready; sleep 61 & wait"];
    let outer = case.lock(&[], words.into_iter().chain(script)).spawn();
    outer.wait_for_stdout("ready", SOON);
    let named = |name: &str| status_of_all(&case).iter().filter(|found| *found == name).count();
    assert_eq!((named("zklock"), named("zklock-worker")), (1, 1), "{:?}", status_of_all(&case));
    kill(worker_of(outer.pid()), Signal::SIGKILL).expect("a worker");
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
    assert!(outer.wait(SOON).assert_code(123).closed);
}

fn status_of_all(case: &Case) -> Vec<String> {
    processes_of(case.marker()).into_iter().filter_map(|(pid, _)| status_of(pid, "Name")).collect()
}

/// The outer one is stopped by force, and the inner one gets a moment to take back what it has in its queue.
#[test]
fn a_frozen_outer_worker_costs_the_inner_lock_nothing() {
    let case = Case::new("outer-frozen");
    let second = format!("{}-b", case.path());
    let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "--session-timeout", "40", &second];
    let job = ["--", "bash", "-c", "echo ready; sleep 61 & setsid sleep 62 & wait"];
    let outer = case.lock(&["--session-timeout", "12"], inner.into_iter().chain(job)).spawn();
    outer.wait_for_stdout("ready", SOON);
    freeze(worker_of(outer.pid()));
    outer.wait(SOON).assert_code(123);
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
    case.observer().wait_for_contenders(&second, 0, HAND_OFF);
    wait_until("the end of all", HAND_OFF, || processes_of(case.marker()).is_empty());
}
