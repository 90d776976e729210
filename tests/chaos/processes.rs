//! Finds and kills the processes of a zklock by `/proc`.

use crate::support::{WORKER, children_of, is_alive, is_stopped, try_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

pub(crate) fn worker_of(zklock: Pid) -> Option<Pid> {
    // The second is the name that one of the mistakes in tests/mistakes gives it.
    let is_name = |name: &str| [WORKER, "zklock-worker"].contains(&name);
    let is_worker = |pid: &Pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| is_name(name.trim_end()))
    };
    children(zklock).into_iter().find(is_worker)
}

/// Kills a zklock and all its processes, as a crash of its host would.
pub(crate) fn kill_host(zklock: Pid, worker: Pid) {
    // Stop both first; otherwise each would notice the death of the other and of the command.
    stop(zklock);
    stop(worker);
    kill_descendants(zklock, worker);
    kill(worker, Signal::SIGKILL).ok();
    kill(zklock, Signal::SIGKILL).ok();
}

/// Kills every descendant of a zklock whose two processes are stopped, and leaves those two.
fn kill_descendants(zklock: Pid, worker: Pid) {
    // Repeated: a single scan misses a process that is being forked.
    let mut empty_scans = 0;
    try_for(Duration::from_secs(1), || {
        let mut descendants: Vec<_> = [zklock, worker].into_iter().flat_map(children).collect();
        let mut next = 0;
        while let Some(&parent) = descendants.get(next) {
            descendants.extend(children(parent));
            next += 1;
        }
        descendants.retain(|&pid| pid != worker && is_alive(pid));
        for &pid in &descendants {
            kill(pid, Signal::SIGKILL).ok();
        }
        empty_scans = if descendants.is_empty() { empty_scans + 1 } else { 0 };
        (empty_scans == 3).then_some(())
    });
}

/// Stops a process, and returns when it is stopped or gone.
fn stop(pid: Pid) {
    if kill(pid, Signal::SIGSTOP).is_ok() {
        try_for(Duration::from_secs(1), || (!is_alive(pid) || is_stopped(pid)).then_some(()));
    }
}

fn children(parent: Pid) -> Vec<Pid> {
    children_of(parent).into_iter().map(|(pid, _)| pid).collect()
}
