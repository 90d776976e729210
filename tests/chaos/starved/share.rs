//! How much processor time a zklock and its command get.

use super::host::Host;
use crate::support::{Cgroup, children_of, command_of, worker_of};
use nix::unistd::Pid;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;
use zklock::process::proc_stat;

/// Its weight among the busy processes, or its quota. A low priority that zklock can't give up isn't among them: the kernel
/// promises it nothing, and a command that gets a moment of time before zklock does can't be stopped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// As much as each busy process.
    Usual,
    /// A cgroup of its own, with a hog.
    Quota,
    /// More, which takes `CAP_SYS_NICE`.
    Raised,
    /// A cgroup of its own, of ten times the weight of another.
    Weighted,
    RealTime,
    /// `nice -n 19` from the start, which zklock gives up and its command keeps. Takes `CAP_SYS_NICE`.
    Nice,
    /// The same with `SCHED_IDLE`.
    Idle,
}

impl Share {
    pub(super) const ALL: [Self; 7] =
        [Self::Usual, Self::Quota, Self::Raised, Self::Weighted, Self::RealTime, Self::Nice, Self::Idle];

    /// The name in the table, and in the names of contenders.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Usual => ("as the others", "usual"),
            Self::Nice => ("nice -n 19", "nice"),
            Self::Quota => ("quota of 3 %", "quota"),
            Self::Raised => ("nice -n -5", "raised"),
            Self::Weighted => ("CPUWeight=1000", "weighted"),
            Self::RealTime => ("chrt -f 1", "realtime"),
            Self::Idle => ("chrt --idle 0", "idle"),
        }
    }

    /// Whether it is so little that a lock is lost for it. With a larger share it is lost only to what else slows down the
    /// server or the connection.
    pub(super) fn starves(self) -> bool {
        self == Self::Quota
    }

    /// The words that start it, nice value and scheduling policy of its command (sched(7)), if zklock gives those up.
    fn low(self) -> Option<(&'static [&'static str], [i32; 2])> {
        match self {
            Self::Nice => Some((&["nice", "-n", "19"], [19, 0])),
            Self::Idle => Some((&["chrt", "--idle", "0"], [0, 5])),
            _ => None,
        }
    }

    /// The words that start it.
    pub(super) fn prefix(self) -> &'static [&'static str] {
        self.low().map_or(&[], |(words, _)| words)
    }

    fn may_be_given_up(self) -> bool {
        let mut shell = Command::new("env");
        let give_up = "renice -n 0 -p $$ && chrt --other --pid 0 $$ && [ \"$(nice)\" = 0 ]";
        shell.args(self.prefix()).args(["sh", "-c", give_up]).stdout(Stdio::null()).stderr(Stdio::null());
        self.low().is_none() || shell.status().is_ok_and(|status| status.success())
    }

    /// What is wrong with the priorities of a zklock and its command.
    pub(super) fn check(self, zklock: Pid) -> Result<(), String> {
        let Some((_, of_command)) = self.low() else { return Ok(()) };
        let priority = |pid| proc_stat::of(pid).map(|stat| [stat.nice, stat.policy]);
        let found = [zklock, worker_of(zklock), command_of(zklock)].map(priority);
        if found == [Some([0, 0]), Some([0, 0]), Some(of_command)] {
            return Ok(());
        }
        Err(format!("nice value and scheduling policy of monitor, worker and command are {found:?}"))
    }

    /// Whether this machine and this user can have it. If not, that is printed.
    pub(super) fn is_possible(self, host: &Host) -> bool {
        let cgroup = self.cgroup(Duration::from_secs(10));
        let has_its_cgroup = cgroup.is_some() || !matches!(self, Self::Quota | Self::Weighted);
        let mut probe = Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = Pid::from_raw(probe.id().try_into().expect("a pid"));
        let is_priority = matches!(self, Self::Nice | Self::Idle | Self::Raised);
        let counts = !is_priority || host.goes_by_priority();
        let is_possible =
            has_its_cgroup && counts && self.give(pid, cgroup.as_ref()) && self.may_be_given_up();
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
            Self::Raised => &["renice", "-n", "-5", "-p"],
            Self::RealTime => &["chrt", "--fifo", "--pid", "1"],
            Self::Usual | Self::Quota | Self::Weighted | Self::Nice | Self::Idle => return true,
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
