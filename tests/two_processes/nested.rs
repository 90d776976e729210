//! Nested zklocks, of which one process is killed.

use super::{HAND_OFF, worker_of};
use crate::support::{
    Case, DEADLINE, Output, Running, WORKER, children_of, freeze, processes_of, status_of, wait_for,
    wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Two pairs of processes around one command, and the path of the inner lock.
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
        let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "--session-timeout", "5", &second];
        let outer = case.lock(&[], inner.into_iter().chain(["--", "bash", "-c", script])).spawn();
        outer.wait_for_stdout("ready", DEADLINE);
        let inner = wait_for("the inner zklock", DEADLINE, || {
            let below = children_of(worker_of(outer.pid())).into_iter().map(|(pid, _)| pid);
            below.into_iter().find(|pid| status_of(*pid, "Name").as_deref() == Some("zklock"))
        });
        Self { case, outer, inner, second }
    }

    /// Kills one process: the command ends with all its processes, and both locks are freed. If both inner processes
    /// are killed as part of the outer command, the inner lock is freed at the end of its session.
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
fn killing_the_inner_worker_frees_both_locks() {
    let nest = Nest::start("inner-worker");
    let worker = worker_of(nest.inner);
    let output = nest.end(worker);
    output.assert_code(123).assert_stderr("the worker process was killed by signal 9");
}

#[test]
fn killing_the_inner_monitor_frees_both_locks() {
    let nest = Nest::start("inner-monitor");
    let inner = nest.inner;
    nest.end(inner).assert_signal(Signal::SIGKILL);
}

#[test]
fn killing_the_outer_worker_frees_both_locks() {
    let nest = Nest::start("outer-worker");
    let worker = worker_of(nest.outer.pid());
    let output = nest.end(worker);
    output.assert_code(123).assert_stderr("the worker process was killed by signal 9");
}

#[test]
fn killing_the_outer_monitor_frees_both_locks() {
    let nest = Nest::start("outer-monitor");
    let outer = nest.outer.pid();
    nest.end(outer).assert_signal(Signal::SIGKILL);
}

/// The inner zklock has exec'd the command: there is one pair of processes.
#[test]
fn nested_zklocks_on_the_same_path_have_one_worker() {
    let case = Case::new("nested-one");
    let words = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), case.path(), "--"];
    let script = ["bash", "-c", "echo ready; sleep 61 & wait"];
    let outer = case.lock(&[], words.into_iter().chain(script)).spawn();
    outer.wait_for_stdout("ready", DEADLINE);
    let named = |name: &str| status_of_all(&case).iter().filter(|found| *found == name).count();
    assert_eq!((named("zklock"), named(WORKER)), (1, 1), "{:?}", status_of_all(&case));
    kill(worker_of(outer.pid()), Signal::SIGKILL).expect("a worker");
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
    assert!(outer.wait(DEADLINE).assert_code(123).closed);
}

fn status_of_all(case: &Case) -> Vec<String> {
    processes_of(case.marker()).into_iter().filter_map(|(pid, _)| status_of(pid, "Name")).collect()
}

/// The outer command is stopped by force, and the inner zklock gets a moment to delete its node. On a busy host that isn't
/// enough, and the node goes with its session.
#[test]
fn a_frozen_outer_worker_frees_both_locks() {
    let case = Case::new("outer-frozen");
    let second = format!("{}-b", case.path());
    let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "--session-timeout", "12", &second];
    let job = ["--", "bash", "-c", "echo ready; sleep 61 & setsid sleep 62 & wait"];
    let outer = case.lock(&["--session-timeout", "12"], inner.into_iter().chain(job)).spawn();
    outer.wait_for_stdout("ready", DEADLINE);
    freeze(worker_of(outer.pid()));
    outer.wait(DEADLINE).assert_code(123);
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
    case.observer().wait_for_contenders(&second, 0, DEADLINE);
    wait_until("the end of all", HAND_OFF, || processes_of(case.marker()).is_empty());
}
