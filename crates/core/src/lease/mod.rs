//! The lease: how long the lock is certain to be held without another confirmation. Pure.
//!
//! An answer that the lock is held is valid only until the lease end; `docs/design.md` has the argument.

pub mod latency;
pub mod renewal;

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::BootTime;

#[cfg(test)]
mod tests;

/// How long it takes at least from KILL until the last process of a job is reaped.
const REAPING: Duration = Duration::from_millis(200);

/// One session's lease, renewed by confirmations.
///
/// Let *d* be the newest confirmation, *c* the newest that was answered before *d* was sent, and *a* the newest that
/// was answered at least a third of the session timeout before *c* was sent. The lease ends one session timeout after
/// *a* was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    timeout: Duration,
    /// When *a* was sent. Until there is an *a*: just before the session was requested. `None`: the lease covers no
    /// time yet.
    counts_from: Option<BootTime>,
    /// The confirmations that can be *c* or *a* of a later one, oldest first.
    confirmed: VecDeque<Confirmation>,
    over: bool,
}

/// An answered quorum write of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Confirmation {
    /// Just before it was sent.
    sent: BootTime,
    /// When its answer arrived.
    answered: BootTime,
}

impl Lease {
    /// The lease of a new session: `began` is just before its connect request was sent, `timeout` is the session
    /// timeout that the server granted.
    pub fn new(began: BootTime, timeout: Duration) -> Self {
        Self { timeout, counts_from: Some(began), confirmed: VecDeque::new(), over: false }
    }

    /// A new lease for an existing session: it covers no time until new confirmations span a third of the session
    /// timeout. Only for a session without a running command: every process that ran under the old lease must be gone.
    #[must_use]
    pub fn unconfirmed(&self) -> Self {
        Self { timeout: self.timeout, counts_from: None, confirmed: VecDeque::new(), over: false }
    }

    /// Takes in a confirmation sent at `sent` whose answer arrived `now`. Returns `false` if the lease had already run
    /// out: it is never renewed then, because another contender may hold the lock.
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
        // A later confirmation's *c* is this one or a newer one, so its *a* is never older than this one's *a*.
        if let Some(oldest_needed) = self.a_third_before(newest) {
            self.confirmed.drain(..oldest_needed);
        }
        self.confirmed.push_back(newest);
        true
    }

    /// The index of the newest confirmation that was answered at least a third of the session timeout before `later`
    /// was sent.
    fn a_third_before(&self, later: Confirmation) -> Option<usize> {
        // Multiplying avoids rounding: dividing would round the third down.
        let is_far =
            |early: &Confirmation| later.sent.since(early.answered).saturating_mul(3) >= self.timeout;
        self.confirmed.iter().rposition(is_far)
    }

    /// Whether the lease has run out; once it has, it stays so. A lease that covers no time yet hasn't run out.
    pub fn is_over(&mut self, now: BootTime) -> bool {
        self.over |= self.counts_from.is_some() && now >= self.end();
        self.over
    }

    /// The lease end: no process of the job may exist after it. Time zero while the lease covers no time.
    pub fn end(&self) -> BootTime {
        match self.counts_from {
            Some(from) => from + self.timeout,
            None => BootTime::from_nanos(0),
        }
    }

    /// When stopping the job must begin so that the job is gone by the lease end: the grace before KILL, at most a twelfth
    /// of the session timeout. The rest of the lease is left for tolerating silence.
    pub fn stop_at(&self, kill_after: Duration) -> BootTime {
        self.before_the_end(self.reserve() + kill_after.min(self.timeout / 12))
    }

    /// When KILL must be sent so that the job is reaped by the lease end, even if this host is late.
    pub fn kill_at(&self) -> BootTime {
        self.before_the_end(self.reserve())
    }

    /// When the monitor must act if the job hasn't been killed: late enough that only a frozen worker is overridden, and
    /// early enough for the monitor to reap the job.
    pub fn take_over_at(&self) -> BootTime {
        self.before_the_end((self.timeout / 24).max(REAPING).min(self.reserve() * 3 / 4))
    }

    fn before_the_end(&self, reserve: Duration) -> BootTime {
        self.end().before(reserve)
    }

    /// How long before the lease end KILL is sent: the time for which the host may be late with it.
    fn reserve(&self) -> Duration {
        REAPING.max(self.timeout / 12)
    }

    /// The session timeout that the server granted.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// A twelfth of the session timeout: the pause from the answer to one confirmation until the next is sent. Rounded
    /// up, because four steps must reach the third that the rule requires; otherwise it would take five.
    pub fn step(&self) -> Duration {
        (self.timeout + Duration::from_nanos(11)) / 12
    }

    /// When the newest confirmation was sent; before the first one, when the session was requested.
    pub fn last_confirmed(&self) -> BootTime {
        let newest = self.confirmed.back().map(|newest| newest.sent);
        newest.or(self.counts_from).unwrap_or(BootTime::from_nanos(0))
    }
}
