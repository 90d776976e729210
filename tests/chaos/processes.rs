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

/// The job of a worker, if there is one.
pub(crate) fn job_of(worker: Pid) -> Option<Pid> {
    // Whom the worker inherits is younger than that.
    children(worker).first().copied()
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
