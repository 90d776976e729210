//! Checks at every step of a run and at its end.

use std::time::Duration;

use zklock_core::exit::{CONFLICT, Exit, FAILURE, LOST};

use super::checker::{Checker, Place};
use super::fault::{Fault, Target};
use super::scenario::PlannedFault;
use super::world::World;

/// Every lock that is contended for.
const LOCKS: [&str; 2] = ["/locks/a", "/locks/b"];

#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) violation: Option<String>,
    /// The judge of exclusion and order.
    checker: Checker,
}

impl Checks {
    pub(crate) fn violated(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
    }

    /// From now on a zklock is excused: its node is deleted.
    pub(crate) fn evict(&mut self, index: usize) {
        self.checker.evict(&name(index));
    }
}

/// A fact about a zklock that excuses what would be a violation. There is no other excuse.
#[derive(Debug, Clone, Copy)]
enum Excuse {
    /// Its node was deleted by hand, so the lock passes on before zklock can learn of that.
    Evicted,
    /// One of its processes was killed or frozen, and the monitor is dead, frozen or stopped: a limit that docs/signals.md
    /// names.
    NobodyCanAct,
    /// Its host sleeps or has just woken up. No program can prevent that moment; the fencing token covers it.
    Asleep,
    /// One of its processes was killed or frozen, or its host was suspended: nobody could say at once how the command
    /// ended, or end in time.
    Hit,
    /// It, or a server, was cut off, suspended or killed: its node goes with its session. A leader reports a session as
    /// expired before the close is committed, and if it is deposed in between, the node goes later.
    CutOff,
    /// Its worker was killed or frozen, and its monitor was stopped, perhaps until the session's end.
    HeldUp,
    /// Its line is too slow for its session timeout.
    SlowLine,
}

impl World {
    fn is_excused(&self, index: usize, excuses: &[Excuse]) -> bool {
        let zklock = &self.zklocks[index];
        let cuts_off = |planned: &PlannedFault| {
            planned.who == index && planned.fault.cuts_off() || planned.fault.target() == Target::Servers
        };
        let holds_up = |planned: &PlannedFault| planned.who == index && planned.fault == Fault::StopMonitor;
        excuses.iter().any(|excuse| match excuse {
            Excuse::Evicted => zklock.node_deleted,
            Excuse::NobodyCanAct => zklock.no_process_can_act(),
            Excuse::Asleep => self.has_slept(index),
            Excuse::Hit => zklock.was_hit || zklock.was_suspended(),
            Excuse::CutOff => self.scenario.faults.iter().any(cuts_off),
            Excuse::HeldUp => zklock.was_hit && self.scenario.faults.iter().any(holds_up),
            Excuse::SlowLine => !zklock.contender.is_quick(),
        })
    }

    /// Lets the checker judge a command that begins under these locks, the value of `ZKLOCK_LOCKS`.
    fn check_exclusion(&mut self, index: usize, locks: &str) {
        let begun = Place::all(locks).and_then(|places| {
            self.checks.checker.begin(&name(index), Duration::from_nanos(self.now), places)
        });
        begun.unwrap_or_else(|why| self.checks.violated(|| why));
        self.commands_are_alive();
    }

    /// Lets each command that runs under a lock give a sign of life, which the checker judges.
    pub(crate) fn commands_are_alive(&mut self) {
        for index in 0..self.zklocks.len() {
            if self.needs_the_lock(index)
                && !self.is_excused(index, &[Excuse::Evicted, Excuse::NobodyCanAct, Excuse::Asleep])
            {
                let alive = self.checks.checker.alive(&name(index), 0, Duration::from_nanos(self.now), false);
                alive.unwrap_or_else(|why| self.checks.violated(|| why));
            }
        }
    }

    /// Whether a process of the command runs that the lock has to protect.
    fn needs_the_lock(&self, index: usize) -> bool {
        self.zklocks[index].command.as_ref().is_some_and(|command| command.needs_the_lock(self.now))
    }

    /// Checks the start of a command.
    pub(crate) fn check_start(&mut self, index: usize, locks: &str) {
        self.check_exclusion(index, locks);
        self.check_once(index);
        let zklock = &self.zklocks[index];
        if zklock.missing {
            self.checks.violated(|| {
                format!("zklock {index} starts its command, and its last list doesn't have its node")
            });
        }
        let takes = 10_000_000;
        // A signal that arrives while the command is being started is meant for the command.
        if let Some(told) = self.zklocks[index].told_to_end.filter(|told| told + takes < self.now) {
            let late = Duration::from_nanos(self.now - told);
            self.checks
                .violated(|| format!("zklock {index} starts its command {late:?} after it was told to end"));
        }
        if self.zklocks[index].is_stopped() {
            self.checks.violated(|| format!("zklock {index} starts its command while it is stopped"));
        }
        if self.zklocks[index].gone_by.is_some_and(|by| by < self.now) {
            self.checks.violated(|| format!("zklock {index} starts its command, and was to end"));
        }
    }

    /// Checks `--once-per`: the last success must be older than the period.
    fn check_once(&mut self, index: usize) {
        let Some(period) = self.zklocks[index].contender.once_per else { return };
        let Some(last) = self.ensemble.modified_ms("/locks/.a.zklock-last") else { return };
        let since = self.ensemble.wall_clock_ms() - last;
        let since = Duration::from_millis(u64::try_from(since).unwrap_or_default());
        if since < period {
            self.checks.violated(|| {
                format!("zklock {index} runs its command {since:?} after a success, once per {period:?}")
            });
        }
    }

    /// Checks the exit code of a zklock and what it left behind.
    pub(crate) fn check_exit(&mut self, index: usize, exit: Exit) {
        let zklock = &self.zklocks[index];
        let conflict = Exit::Code(CONFLICT);
        let own = [conflict, Exit::Code(FAILURE)];
        let told = |exit| zklock.signals.iter().any(|&signal| exit == Exit::Signal(signal));
        let natural = zklock
            .command
            .as_ref()
            .and_then(|command| command.ended_by_itself.then(|| command.leader().exit));
        let is_lost = self.is_excused(index, &[Excuse::Hit]) && exit == Exit::Code(LOST);
        let may_be = match (&zklock.command, natural) {
            (Some(_), Some(natural)) => exit == natural || is_lost,
            (Some(command), None) => {
                exit == Exit::Code(LOST) || command.was_killed() && exit == command.leader().exit
            }
            // The command might already have been started.
            (None, _) => own.contains(&exit) || told(exit) || is_lost && zklock.was_starting(),
        };
        if !may_be {
            self.checks.violated(|| {
                format!("zklock {index} exits with {exit:?}, and its command ended with {natural:?}")
            });
        }
        self.check_signal(index, exit);
        self.check_released(index);
        let zklock = &self.zklocks[index];
        if zklock.command.as_ref().is_some_and(|command| !command.ended_by_itself && !self.none_left(index)) {
            self.checks.violated(|| format!("zklock {index} is gone, and its command isn't"));
        }
    }

    /// Checks that a zklock that has ended left no node behind, unless it couldn't reach the servers.
    fn check_released(&mut self, index: usize) {
        let left = self.nodes_of(index);
        // The worker may still be running alone to delete the node.
        if !left.is_empty()
            && !self.zklocks[index].works()
            && !self.is_excused(index, &[Excuse::CutOff, Excuse::HeldUp, Excuse::SlowLine])
        {
            self.checks.violated(|| format!("zklock {index} is gone, and its node isn't: {left:?}"));
        }
    }

    /// Checks that a zklock that is told to end while it waits does so in time.
    fn check_signal(&mut self, index: usize, exit: Exit) {
        let zklock = &self.zklocks[index];
        if let Some(by) = zklock.ends_by.filter(|&by| by < self.now)
            && zklock.command.is_none()
            && !self.is_excused(index, &[Excuse::Hit])
        {
            let late = Duration::from_nanos(self.now - by);
            self.checks.violated(|| format!("zklock {index} was told to end while it waited, and exits with {exit:?} {late:?} too late"));
        }
    }

    /// Checks the end of a run: every zklock has ended and no node is left.
    pub(crate) fn check_the_end(&mut self) -> Result<(), String> {
        if let Some(violation) = self.checks.violation.take() {
            return Err(violation);
        }
        if let Some(index) = self.zklocks.iter().position(|zklock| !zklock.is_over()) {
            let worker = &self.zklocks[index].worker;
            return Err(format!("zklock {index} never ends: {:?}", worker.driver));
        }
        // The sessions of killed processes may live on for a while.
        let longest =
            self.zklocks.iter().map(|zklock| zklock.contender.session_timeout).max().unwrap_or_default();
        let end = self.now + 2 * longest + 41_000_000_000;
        while self.now < end && !self.is_all_released() {
            let soon = (self.now + 500_000_000).min(end);
            while let Some(output) = self.ensemble.next(soon) {
                self.now = self.ensemble.now();
                self.comes_out(output);
            }
            self.now = soon;
        }
        self.ensemble.assert_alike();
        for lock in LOCKS {
            let left = self.ensemble.children(lock);
            if !left.is_empty() {
                return Err(format!("these nodes are left below {lock}: {left:?}"));
            }
        }
        Ok(())
    }

    /// Whether no node is left below any lock.
    pub(crate) fn is_all_released(&self) -> bool {
        LOCKS.iter().all(|lock| self.ensemble.has_no_children(lock))
    }
}

/// The name of a zklock's command for the checker.
fn name(index: usize) -> String {
    format!("zklock {index}")
}
