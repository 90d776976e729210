//! The worker is killed by `kill -9` or the out-of-memory killer.

use super::{HAND_OFF, kill_worker, worker_of};
use crate::support::{
    At, Case, DEADLINE, Proxy, freeze, is_alive, op, processes_of, shared, start, wait_until,
};
use nix::sys::signal::{Signal, kill};

const KILLED: &str = "the worker process was killed by signal 9";

#[test]
fn a_contender_whose_worker_is_killed_while_connecting_fails() {
    let proxy = Proxy::to(shared());
    proxy.blackhole();
    let case = Case::new("worker-connects").through(&proxy.connect_string());
    let waiter = case.lock(&["--connect-timeout", "60"], ["echo", "must not run"]).spawn();
    wait_until("a connection", DEADLINE, || proxy.accepted() > 0);
    kill_worker(&waiter);
    let output = waiter.wait(HAND_OFF);
    output.assert_code(125).assert_stderr(KILLED);
    assert_eq!(output.stdout, "");
}

#[test]
fn a_monitor_that_waits_for_the_servers_to_delete_the_node_says_so() {
    let proxy = Proxy::to(shared());
    let case = Case::new("worker-deleted").through(&proxy.connect_string());
    let running = start(&case, &[], "echo ready; sleep 60; :");
    proxy.blackhole();
    kill_worker(&running);
    running.wait_for_line("deleting the lock node in place of the worker: connecting", DEADLINE);
    proxy.pass();
    running.wait(DEADLINE).assert_code(123).assert_stderr(KILLED);
}

/// Some descendants have left the process group, the session and the parent.
#[test]
fn the_command_of_a_killed_worker_ends_before_the_lock_is_released() {
    for options in [&[][..], &["-s"], &["--slots", "2"]] {
        let case = Case::new("worker-holds");
        let job_script =
            "(setsid sleep 61 & sleep 62 &); env -i sleep 63 & sleep 64 | sleep 65 & echo ready; sleep 66; :";
        let running = start(&case, options, job_script);
        let sleeps =
            || processes_of(case.marker()).iter().filter(|(_, name)| name.starts_with("sleep")).count();
        wait_until("the whole job", DEADLINE, || sleeps() == 5);
        let job = processes_of(case.marker());
        kill_worker(&running);
        case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
        assert!(
            job.iter().all(|(pid, _)| *pid == running.pid() || !is_alive(*pid)),
            "the processes end before the lock is released"
        );
        let output = running.wait(DEADLINE);
        output.assert_code(123).assert_stderr(KILLED).assert_stderr("was stopped with all its processes");
        assert!(output.closed, "the process without an environment has ended too");
    }
}

/// The node's ACL was changed, so the monitor can't see whether it is still zklock's. It must not say that it is gone.
#[test]
fn a_node_that_the_monitor_can_not_read_is_not_reported_as_gone() {
    let case = Case::new("worker-hidden");
    let running = start(&case, &["--session-timeout", "6"], "echo ready; exec sleep 60");
    let node = format!("{}/{}", case.path(), case.wait_for_contenders(1)[0]);
    // Otherwise the worker could notice first that it can't read its node.
    freeze(worker_of(running.pid()));
    case.observer().hide(&node);
    kill_worker(&running);
    let output = running.wait(DEADLINE);
    output.assert_code(123).assert_stderr("the lock node is deleted when its session times out");
    assert!(!output.stderr.contains("the lock node is gone"), "{output}");
    case.wait_for_contenders(0);
}

/// The command has ended by itself, so its exit code counts.
#[test]
fn a_worker_killed_during_the_release_keeps_the_command_s_exit_code() {
    let proxy = Proxy::to(shared());
    let case = Case::new("worker-releases").through(&proxy.connect_string());
    for end in ["exit 3", "exit 0"] {
        proxy.once(op::DELETE, At::Hold);
        let fired = if end == "exit 3" { 1 } else { 2 };
        let running = start(&case, &[], &format!("sleep 61 >/dev/null 2>&1 & echo ready $!; {end}"));
        proxy.wait_fired(fired, DEADLINE);
        kill_worker(&running);
        proxy.cut_all();
        proxy.release();
        let code = end["exit ".len()..].parse().unwrap();
        case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
        let output = running.wait(DEADLINE);
        output.assert_code(code).assert_stderr("the command had ended before");
        // Background processes that the command left are not stopped.
        let left = output.stdout.trim()["ready ".len()..].parse().expect("a pid");
        kill(nix::unistd::Pid::from_raw(left), Signal::SIGKILL).expect("the process that it left");
    }
}
