//! The identity of this zklock's process, and the zklocks that started it.

use std::fs;
use std::iter::successors;

use nix::unistd::Pid;

use super::proc_stat;
use crate::core::lock::record::Process;
use crate::core::run::Ancestor;

/// The name of a process that may hold a lock, unless its file was renamed.
const NAME: &str = "zklock";

/// The longest chain of processes to follow.
const LONGEST: usize = 64;

/// The identity of the process with this pid, different from that of every other process. `None` if `/proc` doesn't
/// provide it.
pub fn process(pid: Pid) -> Option<Process> {
    let started = proc_stat::of(pid)?.started;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    Some(Process { boot, namespace, started })
}

/// The zklocks among the ancestors of this process, starting with its parent.
pub fn ancestors(pid: Pid) -> Vec<Ancestor> {
    let parent = |process: &proc_stat::ProcessStat| proc_stat::of(Pid::from_raw(process.parent));
    let own = proc_stat::of(pid);
    let own_name = own.as_ref().map_or(NAME, |own| &own.name).to_owned();
    let all = successors(own, parent).skip(1).take(LONGEST);
    let zklocks = all.filter(|process| process.name == NAME || process.name == own_name);
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
    fn this_process_differs_from_its_parent() {
        let own = process(getpid());
        assert!(own.is_some());
        assert_ne!(own, process(getppid()));
        assert_eq!(process(Pid::from_raw(i32::MAX)), None);
    }
}
