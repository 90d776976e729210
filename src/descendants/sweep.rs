//! Ending every process below this one, exactly.
//!
//! A subreaper without children has no descendants. So the children are killed and reaped, which hands theirs to us,
//! until there is none. That costs what there is to end and not what the machine runs, nobody escapes by leaving a group,
//! a session or a user, and no number can have become somebody else's: it is only we who reap.

use std::fmt;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::{Children, below, name};
use crate::clock::BootTime;
use crate::pair::WORKER;
use crate::sys;

/// The first pause between two rounds; each is twice as long as the last, unless something has changed.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_secs(1);

/// What is left for this long after KILL is worth a word.
const WORTH_A_WORD: Duration = Duration::from_secs(1);

/// What the worker of another zklock gets to end its command and to release its lock.
const RELEASE: Duration = Duration::from_millis(500);

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
}

impl Sweep {
    /// A sweep that has time up to this moment, and so leaves another zklock below us a little of it: its monitor is
    /// killed, and its worker ends its own command and releases its lock within milliseconds. Killed with its monitor,
    /// it would leave the lock to the end of its session.
    pub fn with_time_until(latest: Option<BootTime>, now: BootTime) -> Self {
        let patience = now + RELEASE;
        Self { patience: Some(latest.map_or(patience, |latest| patience.min(latest))), ..Self::default() }
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
                if self.patience.is_some() && name(child).as_deref() == Some(WORKER) {
                    left.push((child, false));
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
                if refused {
                    // It hides those below it, who may well be ours to kill.
                    for hidden in below(vec![child]).into_iter().skip(1) {
                        let _ = kill(hidden, Signal::SIGKILL);
                    }
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
