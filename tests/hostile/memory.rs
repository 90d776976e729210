//! How much memory a process takes.

use nix::unistd::Pid;
use std::fs;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Watches a process until it ends.
pub(super) struct Memory(JoinHandle<u64>);

impl Memory {
    pub(super) fn watch(pid: Pid) -> Self {
        Self(thread::spawn(move || {
            let mut peak = 0;
            // One that has ended has no memory, though it isn't reaped yet.
            while let Some(now) = peak_of(pid) {
                peak = now;
                thread::sleep(Duration::from_millis(5));
            }
            peak
        }))
    }

    /// The most that it ever had; waits for its end.
    pub(super) fn peak_kib(self) -> u64 {
        self.0.join().unwrap()
    }
}

/// Its peak up to now, in KiB.
fn peak_of(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
