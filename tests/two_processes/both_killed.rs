//! Both of zklock's processes are killed at once. The kernel then kills the command's process group; what has left the
//! group lives on, and only the end of the session and the fencing token protect the next holder from it.

use super::worker_of;
use crate::support::{
    Case, DEADLINE, Running, children_of, command_of, freeze, is_alive, kill_all, processes_of, start,
    wait_for, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid};

/// A command that ignores what can be ignored. It prints the pids of a child, of a child of that, and of one that has
/// left its group.
const SCRIPT: &str = "trap '' TERM HUP INT; \
    bash -c 'sleep 61 & echo \"in $!\"; wait' & echo \"in $!\"; \
    setsid sleep 62 & echo \"out $!\"; wait";

/// Kills both at once: neither acts on the death of the other. On a busy machine a process that isn't stopped may kill
/// all descendants of the command between two calls of kill(2). The worker goes first: the kernel continues it when the
/// monitor dies.
fn kill_both(zklock: &Running) {
    let (monitor, worker) = (zklock.pid(), worker_of(zklock.pid()));
    for process in [monitor, worker] {
        freeze(process);
    }
    for process in [worker, monitor] {
        kill(process, Signal::SIGKILL).expect("a process");
    }
}

fn pids(running: &Running, place: &str) -> Vec<Pid> {
    let printed = running.stdout().text();
    let pids = printed.lines().filter_map(|line| line.strip_prefix(place));
    pids.map(|pid| Pid::from_raw(pid.trim().parse().expect("a pid"))).collect()
}

#[test]
fn the_command_s_group_dies_with_both_processes_and_the_next_starts_when_the_session_has_ended() {
    let case = Case::new("both-killed");
    let first = case.lock(&["--session-timeout", "6"], ["bash", "-c", SCRIPT]).spawn();
    let inside =
        wait_for("two children", DEADLINE, || Some(pids(&first, "in ")).filter(|pids| pids.len() == 2));
    let outside = wait_for("a third", DEADLINE, || pids(&first, "out ").pop());
    let command = command_of(first.pid());
    wait_until("it to leave the group", DEADLINE, || getpgid(Some(outside)) == Ok(outside));
    let next = case.lock(&[], ["echo", "next"]).spawn();
    case.wait_for_contenders(2);
    kill_both(&first);
    for pid in [command].into_iter().chain(inside) {
        wait_until("the group to die", DEADLINE, || !is_alive(pid));
    }
    assert_eq!(next.wait(DEADLINE).assert_code(0).stdout, "next\n");
    assert!(is_alive(outside), "if nothing lives on any more, the documentation must say so");
    kill_all(case.marker());
    first.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

/// A stopped process takes no signal but KILL.
#[test]
fn a_stopped_command_dies_with_both_processes() {
    let case = Case::new("both-killed-stopped");
    let running = start(&case, &["--session-timeout", "4"], "echo ready; sleep 61; :");
    let command = command_of(running.pid());
    let child = wait_for("its child", DEADLINE, || children_of(command).first().map(|(pid, _)| *pid));
    for pid in [child, command] {
        kill(pid, Signal::SIGSTOP).expect("a process");
    }
    kill_both(&running);
    wait_until("the end of all", DEADLINE, || processes_of(case.marker()).is_empty());
    case.wait_for_contenders(0);
    running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

#[test]
fn a_background_process_of_the_command_outlives_a_normal_end() {
    let case = Case::new("background-lives");
    let output = case.lock(&[], ["bash", "-c", "sleep 61 >&- 2>&- & echo \"in $!\""]).run();
    output.assert_code(0);
    let pid = output.stdout.trim().trim_start_matches("in ").parse().expect("a pid");
    assert!(is_alive(Pid::from_raw(pid)));
    kill_all(case.marker());
}
