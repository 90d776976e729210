//! How much processor time a zklock and its command get.

use super::host::Host;
use crate::support::{Cgroup, children_of};
use nix::unistd::Pid;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Its weight among the busy processes, or its quota. `SCHED_IDLE` isn't among them: the kernel promises it nothing, and a
/// command that gets a moment of time before zklock does can't be stopped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// As much as each busy process.
    Usual,
    Nice,
    /// A cgroup of its own, with a hog.
    Quota,
    /// More, which takes `CAP_SYS_NICE`.
    Raised,
    /// A cgroup of its own, of ten times the weight of another.
    Weighted,
    RealTime,
}

impl Share {
    pub(super) const ALL: [Self; 6] =
        [Self::Usual, Self::Nice, Self::Quota, Self::Raised, Self::Weighted, Self::RealTime];

    /// The name in the table, and in the names of contenders.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Usual => ("as the others", "usual"),
            Self::Nice => ("nice -n 19", "nice"),
            Self::Quota => ("quota of 3 %", "quota"),
            Self::Raised => ("nice -n -5", "raised"),
            Self::Weighted => ("CPUWeight=1000", "weighted"),
            Self::RealTime => ("chrt -f 1", "realtime"),
        }
    }

    /// Whether it is so little that a lock is lost for it. With a larger share it is lost only to what else slows down the
    /// server or the connection.
    pub(super) fn starves(self) -> bool {
        matches!(self, Self::Nice | Self::Quota)
    }

    /// Whether this machine and this user can have it. If not, that is printed.
    pub(super) fn is_possible(self, host: &Host) -> bool {
        let cgroup = self.cgroup(Duration::from_secs(10));
        let has_its_cgroup = cgroup.is_some() || !matches!(self, Self::Quota | Self::Weighted);
        let mut probe = Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = Pid::from_raw(probe.id().try_into().expect("a pid"));
        let is_priority = matches!(self, Self::Nice | Self::Raised);
        let counts = !is_priority || host.goes_by_priority();
        let is_possible = has_its_cgroup && counts && self.give(pid, cgroup.as_ref());
        probe.kill().ok();
        probe.wait().ok();
        if !is_possible {
            println!("skipped: {}: not possible here", self.names().0);
        }
        is_possible
    }

    /// The cgroup that it takes, whose hog spins for that long at most.
    pub(super) fn cgroup(self, longest: Duration) -> Option<Cgroup> {
        match self {
            Self::Quota => Cgroup::with_quota(longest),
            Self::Weighted => Cgroup::with_weight(),
            _ => None,
        }
    }

    /// Gives it to this process and all its descendants, with all their threads. Returns whether that is possible.
    pub(super) fn give(self, root: Pid, cgroup: Option<&Cgroup>) -> bool {
        if let Some(cgroup) = cgroup {
            for pid in tree(root) {
                cgroup.limit(pid);
            }
            return true;
        }
        let words: &[&str] = match self {
            Self::Nice => &["renice", "-n", "19", "-p"],
            Self::Raised => &["renice", "-n", "-5", "-p"],
            Self::RealTime => &["chrt", "--fifo", "--pid", "1"],
            Self::Usual | Self::Quota | Self::Weighted => return true,
        };
        threads(root).into_iter().all(|thread| {
            let mut give = Command::new(words[0]);
            give.args(&words[1..]).arg(thread.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
            // It may have ended meanwhile.
            give.status().is_ok_and(|status| status.success())
                || !fs::exists(format!("/proc/{thread}")).unwrap_or(true)
        })
    }
}

/// A process and its descendants: those that have left it are children of zklock's worker.
fn tree(root: Pid) -> Vec<Pid> {
    let below = children_of(root).into_iter().flat_map(|(child, _)| tree(child));
    [root].into_iter().chain(below).collect()
}

fn threads(root: Pid) -> Vec<Pid> {
    let threads = |pid| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = tree(root).into_iter().flat_map(threads);
    threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok().map(Pid::from_raw)).collect()
}
