//! How much memory zklock takes.

use nix::unistd::Pid;
use std::fs;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Watches a zklock until it ends.
pub(crate) struct Memory(JoinHandle<u64>);

impl Memory {
    pub(crate) fn watch(zklock: Pid) -> Self {
        Self(thread::spawn(move || {
            let mut peak = 0;
            // One that has ended has no memory, though it isn't reaped yet.
            while let Some(of_monitor) = peak_of(zklock) {
                let of_children = children(zklock).into_iter().filter_map(peak_of).max();
                peak = peak.max(of_monitor).max(of_children.unwrap_or_default());
                thread::sleep(Duration::from_millis(5));
            }
            peak
        }))
    }

    /// The most that its monitor or its worker ever had; waits for its end.
    pub(crate) fn peak_kib(self) -> u64 {
        self.0.join().unwrap()
    }
}

/// Its worker, which is whom a server can make take any.
fn children(zklock: Pid) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{zklock}/task/{zklock}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}

/// Its peak up to now, in KiB.
fn peak_of(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
