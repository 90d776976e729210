//! A command that is itself a zklock: how it begins, is signalled, is killed, and ends.
//!
//! The inner zklock's monitor is the first process of the outer zklock's command. The outer zklock kills that monitor
//! immediately, and gives the inner worker a moment to end its own command and release its lock
//! (`job::descendants::sweep`).

use std::ffi::OsStr;
use std::time::Duration;

use zklock_core::environment::{HELD, HeldLock, held_outside};
use zklock_core::exit::Exit;
use zklock_core::signal::SIGKILL;

use super::KILL_TAKES;
use super::job::Reach;
use crate::command::Command;
use crate::fault::Fault;
use crate::nesting::Origin;
use crate::world::{Event, World};

/// How long the worker of an inner zklock has to release its lock.
const RELEASE: Duration = Duration::from_millis(500);

/// The longest time that exec and the first steps take.
const BEGINS_WITHIN: u64 = 5_000_000;

impl World {
    /// Schedules the start of a zklock by another process.
    pub(crate) fn expect(&mut self, index: usize, within: u64) {
        self.zklocks[index].is_expected = true;
        let after = self.rng.u64(0..within);
        self.after(after, Event::Start(index));
    }

    /// Schedules the start of an inner zklock, because the command was started.
    pub(super) fn expect_inner(&mut self, index: usize) {
        if let Some(inner) = self.zklocks[index].contender.inner {
            self.expect(inner, BEGINS_WITHIN);
        }
    }

    /// Whether a nested zklock can begin. The outer one may have been stopped already.
    pub(super) fn begins(&mut self, index: usize) -> bool {
        self.zklocks[index].is_expected = false;
        let leader_lives = |command: &Command| !command.leader().dead;
        self.outer_of(index)
            .is_none_or(|outer| self.zklocks[outer].command.as_ref().is_some_and(leader_lives))
    }

    /// The locks that its environment names as held by outer zklocks.
    pub(super) fn said_to_be_held(&self, index: usize) -> Vec<HeldLock> {
        let from = match self.zklocks[index].contender.origin {
            Origin::Itself => return vec![],
            Origin::Inside { outer } => outer,
            Origin::Leftover { of } => of,
        };
        let variables = &self.zklocks[from].variables;
        let value = variables.iter().find(|(name, _)| name == HELD).map(|(_, value)| OsStr::new(value));
        held_outside(value)
    }

    /// Whether it runs at a terminal, as an inner one does with the one around it.
    pub(super) fn has_terminal(&self, index: usize) -> bool {
        self.outer_of(index).unwrap_or(index).is_multiple_of(2)
    }

    /// Whether this lock's node is still there, and its zklock above this one.
    pub(super) fn is_held_around(&self, index: usize, held: &HeldLock) -> bool {
        let lives =
            |outer: usize| self.zklocks[outer].monitor.alive && self.nodes_of(outer).contains(&held.node);
        self.outer_of(index).is_some_and(lives)
    }

    /// Ends the first process of the outer command, because it is this zklock's monitor.
    pub(super) fn tell_outer(&mut self, index: usize, exit: Exit) {
        let Some(outer) = self.outer_of(index) else { return };
        let now = self.now;
        let command = self.zklocks[outer].command.as_mut();
        if let Some(command) = command.filter(|command| !command.leader().dead) {
            command.leader_ends(exit, now);
            self.at(now, Event::Command(outer));
        }
    }

    /// Kills the monitor of an inner zklock, because the first process of the command was killed.
    pub(super) fn leader_died(&mut self, index: usize) {
        if let Some(inner) = self.inner_of(index).filter(|&inner| self.zklocks[inner].monitor.alive) {
            self.apply_fault(inner, Fault::KillMonitor, 0);
        }
    }

    /// Sends a signal meant for a command to the inner zklock instead. Returns whether the command is a zklock.
    pub(super) fn signal_inner(&mut self, index: usize, signal: i32, reach: Reach) -> bool {
        let is_zklock = |inner: &usize| signal != SIGKILL && !self.zklocks[*inner].has_become;
        let Some(inner) = self.inner_of(index).filter(is_zklock) else { return false };
        self.signal(inner, signal);
        if reach == Reach::All {
            self.signal_command(inner, signal, Reach::All);
        }
        true
    }

    /// Kills what is left of an inner zklock. Its worker is killed only when its time is over.
    pub(super) fn kill_inner(&mut self, index: usize, latest: Option<u64>) {
        let Some(inner) = self.inner_of(index) else { return };
        let soon = self.now + u64::try_from(RELEASE.as_nanos()).unwrap();
        let patience = latest.map_or(soon, |latest| soon.min(latest));
        let patience = *self.zklocks[index].patience.get_or_insert(patience);
        if self.now >= patience {
            self.apply_fault(inner, Fault::KillWorker, 0);
        }
        if !self.zklocks[inner].worker.alive {
            self.kill_command(inner);
        }
    }

    /// Whether no process of an inner zklock is left.
    pub(super) fn inner_is_gone(&self, index: usize) -> bool {
        self.inner_of(index).is_none_or(|inner| {
            let zklock = &self.zklocks[inner];
            !zklock.worker.alive
                && !zklock.monitor.alive
                && zklock.command.as_ref().is_none_or(Command::none_left)
        })
    }

    /// The monitor becomes the command, and stays the first process of the outer command.
    pub(super) fn becomes_command(&mut self, index: usize) {
        self.check_becoming(index);
        let now = self.now;
        let zklock = &mut self.zklocks[index];
        zklock.monitor.alive = false;
        zklock.has_become = true;
        let behaviour = zklock.contender.command.clone();
        self.trace.print(now, || format!("zklock {index} becomes its command"));
        let Some(outer) = self.outer_of(index) else { return };
        if let Some(command) = self.zklocks[outer].command.as_mut().filter(|command| !command.leader().dead) {
            command.becomes(Command::start(&behaviour, now));
        }
        self.expect_command(outer);
    }

    /// Gives an inner worker the same moment during the monitor's sweep. Returns whether nothing is left.
    pub(super) fn swept(&mut self, index: usize) -> bool {
        if self.inner_is_gone(index) {
            return true;
        }
        let latest = self.zklocks[index].page.deadline;
        let latest = latest.map(|latest| self.zklocks[index].virtual_time(latest, self.now));
        self.kill_inner(index, latest);
        self.after(KILL_TAKES / 4, Event::Thaw(index, true));
        false
    }
}

/// The pid of a zklock.
pub(super) fn pid(index: usize) -> u32 {
    u32::try_from(1_000 + index).unwrap()
}
