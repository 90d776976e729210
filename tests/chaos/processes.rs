//! Processes as `/proc` tells of them: who belongs to a zklock.

use crate::support::{children_of, is_alive, is_stopped, try_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

/// The worker of a zklock, if there is one.
pub(crate) fn worker_of(zklock: Pid) -> Option<Pid> {
    let is_worker = |pid: &Pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "zklock-worker")
    };
    children(zklock).into_iter().find(is_worker)
}

/// Kills every process below a zklock whose two processes stand still, and leaves only those.
pub(crate) fn kill_all_below(zklock: Pid, worker: Pid) {
    // One that was being born at the first look is found at the next.
    let mut quiet = 0;
    try_for(Duration::from_secs(1), || {
        let mut below: Vec<_> = [zklock, worker].into_iter().flat_map(children).collect();
        let mut next = 0;
        while let Some(&parent) = below.get(next) {
            below.extend(children(parent));
            next += 1;
        }
        below.retain(|&pid| pid != worker && is_alive(pid));
        for &pid in &below {
            kill(pid, Signal::SIGKILL).ok();
        }
        quiet = if below.is_empty() { quiet + 1 } else { 0 };
        (quiet == 3).then_some(())
    });
}

/// Stops a process, and returns when it stands still, or is gone.
pub(crate) fn stop(pid: Pid) {
    if kill(pid, Signal::SIGSTOP).is_ok() {
        try_for(Duration::from_secs(1), || (!is_alive(pid) || is_stopped(pid)).then_some(()));
    }
}

fn children(parent: Pid) -> Vec<Pid> {
    children_of(parent).into_iter().map(|(pid, _)| pid).collect()
}
