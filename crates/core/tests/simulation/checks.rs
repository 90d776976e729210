//! Checks at every step of a run and at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zklock_core::exit::{CONFLICT, Exit, FAILURE, LOST};
use zklock_core::queue::name::Mode;

use super::fault::Target;
use super::host::Zklock;
use super::scenario::Contender;
use super::world::World;

/// Every lock that is contended for.
const LOCKS: [&str; 2] = ["/locks/a", "/locks/b"];

#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) violation: Option<String>,
    /// The greatest fencing token of an exclusive holder, by lock.
    tokens: BTreeMap<&'static str, i64>,
}

impl Checks {
    pub(crate) fn violated(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
    }
}

/// Whether two holders may hold the lock at the same time.
fn are_compatible(one: Mode, other: Mode) -> bool {
    matches!((one, other), (Mode::Shared, Mode::Shared))
}

impl World {
    /// Checks that no command runs whose lock excludes this one. Called before a command starts or continues.
    pub(crate) fn check_exclusion(&mut self, index: usize) {
        let Zklock { contender: Contender { mode, .. }, node_deleted, .. } = self.zklocks[index];
        if node_deleted {
            // zklock is about to learn of the deletion.
            return;
        }
        for lock in self.zklocks[index].contender.locks.clone() {
            let running: BTreeSet<usize> = (0..self.zklocks.len())
                .filter(|&other| self.zklocks[other].contender.locks.contains(&lock))
                .filter(|&other| other != index && self.needs_the_lock(other))
                .filter(|&other| !self.is_exempt(other))
                .collect();
            let too_many = match mode {
                Mode::Slots(slots) => running.len() >= slots as usize,
                _ => running.iter().any(|&other| !are_compatible(mode, self.zklocks[other].contender.mode)),
            };
            if too_many {
                self.checks.violated(|| {
                    format!("zklock {index} lets its command run while {running:?} run theirs under {lock}")
                });
            }
        }
    }

    /// Whether a running command of a zklock doesn't count: the zklock is about to learn that its node was deleted, neither
    /// of its processes can act (a limit that docs/signals.md names), or its host has just woken up.
    fn is_exempt(&self, index: usize) -> bool {
        let zklock = &self.zklocks[index];
        zklock.node_deleted || zklock.no_process_can_act() || self.has_slept(index)
    }

    /// Whether a process of the command runs that the lock has to protect.
    fn needs_the_lock(&self, index: usize) -> bool {
        self.zklocks[index].command.as_ref().is_some_and(|command| command.needs_the_lock(self.now))
    }

    /// Checks a zklock whose host was suspended, once zklock has had a moment to stop a command whose lease ended
    /// meanwhile.
    pub(crate) fn check_resumed(&mut self, index: usize) {
        if self.needs_the_lock(index) && !self.is_exempt(index) {
            self.check_exclusion(index);
        }
    }

    /// Checks the start of a command.
    pub(crate) fn check_start(&mut self, index: usize, token: i64) {
        self.check_exclusion(index);
        self.check_once(index);
        let zklock = &self.zklocks[index];
        if zklock.missing {
            self.checks.violated(|| {
                format!("zklock {index} starts its command, and its last list doesn't have its node")
            });
        }
        let takes = 10_000_000 + 2 * zklock.contender.late_by();
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
        let mode = self.zklocks[index].contender.mode;
        let one = self.zklocks[index].contender.locks.len() == 1;
        if mode == Mode::Exclusive && one && !self.zklocks[index].node_deleted {
            let lock = self.zklocks[index].contender.locks[0];
            let last = self.checks.tokens.entry(lock).or_insert(i64::MIN);
            if token <= *last {
                let last = *last;
                self.checks.violated(|| format!("zklock {index} has the token {token} after {last}"));
            } else {
                *last = token;
            }
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
        let may_be = match (&zklock.command, natural) {
            // If a process of zklock was hit at the end, the exit code may be the one that was reported before.
            (Some(_), Some(natural)) => {
                exit == natural
                    || (zklock.was_hit || !zklock.contender.keeps_up()) && exit == Exit::Code(LOST)
            }
            (Some(command), None) => {
                exit == Exit::Code(LOST) || command.was_killed() && exit == command.leader().exit
            }
            // The worker was hit, or its host suspended, when the command might already have been started.
            (None, _)
                if (zklock.was_hit || zklock.was_suspended())
                    && zklock.was_starting()
                    && exit == Exit::Code(LOST) =>
            {
                true
            }
            (None, _) => own.contains(&exit) || told(exit),
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
        let zklock = &self.zklocks[index];
        let contender = &zklock.contender;
        let is_slow = contender.line > contender.session_timeout / 30;
        // A leader reports a session as expired before the close is committed. If it is deposed in between, the node
        // goes later.
        let was_cut = self.scenario.faults.iter().any(|planned| {
            planned.who == index && planned.fault.cuts_off() || planned.fault.target() == Target::Servers
        });
        let left = self.nodes_of(index);
        let was_cut = was_cut || self.scenario.aim.is_some();
        // The worker may still be running alone to delete the node.
        if !left.is_empty() && !is_slow && !was_cut && !self.zklocks[index].works() {
            self.checks.violated(|| format!("zklock {index} is gone, and its node isn't: {left:?}"));
        }
    }

    /// Checks that a zklock that is told to end while it waits does so in time.
    fn check_signal(&mut self, index: usize, exit: Exit) {
        let zklock = &self.zklocks[index];
        if let Some(by) = zklock.ends_by.filter(|&by| by < self.now)
            && zklock.command.is_none()
            && !zklock.was_hit
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
