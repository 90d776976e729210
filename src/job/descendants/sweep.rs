//! Ends every descendant of this process, exactly.
//!
//! A subreaper without children has no descendants. The children are therefore killed and reaped, which hands their
//! children to this process, until none is left. The cost depends on the number of processes to end and not on how many
//! the machine runs. No process escapes by leaving its group, its session or its user, and no pid can have been reused,
//! because only this process reaps.

use std::collections::HashSet;
use std::fmt;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use zklock_core::time::BootTime;

use super::{Children, children_of, is_child_of, is_worker, name};
use crate::process::{clock, sys};

/// The first pause between two rounds; each pause is twice as long as the last, unless something has changed.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_secs(1);

/// Processes that are left this long after KILL are reported.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// How long the worker of another zklock gets to end its command and release its lock.
const GRACE: Duration = Duration::from_millis(500);

/// The most scans for new descendants of the processes that are left.
const SCANS: usize = 16;

/// A process that is left after KILL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pid: Pid,
    name: String,
    /// KILL was refused: the process belongs to another user.
    refused: bool,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = if self.refused {
            "belongs to another user, whose processes zklock may not signal"
        } else {
            "doesn't end after KILL (is it stuck in the kernel?)"
        };
        write!(f, "process {} ({}) {why}", self.pid, self.name)
    }
}

/// How long a process that is about to end tries to end its descendants, and the pause between two rounds then.
const LAST_TRIES: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_millis(2);

/// Ends all descendants of this process, which is about to end, but for the `spared` children, as far as that is possible.
pub fn end_all(children: &Children, spared: &[Pid]) {
    let began = clock::now();
    let mut sweep = Sweep::with_grace_until(None, began);
    while !sweep.round(children, None, spared, clock::now()) && clock::now().since(began) < LAST_TRIES {
        thread::sleep(LAST_PAUSE);
    }
}

/// Ends all descendants of this process, round by round.
#[derive(Debug, Default)]
pub struct Sweep {
    began: Option<BootTime>,
    next: Option<BootTime>,
    pause: Duration,
    left: Vec<Left>,
    is_reported: bool,
    /// Until this time the workers of other zklocks among the descendants may release their locks.
    grace_until: Option<BootTime>,
    /// A worker that gets no grace.
    own: Option<Pid>,
}

impl Sweep {
    /// A sweep that has time until `latest` and leaves some of it to another zklock among the descendants: only its
    /// monitor is killed, and its worker ends its own command and releases its lock within milliseconds. If the worker
    /// were killed together with its monitor, its lock would stay until its session times out.
    pub fn with_grace_until(latest: Option<BootTime>, now: BootTime) -> Self {
        let end = now + GRACE;
        Self { grace_until: Some(latest.map_or(end, |latest| end.min(latest))), ..Self::default() }
    }

    /// Gives this worker no grace, because it is zklock's own and hangs.
    #[must_use]
    pub fn without_grace_for(self, own: Pid) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Kills and reaps the children, except for the `spared`, which aren't zklock's to end. The `leader` is killed but
    /// not reaped, so that its group's id can't be reused. Returns whether no other process is left.
    pub fn round(&mut self, children: &Children, leader: Option<Pid>, spared: &[Pid], now: BootTime) -> bool {
        self.began.get_or_insert(now);
        // The end of the grace counts as a change: workers of other zklocks are killed from now on.
        let mut has_changed = self.grace_until.take_if(|end| now >= *end).is_some();
        loop {
            let Some(all) = children.list() else {
                self.back_off(false, now);
                return false;
            };
            let (mut reaped, mut left) = (false, vec![]);
            for &child in all.iter().filter(|child| !spared.contains(child)) {
                if Some(child) == leader && sys::is_dead(child) {
                    continue;
                }
                if self.has_grace(child) {
                    // A worker that has ended has released its lock, and keeps its name until it is reaped.
                    if reap_if_dead(child) {
                        reaped = true;
                    } else {
                        left.push((child, false));
                    }
                    continue;
                }
                // If it leads a group, the group is killed immediately: until the leader is reaped, the group's id
                // can't be reused.
                if getpgid(Some(child)) == Ok(child) {
                    let _ = killpg(child, Signal::SIGKILL);
                }
                let refused = kill(child, Signal::SIGKILL) == Err(Errno::EPERM);
                if Some(child) != leader && reap_if_dead(child) {
                    reaped = true;
                    continue;
                }
                left.push((child, refused));
            }
            has_changed |= reaped;
            if left.is_empty() && !reaped {
                self.left.clear();
                return true;
            }
            // This process may have inherited children of the reaped ones.
            if !reaped {
                if self.next.is_none_or(|next| next <= now) {
                    has_changed |= self.kill_hidden(left.iter().map(|&(pid, _)| pid));
                }
                let known = |pid| self.left.iter().any(|left| left.pid == pid);
                has_changed |= left.iter().any(|&(pid, _)| !known(pid));
                let named = |(pid, refused)| Left { pid, name: name(pid).unwrap_or_default(), refused };
                if has_changed {
                    self.left = left.into_iter().map(named).collect();
                }
                self.back_off(has_changed, now);
                return false;
            }
        }
    }

    /// Kills all descendants of the processes that are left: they become children of this process only once those are
    /// dead. That may take long, in the kernel, even after KILL; or KILL was refused. Returns whether there may be more
    /// of them.
    fn kill_hidden(&self, left: impl Iterator<Item = Pid>) -> bool {
        let roots: Vec<Pid> = left.filter(|&pid| !self.has_grace(pid)).collect();
        let mut known = HashSet::new();
        for _ in 0..SCANS {
            let (mut parents, mut any_new) = (roots.clone(), false);
            while let Some(parent) = parents.pop() {
                for child in children_of(parent).into_iter().filter(|&child| !self.has_grace(child)) {
                    kill_child_of(parent, child);
                    any_new |= known.insert(child);
                    parents.push(child);
                }
            }
            if !any_new {
                return false;
            }
        }
        true
    }

    fn has_grace(&self, pid: Pid) -> bool {
        self.grace_until.is_some() && self.own != Some(pid) && is_worker(pid)
    }

    /// When to look again if no child dies before.
    pub fn next(&self) -> Option<BootTime> {
        let grace_until = self.grace_until.filter(|_| self.next.is_some());
        [self.next, grace_until].into_iter().flatten().min()
    }

    /// Whether a process is left that may never end.
    pub fn is_stuck(&self) -> bool {
        self.is_reported
    }

    /// The processes that have been left for long, reported once.
    pub fn left_for_long(&mut self, now: BootTime) -> Option<Vec<Left>> {
        let is_long = self.began.is_some_and(|began| now.since(began) >= REPORT_AFTER);
        if !is_long || self.is_reported || self.left.is_empty() {
            return None;
        }
        self.is_reported = true;
        Some(self.left.clone())
    }

    fn back_off(&mut self, has_changed: bool, now: BootTime) {
        self.pause = if has_changed { SHORTEST } else { (self.pause * 2).clamp(SHORTEST, LONGEST) };
        self.next = Some(now + self.pause);
    }
}

/// Whether it was dead, and is reaped.
fn reap_if_dead(child: Pid) -> bool {
    matches!(sys::reap_if_dead(child), Ok(Some(_)))
}

/// Kills a process that its own parent may reap at any time, without hitting another one that has reused its pid.
fn kill_child_of(parent: Pid, child: Pid) {
    let descriptor = pid_of(child).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if !is_child_of(parent, child) {
        return;
    }
    let _ = match descriptor {
        Some(process) => pidfd_send_signal(process, rustix::process::Signal::KILL).is_ok(),
        // A kernel before 5.3, or no file descriptor is available.
        None => kill(child, Signal::SIGKILL).is_ok(),
    };
}

fn pid_of(pid: Pid) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(pid.as_raw())
}
