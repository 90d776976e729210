//! A forced stop ends every descendant of the command. When the command ends by itself, its descendants are left alone.

use super::delete_node;
use crate::support::{Case, DEADLINE, children_of, is_alive, processes_of, start, wait_until, without_lists};
use nix::sys::signal::{Signal, kill};

/// Stops the command once this many descendants run, and asserts that none is left when zklock exits.
#[track_caller]
fn assert_all_gone(name: &str, options: &[&str], script: &str, processes: usize) {
    let case = Case::new(name);
    let running = start(&case, options, script);
    // Plus zklock, its worker and the script's own shell.
    wait_until("the whole job", DEADLINE, || processes_of(case.marker()).len() >= processes + 3);
    let marked = processes_of(case.marker());
    delete_node(&case);
    let output = running.wait(DEADLINE);
    for (pid, name) in marked {
        assert!(!is_alive(pid), "{name} outlived zklock: {output}");
    }
    output.assert_code(123);
    assert!(output.closed, "{output}");
}

const SOME_GRACE: &[&str] = &["--kill-after", "0.5"];

#[test]
fn a_stop_ends_a_pipeline() {
    assert_all_gone("pipeline", &[], "echo ready; sleep 61 | sleep 62 | sleep 63; :", 3);
}

#[test]
fn a_stop_ends_a_child_that_ignores_term() {
    let script = "(trap '' TERM; echo ready; while :; do sleep 0.05; done) & wait";
    assert_all_gone("stubborn-child", SOME_GRACE, script, 1);
}

#[test]
fn a_stop_ends_a_background_child_whose_parent_has_ended() {
    let script = "(sleep 61 & sleep 62 &) ; echo ready; sleep 63; :";
    assert_all_gone("background", &[], script, 3);
}

#[test]
fn a_stop_ends_a_child_in_a_session_of_its_own() {
    let script = "setsid sleep 61 & setsid setsid sleep 62 & echo ready; sleep 63; :";
    assert_all_gone("setsid", &[], script, 3);
}

#[test]
fn a_stop_ends_a_daemon_that_ignores_term() {
    let daemon = "trap \"\" TERM HUP; while :; do sleep 0.05; done";
    let script = format!("(setsid bash -c '{daemon}' &) ; echo ready; sleep 63; :");
    assert_all_gone("daemon", SOME_GRACE, &script, 2);
}

#[test]
fn a_stop_ends_a_stopped_child() {
    let script =
        "sleep 61 & kill -STOP $!; setsid bash -c 'kill -STOP $$; sleep 62; :' & echo ready; sleep 63; :";
    assert_all_gone("stopped-child", &["--kill-after", "20"], script, 3);
}

#[test]
fn a_stop_ends_children_that_outlive_the_command() {
    let script = "trap 'exit 0' TERM; setsid bash -c \"trap '' TERM; while :; do sleep 0.05; done\" & \
                  echo ready; sleep 61 & wait";
    assert_all_gone("outlives", SOME_GRACE, script, 2);
}

#[test]
fn a_stop_ends_children_that_fork_fast() {
    let script = "forks() { trap '' TERM; while :; do sleep 0.01; done; }; \
                  for i in 1 2 3 4; do (forks & forks) & done; echo ready; wait";
    assert_all_gone("forks", SOME_GRACE, script, 8);
}

/// The kernel shows the process as a zombie, but its other thread still works.
#[test]
fn a_stop_ends_a_child_whose_first_thread_has_ended() {
    let script = "import ctypes, threading, time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); \
                  threading.Thread(target=lambda: time.sleep(60)).start(); \
                  ctypes.CDLL(None).pthread_exit(None)";
    let script = format!(
        "python3 -c '{script}' & child=$!; \
                  until grep -q 'State:.Z' /proc/$child/status; do sleep 0.01; done; echo ready $child; wait"
    );
    let case = Case::new("headless");
    let running = start(&case, &["--kill-after", "1"], &script);
    let line = running.wait_for_stdout("ready", DEADLINE);
    let child = line["ready ".len()..].to_owned();
    delete_node(&case);
    running.wait(DEADLINE).assert_code(123);
    let threads = std::fs::read_dir(format!("/proc/{child}/task")).map_or(0, Iterator::count);
    assert!(threads < 2, "{threads} threads of {child} are left");
}

#[test]
fn background_processes_that_the_command_leaves_are_not_stopped() {
    let case = Case::new("left-alone");
    let script = "setsid sleep 61 >/dev/null 2>&1 & sleep 62 >/dev/null 2>&1 & exit 3";
    let output = case.lock(&[], ["bash", "-c", script]).run();
    output.assert_code(3);
    assert!(output.closed, "{output}");
    let left = processes_of(case.marker());
    assert_eq!(left.len(), 2, "{left:?}");
    for (pid, name) in left {
        assert!(is_alive(pid), "{name}");
        assert_eq!(children_of(pid), []);
        kill(pid, Signal::SIGKILL).expect("a process to clean up");
    }
}

/// As one that was built without `CONFIG_PROC_CHILDREN`.
#[test]
fn a_kernel_that_lists_no_children_is_refused_before_anything_is_started() {
    let case = Case::new("unlisted");
    let output = case.lock(&[], ["echo", "ran"]).env("LD_PRELOAD", without_lists(case.dir())).run();
    output
        .assert_code(125)
        .assert_stdout("")
        .assert_stderr("zklock needs a kernel with CONFIG_PROC_CHILDREN");
    assert!(!case.observer().exists(case.path()));
}
