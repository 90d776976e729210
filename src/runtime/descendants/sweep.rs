//! Ending every process below this one, exactly.
//!
//! A subreaper without children has no descendants. So the children are killed and reaped, which hands theirs to us,
//! until there is none. That costs what there is to end and not what the machine runs, nobody escapes by leaving a group,
//! a session or a user, and no number can have become somebody else's: it is only we who reap.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use super::{Children, children_of, is_child_of, name};
use crate::core::time::BootTime;
use crate::runtime::pair::WORKER;
use crate::runtime::sys;

/// The first pause between two rounds; each is twice as long as the last, unless something has changed.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_secs(1);

/// What is left for this long after KILL is worth a word.
const WORTH_A_WORD: Duration = Duration::from_secs(1);

/// What the worker of another zklock gets to end its command and to release its lock.
const RELEASE: Duration = Duration::from_millis(500);

/// How often to look below those who are left for whoever has come meanwhile.
const PASSES: usize = 16;

/// A process that is left although it was to be killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pid: Pid,
    name: String,
    /// KILL was refused: it belongs to another user.
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

/// How a round went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Round {
    /// Nobody is left.
    Gone,
    /// Somebody is.
    Left,
}

/// The end of all processes below this one, round by round.
#[derive(Debug, Default)]
pub struct Sweep {
    began: Option<BootTime>,
    next: Option<BootTime>,
    pause: Duration,
    left: Vec<Left>,
    told: bool,
    /// Up to here the workers of other zklocks among those below us may release their locks.
    patience: Option<BootTime>,
    /// A worker that isn't one of those.
    own: Option<Pid>,
}

impl Sweep {
    /// A sweep that has time up to this moment, and so leaves another zklock below us a little of it: its monitor is
    /// killed, and its worker ends its own command and releases its lock within milliseconds. Killed with its monitor,
    /// it would leave the lock to the end of its session.
    pub fn with_time_until(latest: Option<BootTime>, now: BootTime) -> Self {
        let patience = now + RELEASE;
        Self { patience: Some(latest.map_or(patience, |latest| patience.min(latest))), ..Self::default() }
    }

    /// This worker gets no time: it is our own, and stands still.
    #[must_use]
    pub fn but_for(self, own: Pid) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Kills and reaps whom it finds, but for the `spared`, which aren't ours to end. The `leader` is killed and not
    /// reaped: as long as it isn't, its group's number is nobody else's.
    pub fn round(
        &mut self,
        children: &Children,
        leader: Option<Pid>,
        spared: &[Pid],
        now: BootTime,
    ) -> Round {
        self.began.get_or_insert(now);
        // Whoever had a little time has none from here on.
        let is_over = self.patience.take_if(|patience| now >= *patience).is_some();
        let mut has_changed = is_over;
        loop {
            let Some(all) = children.list() else {
                self.back_off(false, now);
                return Round::Left;
            };
            let (mut reaped, mut left) = (false, vec![]);
            for &child in all.iter().filter(|child| !spared.contains(child)) {
                if Some(child) == leader && sys::is_dead(child) {
                    continue;
                }
                if self.has_time(child) {
                    // One that has ended has released its lock, and keeps its name until it is reaped.
                    if sys::reap_if_dead(child).is_some() {
                        reaped = true;
                    } else {
                        left.push((child, false));
                    }
                    continue;
                }
                // Its group at once, if it leads one: as long as it isn't reaped, that number is nobody else's.
                if getpgid(Some(child)) == Ok(child) {
                    let _ = killpg(child, Signal::SIGKILL);
                }
                let refused = kill(child, Signal::SIGKILL) == Err(Errno::EPERM);
                if Some(child) != leader && sys::reap_if_dead(child).is_some() {
                    reaped = true;
                    continue;
                }
                left.push((child, refused));
            }
            has_changed |= reaped;
            if left.is_empty() && !reaped {
                self.left.clear();
                return Round::Gone;
            }
            // Whoever was reaped may have left us its children.
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
                return Round::Left;
            }
        }
    }

    /// Kills everybody below those who are left: they hide them from us as long as they aren't dead. That may take
    /// long, in the kernel, also after KILL; or KILL was refused. Whether there may be more of them.
    fn kill_hidden(&self, left: impl Iterator<Item = Pid>) -> bool {
        let roots: Vec<Pid> = left.filter(|&pid| !self.has_time(pid)).collect();
        let mut known = HashSet::new();
        for _ in 0..PASSES {
            let (mut parents, mut any_new) = (roots.clone(), false);
            while let Some(parent) = parents.pop() {
                for child in children_of(parent).into_iter().filter(|&child| !self.has_time(child)) {
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

    fn has_time(&self, pid: Pid) -> bool {
        self.patience.is_some() && self.own != Some(pid) && name(pid).as_deref() == Some(WORKER)
    }

    /// When to look again, if no child dies before.
    pub fn next(&self) -> Option<BootTime> {
        let patience = self.patience.filter(|_| self.next.is_some());
        [self.next, patience].into_iter().flatten().min()
    }

    /// Whether somebody is left who may never go.
    pub fn is_stuck(&self) -> bool {
        self.told
    }

    /// What is left, once, when it is left for long.
    pub fn left_for_long(&mut self, now: BootTime) -> Option<Vec<Left>> {
        let long = self.began.is_some_and(|began| now.since(began) >= WORTH_A_WORD);
        if !long || self.told || self.left.is_empty() {
            return None;
        }
        self.told = true;
        Some(self.left.clone())
    }

    fn back_off(&mut self, has_changed: bool, now: BootTime) {
        self.pause = if has_changed { SHORTEST } else { (self.pause * 2).clamp(SHORTEST, LONGEST) };
        self.next = Some(now + self.pause);
    }
}

/// Kills a process that somebody else may reap at any time: no other that has got its number meanwhile.
fn kill_child_of(parent: Pid, child: Pid) {
    let descriptor = pid_of(child).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if !is_child_of(parent, child) {
        return;
    }
    let _ = match descriptor {
        Some(process) => pidfd_send_signal(process, rustix::process::Signal::KILL).is_ok(),
        // A kernel before 5.3, or no descriptor left.
        None => kill(child, Signal::SIGKILL).is_ok(),
    };
}

fn pid_of(pid: Pid) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(pid.as_raw())
}
