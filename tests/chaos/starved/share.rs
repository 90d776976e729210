//! How much processor time a zklock and its command get.

use super::host::Host;
use crate::support::{Cgroup, children_of, command_of, worker_of};
use nix::unistd::Pid;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

// Two scheduling policies (sched(7)).
const USUAL: u32 = 0;
const IDLE: u32 = 5;

/// Its weight among the busy processes, or its quota. `SCHED_IDLE` for all of it isn't among them: the kernel promises it
/// nothing, and a command that gets a moment of time before zklock does can't be stopped by it.
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
    /// `SCHED_IDLE` from the start, which zklock gives up and its command keeps. Takes `CAP_SYS_NICE`.
    GivenUp,
}

impl Share {
    pub(super) const ALL: [Self; 7] =
        [Self::Usual, Self::Nice, Self::Quota, Self::Raised, Self::Weighted, Self::RealTime, Self::GivenUp];

    /// The name in the table, and in the names of contenders.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Usual => ("as the others", "usual"),
            Self::Nice => ("nice -n 19", "nice"),
            Self::Quota => ("quota of 3 %", "quota"),
            Self::Raised => ("nice -n -5", "raised"),
            Self::Weighted => ("CPUWeight=1000", "weighted"),
            Self::RealTime => ("chrt -f 1", "realtime"),
            Self::GivenUp => ("chrt --idle 0", "given-up"),
        }
    }

    /// Whether it is so little that a lock is lost for it. With a larger share it is lost only to what else slows down the
    /// server or the connection.
    pub(super) fn starves(self) -> bool {
        matches!(self, Self::Nice | Self::Quota)
    }

    /// The words that start it.
    pub(super) fn prefix(self) -> &'static [&'static str] {
        if self == Self::GivenUp { &["chrt", "--idle", "0"] } else { &[] }
    }

    fn may_begin(self) -> bool {
        let prefix = self.prefix();
        let mut leaving = Command::new("env");
        leaving.args(prefix).args(["chrt", "--other", "0", "true"]).stderr(Stdio::null());
        prefix.is_empty() || leaving.status().is_ok_and(|status| status.success())
    }

    /// What is wrong with the priorities of a zklock and its command that began so.
    pub(super) fn check(self, zklock: Pid) -> Result<(), String> {
        if self != Self::GivenUp {
            return Ok(());
        }
        let worker = worker_of(zklock);
        let policies = [zklock, worker, command_of(zklock)].map(policy);
        if policies == [Some(USUAL), Some(USUAL), Some(IDLE)] {
            return Ok(());
        }
        Err(format!("the scheduling policies of monitor, worker and command are {policies:?}"))
    }

    /// Whether this machine and this user can have it. If not, that is printed.
    pub(super) fn is_possible(self, host: &Host) -> bool {
        let cgroup = self.cgroup(Duration::from_secs(10));
        let has_its_cgroup = cgroup.is_some() || !matches!(self, Self::Quota | Self::Weighted);
        let mut probe = Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = Pid::from_raw(probe.id().try_into().expect("a pid"));
        let is_priority = matches!(self, Self::Nice | Self::Raised | Self::GivenUp);
        let counts = !is_priority || host.goes_by_priority();
        let is_possible = has_its_cgroup && counts && self.give(pid, cgroup.as_ref()) && self.may_begin();
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
            Self::Usual | Self::Quota | Self::Weighted | Self::GivenUp => return true,
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

/// Of a process (sched(7)).
fn policy(pid: Pid) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(38)?.parse().ok()
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
