//! Finds the processes of a run, and kills a zklock with all its processes.

use crate::contender::Place;
use crate::support::{children_of, is_alive, is_stopped, processes_of, try_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

/// The processes with the marker of this run, and those that name its directory: some of a job have no environment.
pub(crate) fn of_run(place: &Place) -> Vec<(Pid, String)> {
    let names_it = |pid: &Pid| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&*place.dir.to_string_lossy())
    };
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Pid::from_raw);
    let named = pids.filter(names_it).map(|pid| (pid, "names the directory of the run".to_owned()));
    processes_of(&place.marker).into_iter().chain(named).collect()
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
