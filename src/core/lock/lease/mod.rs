//! The lease: how long the lock is certain to be held without another confirmation. Pure.
//!
//! An answer that the lock is held is a promise with an end and not a state: `docs/safety.md` has the argument.

use std::collections::VecDeque;
use std::time::Duration;

use crate::core::planted::{Mistake, planted};
use crate::core::time::BootTime;

#[cfg(test)]
mod tests;

/// What KILL may take until the last process of a job is reaped.
const REAPING: Duration = Duration::from_millis(200);

/// The promise of one session, renewed by confirmations.
///
/// Let *d* be the newest confirmation, *c* the newest that was answered before *d* was sent, and *a* the newest that
/// was answered at least a third of the timeout before *c* was sent. The lease ends one timeout after *a* was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    timeout: Duration,
    /// When *a* was sent. Until there is one: just before the session was asked for. `None`: nothing is promised.
    counts_from: Option<BootTime>,
    /// Those that can be *c* or *a* of a later one, oldest first.
    confirmed: VecDeque<Confirmation>,
    over: bool,
}

/// An answered quorum write of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Confirmation {
    /// Just before it was sent.
    sent: BootTime,
    /// When its answer was here.
    answered: BootTime,
}

impl Lease {
    /// The lease of a fresh session: `began` is just before its connect request was sent, `timeout` what the
    /// server granted.
    pub fn new(began: BootTime, timeout: Duration) -> Self {
        Self { timeout, counts_from: Some(began), confirmed: VecDeque::new(), over: false }
    }

    /// The lease of an older session: nothing is promised until new confirmations span a third of the timeout. Only
    /// for a session under which no command runs: whatever ran under a lease that is over must be gone.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { timeout: self.timeout, counts_from: None, confirmed: VecDeque::new(), over: false }
    }

    /// Takes in a confirmation sent at `sent` whose answer arrived `now`. `false` if the lease had run out before: it
    /// is never renewed then, since another contender may hold the lock already.
    ///
    /// Confirmations are sent one at a time, so the newest before this one was answered before this one was sent.
    pub fn confirm(&mut self, sent: BootTime, now: BootTime) -> bool {
        if self.is_over(now) {
            return false;
        }
        let newest = Confirmation { sent, answered: now };
        let before = self.confirmed.iter().rev().find(|before| before.answered <= sent);
        if let Some(earliest) = before.and_then(|&before| self.a_third_before(before)) {
            self.counts_from = Some(self.confirmed[earliest].sent);
        }
        if planted(Mistake::LeaseNewest) {
            self.counts_from = Some(sent);
        }
        // A later confirmation has this one for its *c*, or a newer one, and so no *a* that is older than this one's.
        if let Some(oldest_needed) = self.a_third_before(newest) {
            self.confirmed.drain(..oldest_needed);
        }
        self.confirmed.push_back(newest);
        true
    }

    /// Where the newest is that was answered at least a third of the timeout before this one was sent.
    fn a_third_before(&self, later: Confirmation) -> Option<usize> {
        // Multiplied and not divided: a third that is rounded down would be too short.
        let is_far =
            |early: &Confirmation| later.sent.since(early.answered).saturating_mul(3) >= self.timeout;
        if planted(Mistake::LeaseTooClose) {
            return self.confirmed.iter().rposition(|early| early.answered <= later.sent);
        }
        self.confirmed.iter().rposition(is_far)
    }

    /// Whether the lease has run out. Once it has, it stays so. One that promises nothing yet hasn't.
    pub fn is_over(&mut self, now: BootTime) -> bool {
        self.over |= self.counts_from.is_some() && now >= self.end();
        self.over
    }

    /// The job may exist until then. The start of time while nothing is promised.
    pub fn end(&self) -> BootTime {
        match self.counts_from {
            _ if planted(Mistake::LeaseOff) => BootTime::from_nanos(u64::MAX),
            Some(from) => from + self.timeout,
            None => BootTime::from_nanos(0),
        }
    }

    /// When a stop has to begin so that the job is gone by the end. At most a sixth of the timeout goes to it: the rest
    /// of the lease is there to ride out silence.
    pub fn stop_at(&self, kill_after: Duration) -> BootTime {
        self.before_the_end((kill_after + REAPING).min(self.timeout / 6))
    }

    /// When KILL has to be sent so that the job is not only dying but gone by the end.
    pub fn kill_at(&self) -> BootTime {
        self.before_the_end(self.margin())
    }

    /// When the monitor has to act for a worker that hasn't begun to stop the job: halfway between the moments of the
    /// stop and of KILL, so that also a machine that is busy sees it dead in time.
    pub fn take_over_at(&self, kill_after: Duration) -> BootTime {
        let stop_at = self.stop_at(kill_after);
        stop_at + (stop_at.until(self.kill_at()) / 2).max(self.margin() / 4)
    }

    /// When the monitor has to act for a worker that has begun to stop the job and hasn't killed it: a little after
    /// [`kill_at`](Self::kill_at), so that only one that stands still is taken for such.
    pub fn too_late_at(&self) -> BootTime {
        self.before_the_end(self.margin() * 3 / 4)
    }

    fn before_the_end(&self, reserve: Duration) -> BootTime {
        if planted(Mistake::NoKillMargin) {
            return (self.end() + self.timeout).before(reserve);
        }
        self.end().before(reserve)
    }

    /// How long before the end KILL is sent.
    fn margin(&self) -> Duration {
        REAPING.min(self.timeout / 12)
    }

    /// What the server granted.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// A twelfth of the timeout, from the answer to one confirmation until the next is sent. Rounded up: four steps
    /// have to make the third that the rule asks for, or it takes a fifth.
    pub fn step(&self) -> Duration {
        (self.timeout + Duration::from_nanos(11)) / 12
    }

    /// When the newest confirmation was sent, or the session was asked for.
    pub fn last_confirmed(&self) -> BootTime {
        let newest = self.confirmed.back().map(|newest| newest.sent);
        newest.or(self.counts_from).unwrap_or(BootTime::from_nanos(0))
    }
}
