//! Nested zklocks, of which one process is killed.

use super::{HAND_OFF, worker_of};
use crate::support::{Case, DEADLINE, WORKER, freeze, processes_of, status_of, wait_until};
use nix::sys::signal::{Signal, kill};

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
