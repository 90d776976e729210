//! The zklocks among the ancestors of this process.

use std::iter::successors;

use nix::unistd::Pid;
use zklock_core::run::Ancestor;

use super::descendants::children_of;
use crate::link::is_worker;
use crate::process::proc_stat::{self, ProcessStat};

/// The longest chain of ancestors that is followed.
const LONGEST: usize = 1024;

/// The zklocks among the ancestors of this process that wait for the end of a command, starting with the nearest.
pub fn ancestors(pid: Pid) -> Vec<Ancestor> {
    let parent = |process: &ProcessStat| proc_stat::of(Pid::from_raw(process.parent));
    let chain: Vec<ProcessStat> = successors(proc_stat::of(pid), parent).take(LONGEST).collect();
    let outer = chain.array_windows().filter(|[below, worker, monitor]| {
        is_worker(&worker.name) && (is_command(below, monitor) || has_command(worker, monitor))
    });
    outer
        .filter_map(|[.., monitor]| {
            Some(Ancestor { pid: u32::try_from(monitor.pid).ok()?, started: monitor.started })
        })
        .collect()
}

/// Whether a child of this monitor's worker is its command, which leads a process group in the monitor's session. (The
/// worker may have left the session.) Other children are orphans that the worker has adopted, as a subreaper, and doesn't
/// wait for.
fn is_command(child: &ProcessStat, monitor: &ProcessStat) -> bool {
    child.group == child.pid && child.session == monitor.session && !child.is_ending
}

/// Whether the command of this worker is still running.
fn has_command(worker: &ProcessStat, monitor: &ProcessStat) -> bool {
    let children = children_of(Pid::from_raw(worker.pid));
    children.into_iter().filter_map(proc_stat::of).any(|child| is_command(&child, monitor))
}
