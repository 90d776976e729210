//! The kernel's figures of a process.

use std::collections::HashMap;
use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// The children of every process.
pub(crate) fn families() -> HashMap<u32, Vec<u32>> {
    let mut families: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name is in parentheses and may contain any character. The state and the parent follow.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2)?.parse().ok());
        if let Some(parent) = parent {
            families.entry(parent).or_default().push(pid);
        }
    }
    families
}

/// The processor time in milliseconds that all descendants of this process have used which have ended and were reaped.
pub(crate) fn spent_by_children() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the children's usage");
    let ms = |time: TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    ms(usage.user_time()) + ms(usage.system_time())
}

/// The proportional set size in MiB: shared memory is divided by the number of processes that share it.
pub(crate) fn proportional(pid: u32) -> f64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("a process's memory");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).expect("a proportional size");
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).expect("a number") / 1024.0
}

/// The processor time that the threads of a process have used, in milliseconds.
pub(crate) fn spent(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a process's threads");
    let used = tasks.flatten().map(|task| fs::read_to_string(task.path().join("schedstat")));
    let first = |text: String| text.split(' ').next()?.parse::<f64>().ok();
    used.map(|used| used.ok().and_then(first).unwrap_or(0.0) / 1e6).sum()
}
