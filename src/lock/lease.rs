//! The lease: how long we may believe that the lock is ours without hearing so again. Pure.
//!
//! That a server once said "yours" isn't a state, it is a promise with an end: `docs/safety.md` has the argument.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::BootTime;

/// Counted from the confirmation this many before the newest: a write forwarded by a follower doesn't touch
/// the session at the leader, and only this one is certain to be covered by a touch.
const BACK: usize = if cfg!(feature = "broken-lease-newest") { 0 } else { 3 };

/// What KILL may take until the last process of a job is reaped.
const REAPING: Duration = Duration::from_millis(200);

/// The promise of one session, renewed by confirmations.
///
/// A *confirmation* is an answered quorum write of the session, dated by the time just before it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    timeout: Duration,
    /// Just before the session was asked for. `None`: too long ago to prove anything.
    began: Option<BootTime>,
    confirmed: VecDeque<BootTime>,
    over: bool,
}

impl Lease {
    /// The lease of a fresh session: `began` is just before its connect request was sent, `timeout` what the
    /// server granted.
    pub fn new(began: BootTime, timeout: Duration) -> Self {
        Self { timeout, began: Some(began), confirmed: VecDeque::with_capacity(BACK + 1), over: false }
    }

    /// The lease of an older session: nothing is promised until there are enough new confirmations. Only for
    /// one that runs nothing: what ran under a lease that is over must be gone.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { began: None, confirmed: VecDeque::with_capacity(BACK + 1), over: false, ..*self }
    }

    /// Takes in a confirmation sent at `sent` whose answer arrived `now`. `false` if the lease had run out
    /// before: it is never renewed then, since somebody else may hold the lock already.
    pub fn confirm(&mut self, sent: BootTime, now: BootTime) -> bool {
        if self.counted_from().is_some() && self.is_over(now) {
            return false;
        }
        self.confirmed.push_back(sent);
        if self.confirmed.len() > BACK + 1 {
            self.confirmed.pop_front();
        }
        true
    }

    /// Whether the lease has run out. Once it has, it stays so. One that promises nothing yet hasn't.
    pub fn is_over(&mut self, now: BootTime) -> bool {
        self.over |= self.counted_from().is_some() && now >= self.end();
        self.over
    }

    /// Up to here the job may exist. The start of time while nothing is promised.
    pub fn end(&self) -> BootTime {
        match self.counted_from() {
            _ if cfg!(feature = "broken-lease-off") => BootTime::from_nanos(u64::MAX),
            Some(from) => from + self.timeout,
            None => BootTime::from_nanos(0),
        }
    }

    fn counted_from(&self) -> Option<BootTime> {
        match self.confirmed.front() {
            Some(&oldest) if self.confirmed.len() > BACK => Some(oldest),
            _ => self.began,
        }
    }

    /// When a stop has to begin so that the job is gone by the end. At most a sixth of the timeout goes to it,
    /// so that a steady holder rides out a third of it in silence.
    pub fn stop_at(&self, kill_after: Duration) -> BootTime {
        self.end().before((kill_after + REAPING).min(self.timeout / 6))
    }

    /// When KILL has to be sent so that the job is not only dying but gone by the end.
    pub fn kill_at(&self) -> BootTime {
        self.end().before(self.margin())
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
        self.end().before(self.margin() * 3 / 4)
    }

    /// How long before the end KILL is sent.
    fn margin(&self) -> Duration {
        REAPING.min(self.timeout / 12)
    }

    /// What the server granted.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How long after the answer to one confirmation the next is sent.
    pub fn rhythm(&self) -> Duration {
        self.timeout / 6
    }

    /// The newest confirmation, or the start of the session.
    pub fn last_confirmed(&self) -> BootTime {
        self.confirmed.back().copied().or(self.began).unwrap_or(BootTime::from_nanos(0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const T: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn until_there_are_four_the_session_s_start_counts() {
        let mut lease = Lease::new(at(100), T);
        assert_eq!(lease.end(), at(130));
        for sent in [101, 106, 111] {
            assert!(lease.confirm(at(sent), at(sent)));
            assert_eq!(lease.end(), at(130));
        }
        assert!(lease.confirm(at(116), at(116)));
        assert_eq!(lease.end(), at(131), "the first of the four");
        assert!(lease.confirm(at(121), at(121)));
        assert_eq!(lease.end(), at(136));
    }

    #[test]
    fn in_steady_rhythm_it_ends_half_a_timeout_after_the_newest() {
        let mut lease = Lease::new(at(0), T);
        for sent in (0..100).step_by(5) {
            assert!(lease.confirm(at(sent), at(sent)));
        }
        assert_eq!(lease.end(), at(95 + 15));
        assert_eq!(lease.last_confirmed(), at(95));
        assert_eq!(lease.stop_at(Duration::from_mins(1)), at(95 + 10), "a third of the timeout of silence");
        assert_eq!(lease.stop_at(Duration::from_millis(800)), at(95 + 14));
        assert_eq!(lease.kill_at(), lease.end().before(REAPING));
        assert_eq!(
            lease.take_over_at(Duration::from_millis(800)),
            lease.end().before(Duration::from_millis(600))
        );
        assert_eq!(lease.take_over_at(Duration::ZERO), lease.too_late_at());
    }

    #[test]
    fn a_lease_that_ran_out_is_never_renewed() {
        let mut lease = Lease::new(at(0), T);
        assert!(!lease.is_over(at(29)));
        assert!(!lease.confirm(at(29), at(30)), "answered at the very end: too late");
        assert!(lease.is_over(at(1)), "and a clock that is read late changes nothing");
        assert!(!lease.confirm(at(31), at(31)));
    }

    #[test]
    fn one_that_runs_nothing_may_begin_anew_and_then_needs_four() {
        let mut lease = Lease::new(at(0), T);
        assert!(lease.is_over(at(100)));
        let mut lease = lease.anew();
        for sent in [100, 105, 110] {
            assert!(lease.confirm(at(sent), at(sent)));
            assert_eq!(lease.stop_at(Duration::ZERO), at(0), "nothing is promised yet");
            assert!(!lease.is_over(at(sent)));
        }
        assert!(lease.confirm(at(115), at(115)));
        assert_eq!(lease.end(), at(130));
        assert!(lease.is_over(at(130)) && !lease.confirm(at(130), at(130)));
    }

    proptest! {
        /// Whatever the confirmations, the end is never later than T after the third before the newest.
        #[test]
        fn never_longer_than_the_rule(gaps in prop::collection::vec((0u64..8_000, 0u64..2_000), 0..40)) {
            let ms = |n: u64| BootTime::from_nanos(n * 1_000_000);
            let mut lease = Lease::new(ms(0), T);
            let (mut now, mut sent_times, mut ended) = (0, vec![], false);
            for (pause, answer) in gaps {
                let sent = now + pause;
                now = sent + answer;
                let rule = sent_times.len().checked_sub(BACK + 1).map_or(0, |i| sent_times[i]);
                ended |= now >= rule + 30_000;
                prop_assert_eq!(lease.confirm(ms(sent), ms(now)), !ended);
                if !ended {
                    sent_times.push(sent);
                }
                let counted = sent_times.len().checked_sub(BACK + 1).map_or(0, |i| sent_times[i]);
                prop_assert_eq!(lease.end(), ms(counted + 30_000));
                prop_assert!(lease.stop_at(Duration::ZERO) <= lease.kill_at());
                prop_assert!(lease.kill_at() < lease.too_late_at() && lease.too_late_at() < lease.end());
                for kill_after in [0, 1, 5_000, 60_000].map(Duration::from_millis) {
                    let take_over = lease.take_over_at(kill_after);
                    prop_assert!(lease.stop_at(kill_after) < take_over && take_over <= lease.too_late_at());
                }
            }
        }
    }
}
