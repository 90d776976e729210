//! Which process this zklock is, and which zklocks started it.

use std::fs;
use std::iter::successors;

use nix::unistd::Pid;

use super::proc_stat;
use crate::core::lock::record::Process;
use crate::core::run::Ancestor;

/// The name of a process that may hold a lock.
const NAME: &str = "zklock";

/// No longer chain of processes is followed.
const LONGEST: usize = 64;

/// Tells the process with this number from every other one. `None` where `/proc` doesn't say.
pub fn process(pid: Pid) -> Option<Process> {
    let started = proc_stat::of(pid)?.started;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    Some(Process { boot, namespace, started })
}

/// The zklocks among the ancestors of this process, from its parent on.
pub fn ancestors(pid: Pid) -> Vec<Ancestor> {
    let parent = |process: &proc_stat::Process| proc_stat::of(Pid::from_raw(process.parent));
    let all = successors(proc_stat::of(pid), parent).skip(1).take(LONGEST);
    let zklocks = all.filter(|process| process.name == NAME);
    zklocks
        .filter_map(|process| {
            Some(Ancestor { pid: u32::try_from(process.pid).ok()?, started: process.started })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpid, getppid};

    use super::*;

    #[test]
    fn this_process_is_told_from_its_parent() {
        let own = process(getpid());
        assert!(own.is_some());
        assert_ne!(own, process(getppid()));
        assert_eq!(process(Pid::from_raw(i32::MAX)), None);
    }
}
