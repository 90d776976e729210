//! A zklock that another zklock started: as its command, or from a process that outlived the lock.

use fastrand::Rng;
use zklock_core::exit::{Exit, FAILURE};
use zklock_core::queue::name::Mode;

use super::fault::Fault;
use super::scenario::{Contender, PlannedFault, pick};
use super::world::World;

/// How a zklock is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Independently of the other zklocks, at a time of its own.
    Itself,
    /// As the command of another zklock.
    Inside { outer: usize },
    /// By a process that the command of another zklock left behind, with the variables of a released lock.
    Leftover { of: usize },
}

/// Adds one more zklock inside a command, or left behind by it.
pub(crate) fn draw(rng: &mut Rng, contenders: &mut Vec<Contender>, faults: &mut [PlannedFault]) {
    let outer = rng.usize(0..contenders.len());
    if contenders[outer].locks != ["/locks/a"] || contenders[outer].once_per.is_some() {
        return;
    }
    // Everything but its place is as for the other zklock, because they share a host.
    let mut inner = Contender { nonblock: false, wait: None, ..contenders[outer].clone() };
    inner.command.lasts = rng.u64(0..8_000_000_000);
    if rng.u8(0..4) == 0 {
        inner.origin = Origin::Leftover { of: outer };
    } else {
        inner.origin = Origin::Inside { outer };
        inner.locks = match rng.u8(0..4) {
            0 => vec!["/locks/b"],
            1 => vec!["/locks/a", "/locks/b"],
            _ => vec!["/locks/a"],
        };
        if inner.locks != ["/locks/a"] {
            inner.mode = Mode::Exclusive;
        }
        if rng.u8(0..8) == 0 {
            inner.mode = *pick(rng, &[Mode::Exclusive, Mode::Shared]);
        }
        contenders[outer].inner = Some(contenders.len());
    }
    // Ctrl-Z across both zklocks isn't simulated.
    for planned in faults.iter_mut().filter(|planned| planned.who == outer) {
        if rng.bool() {
            planned.who = contenders.len();
        }
        if matches!(planned.fault, Fault::Suspend | Fault::Continue) {
            planned.fault = Fault::Terminate;
        }
    }
    contenders.push(inner);
}

impl World {
    /// The zklock that this one runs inside, if any.
    pub(crate) fn outer_of(&self, index: usize) -> Option<usize> {
        match self.zklocks[index].contender.origin {
            Origin::Inside { outer } => Some(outer),
            _ => None,
        }
    }

    /// The zklock that is this one's command, once it runs.
    pub(crate) fn inner_of(&self, index: usize) -> Option<usize> {
        self.zklocks[index].contender.inner.filter(|&inner| self.zklocks[inner].has_begun())
    }

    /// The zklock whose node stands for this lock while a command of `index` runs: itself, or the outer zklock if that
    /// one holds the lock around it.
    pub(crate) fn holder(&self, index: usize, lock: &str) -> usize {
        let is_below = |node: &String| node.rsplit_once('/').is_some_and(|(parent, _)| parent == lock);
        let outer = self.outer_of(index).filter(|_| !self.zklocks[index].own.iter().any(is_below));
        outer.unwrap_or(index)
    }

    /// All zklocks on the same host, including this one.
    pub(crate) fn on_host_of(&self, index: usize) -> Vec<usize> {
        let root = self.outer_of(index).unwrap_or(index);
        [Some(root), self.zklocks[root].contender.inner].into_iter().flatten().collect()
    }

    /// Whether a zklock has ended, or will never begin.
    pub(crate) fn is_done(&self, index: usize) -> bool {
        let zklock = &self.zklocks[index];
        match zklock.contender.origin {
            Origin::Inside { outer: other } | Origin::Leftover { of: other } if !zklock.has_begun() => {
                !zklock.is_expected && self.zklocks[other].is_over()
            }
            _ => zklock.is_over(),
        }
    }

    /// Whether a process of the command runs that the lock has to protect. All processes of an inner zklock count.
    pub(crate) fn needs_the_lock(&self, index: usize) -> bool {
        let Some(command) = &self.zklocks[index].command else { return false };
        let inner = self.inner_of(index).and_then(|inner| self.zklocks[inner].command.as_ref());
        command.needs_the_lock(self.now)
            || !command.ended_by_itself && inner.is_some_and(|command| command.runs(self.now))
    }

    /// Starts the zklocks that another's command left behind, once that one's lock is released.
    pub(crate) fn start_leftovers(&mut self, of: usize) {
        let is_leftover = |index: &usize| self.zklocks[*index].contender.origin == Origin::Leftover { of };
        let leftovers: Vec<usize> = (0..self.zklocks.len()).filter(is_leftover).collect();
        // A node that still exists counts as held until it goes with its session.
        if self.zklocks[of].variables.is_empty() || !self.nodes_of(of).is_empty() || self.zklocks[of].works()
        {
            return;
        }
        for index in leftovers {
            self.expect(index, 3_000_000_000);
        }
    }

    /// Checks that nothing of an inner zklock runs after its outer zklock stopped the command because the lock was
    /// lost.
    pub(crate) fn check_inner_stopped(&mut self, index: usize) {
        let Some(inner) = self.inner_of(index) else { return };
        let zklock = &self.zklocks[inner];
        if zklock.works() || zklock.command.as_ref().is_some_and(|command| command.runs(self.now)) {
            self.checks.violated(|| {
                format!("zklock {index} has stopped its command, and zklock {inner} in it runs")
            });
        }
    }

    /// Checks the exit of a zklock that asked for the lock of its outer zklock, if nothing went wrong.
    pub(crate) fn check_inner_exit(&mut self, index: usize, exit: Exit) {
        let contender = &self.zklocks[index].contender;
        let Origin::Inside { outer } = contender.origin else { return };
        let is_left_alone = self.scenario.faults.is_empty() && contender.is_quick();
        if !is_left_alone || contender.locks != ["/locks/a"] {
            return;
        }
        let (outer, inner) = (self.zklocks[outer].contender.mode, contender.mode);
        let is_enough = outer == inner || (outer, inner) == (Mode::Exclusive, Mode::Shared);
        // If it is enough, it becomes its command, and has no exit of its own.
        if is_enough || exit != Exit::Code(FAILURE) {
            self.checks.violated(|| {
                format!(
                    "zklock {index} asks for {inner} within {outer} of the same lock, and exits with {exit:?}"
                )
            });
        }
    }

    /// Checks that a zklock replaces itself with its command only if its locks are held by an outer zklock.
    pub(crate) fn check_becoming(&mut self, index: usize) {
        let outer = self.outer_of(index);
        if outer.is_none_or(|outer| self.zklocks[outer].command.is_none()) {
            self.checks
                .violated(|| format!("zklock {index} runs its command, and no lock is held around it"));
        }
    }
}
