//! Finds the processes that are left of a trial, by a word in their command line or environment.

use crate::support::try_for;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The processes that are left after `within`. A chain of processes may fork faster than `/proc` is scanned, so a scan
/// counts only if nothing was written to the history meanwhile. Two scans are needed, because a process has no
/// environment for a moment during exec.
pub(super) fn left(word: &str, history: &Path, within: Duration) -> Vec<String> {
    let length = || fs::metadata(history).map(|file| file.len()).unwrap_or_default();
    let gone = || {
        let before = length();
        of(word).is_empty() && of(word).is_empty() && length() == before
    };
    if try_for(within, || gone().then_some(())).is_some() {
        return vec![];
    }
    let found: Vec<_> = of(word).into_iter().map(|(pid, what)| format!("{pid} {what}")).collect();
    if found.is_empty() {
        vec!["some that still write, and are too quick to be seen".to_owned()]
    } else {
        found
    }
}

/// Kills the processes that are left.
pub(super) fn kill_left(word: &str) {
    try_for(Duration::from_secs(2), || {
        let left = of(word);
        for (pid, _) in &left {
            kill(*pid, Signal::SIGKILL).ok();
        }
        left.is_empty().then_some(())
    });
}

fn of(word: &str) -> Vec<(Pid, String)> {
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let found = pids.filter_map(|pid| {
        // A process may end before it is read.
        let read = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let has_it = command.contains(word) || String::from_utf8_lossy(&read("environ")).contains(word);
        has_it.then(|| {
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let state: Vec<_> = stat.rsplit(") ").next().unwrap_or_default().split(' ').take(2).collect();
            (Pid::from_raw(pid), format!("(state and parent: {}) {command}", state.join(" ")))
        })
    });
    found.collect()
}
