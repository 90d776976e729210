//! A busy host: zklock's processes get a processor late.

use super::Zklock;
use crate::world::{Event, SessionOwner, World};
use zklock_core::run::Driver;

/// Times in which no process of zklock gets a processor. Its command does: each is shorter than a twelfth of the session
/// timeout, which is what zklock survives. A longer one must hold the command up as well, as a suspended host does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stall {
    /// From the beginning of one to the beginning of the next.
    pub(crate) every: u64,
    pub(crate) lasts: u64,
    /// There is none after this time.
    pub(crate) until: u64,
}

impl Stall {
    /// When the present one is over, if there is one.
    pub(crate) fn over(self, now: u64) -> Option<u64> {
        let since = now % self.every;
        (since < self.lasts && now < self.until).then(|| now - since + self.lasts)
    }
}

impl World {
    /// Holds up a worker for which something comes during a stall. Returns when it gets a processor.
    pub(super) fn hold_up_worker(&mut self, index: usize) -> Option<u64> {
        let now = self.now;
        let Zklock { worker, contender, .. } = &mut self.zklocks[index];
        let until = contender.stalled_until(now)?;
        worker.driver.iter_mut().for_each(Driver::woken);
        Some(until)
    }

    /// Holds back what comes for a worker's session during a stall until that is over. Returns whether there is one.
    pub(crate) fn hold_back(&mut self, owner: SessionOwner) -> bool {
        let SessionOwner::Worker(index) = owner else { return false };
        let zklock = &self.zklocks[index];
        let Some(until) = zklock.contender.stalled_until(self.now) else { return false };
        if zklock.worker.waits.0 {
            self.hold_up_worker(index);
        }
        self.at(until, Event::StallOver(index));
        true
    }
}

/// Whether a process waits for something.
#[derive(Debug, Default)]
pub(super) struct Waits(bool);

impl Waits {
    pub(super) fn begin(&mut self) {
        self.0 = true;
    }

    /// Something has come for the process, or the time. Returns whether it has waited for that.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.0)
    }
}
