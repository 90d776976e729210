//! How late the run was: a host that is stopped, or that starves zklock of processor time, costs as much of a lease as
//! a silent server.

use std::collections::VecDeque;
use std::time::Duration;

use crate::loss::Late;
use crate::time::BootTime;

/// A delay up to this part of the session timeout isn't noted: there are always some.
const SMALLEST_PART: u32 = 240;

/// The times in which the run had something to do and didn't do it, or couldn't have done anything.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    /// The last input was taken in at this time.
    looked_at: BootTime,
    /// When the next was due at the latest.
    due: Option<BootTime>,
    /// From when an input was due, or zklock was held up, until it was taken in, oldest first. The spans don't overlap.
    late: VecDeque<(BootTime, BootTime)>,
    /// The times in which the host let zklock wait for a processor, in the same way.
    held_up: VecDeque<(BootTime, BootTime)>,
}

impl Lateness {
    /// An input is taken in `now`, with this session `timeout`. `held_up` is for how long the host let zklock wait for a
    /// processor, whether or not something was due: what comes for it, such as an answer, waits as well.
    pub(super) fn looked(&mut self, now: BootTime, held_up: Duration, timeout: Duration) {
        let held_up_from = now.before(held_up).max(self.looked_at);
        let due = self.due.map_or(held_up_from, |due| due.max(self.looked_at).min(held_up_from));
        self.looked_at = now;
        // Nothing looks further back, so that there are never more than a few hundred.
        let oldest = now.before(timeout * 2);
        for (spans, from) in [(&mut self.late, due), (&mut self.held_up, held_up_from)] {
            if now.since(from) * SMALLEST_PART > timeout {
                spans.push_back((from, now));
            }
            while spans.front().is_some_and(|&(_, to)| to < oldest) {
                spans.pop_front();
            }
        }
    }

    /// The longest wait for a processor in the last two session timeouts: it may come again. Sleep of the host and stops of
    /// zklock don't count.
    pub(super) fn expected(&self) -> Duration {
        self.held_up.iter().map(|&(from, to)| to.since(from)).max().unwrap_or_default()
    }

    /// The next input is due by this time.
    pub(super) fn expects(&mut self, due: Option<BootTime>) {
        self.due = due;
    }

    /// How late the run was between these times.
    pub(super) fn between(&self, from: BootTime, to: BootTime) -> Late {
        let within = |&(due, taken): &(BootTime, BootTime)| taken.min(to).since(due.max(from));
        let spans = self.late.iter().map(within);
        Late { longest: spans.clone().max().unwrap_or_default(), total: spans.sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_secs(24);

    fn at(millis: u64) -> BootTime {
        BootTime::from_nanos(millis * 1_000_000)
    }

    fn late(longest: u64, total: u64) -> Late {
        Late { longest: Duration::from_millis(longest), total: Duration::from_millis(total) }
    }

    /// The run takes in what is due at the first times, at the second ones.
    fn of(times: &[(u64, u64)]) -> Lateness {
        let mut lateness = Lateness::default();
        for &(due, taken) in times {
            lateness.expects(Some(at(due)));
            lateness.looked(at(taken), Duration::ZERO, T);
        }
        lateness
    }

    #[test]
    fn delays_add_up_and_the_longest_is_known() {
        let lateness = of(&[(1_000, 1_300), (2_000, 2_100), (2_500, 2_400), (3_000, 4_000)]);
        assert_eq!(
            lateness.between(at(0), at(9_000)),
            late(1_000, 1_300),
            "100 ms are usual, early is on time"
        );
        assert_eq!(lateness.between(at(1_200), at(9_000)), late(1_000, 1_100));
        assert_eq!(lateness.between(at(1_100), at(3_400)), late(400, 600));
        assert_eq!(lateness.between(at(5_000), at(9_000)), late(0, 0));
    }

    #[test]
    fn what_was_due_long_ago_is_late_only_since_the_last_look() {
        let lateness = of(&[(1_000, 1_000), (500, 1_400)]);
        assert_eq!(lateness.between(at(0), at(9_000)), late(400, 400));
    }

    #[test]
    fn nothing_is_late_that_is_not_awaited() {
        let mut lateness = of(&[(1_000, 1_000)]);
        lateness.expects(None);
        lateness.looked(at(20_000), Duration::ZERO, T);
        assert_eq!(lateness.between(at(0), at(20_000)), late(0, 0));
    }

    #[test]
    fn what_the_host_held_up_is_late_although_nothing_was_due_but_not_twice() {
        let mut lateness = of(&[(1_000, 1_000)]);
        lateness.expects(None);
        lateness.looked(at(1_700), Duration::from_millis(500), T);
        assert_eq!(lateness.between(at(0), at(9_000)), late(500, 500), "an answer that waited");
        lateness.expects(Some(at(2_000)));
        lateness.looked(at(2_600), Duration::from_millis(400), T);
        assert_eq!(lateness.between(at(0), at(9_000)), late(600, 1_100), "it was due before it was held up");
        lateness.expects(None);
        lateness.looked(at(2_700), Duration::from_secs(5), T);
        assert_eq!(lateness.between(at(0), at(9_000)), late(600, 1_100), "100 ms are usual");
        lateness.looked(at(3_000), Duration::from_secs(5), T);
        assert_eq!(lateness.between(at(0), at(9_000)), late(600, 1_400), "since the last look");
    }

    #[test]
    fn the_longest_wait_for_a_processor_is_expected_for_two_session_timeouts() {
        let mut lateness = of(&[(1_000, 9_000)]);
        assert_eq!(lateness.expected(), Duration::ZERO, "stopped, or asleep");
        lateness.looked(at(10_000), Duration::from_millis(100), T);
        assert_eq!(lateness.expected(), Duration::ZERO, "usual");
        for (now, held_up) in [(11_000, 300), (12_000, 700), (13_000, 200)] {
            lateness.looked(at(now), Duration::from_millis(held_up), T);
        }
        assert_eq!(lateness.expected(), Duration::from_millis(700));
        lateness.looked(at(60_000), Duration::ZERO, T);
        assert_eq!(lateness.expected(), Duration::from_millis(700));
        lateness.looked(at(60_001), Duration::ZERO, T);
        assert_eq!(lateness.expected(), Duration::from_millis(200));
    }

    #[test]
    fn what_is_older_than_two_session_timeouts_is_forgotten() {
        let mut lateness = of(&[(1_000, 2_000), (20_000, 21_000), (50_000, 50_000)]);
        assert_eq!(lateness.between(at(0), at(60_000)), late(1_000, 2_000));
        lateness.looked(at(50_001), Duration::ZERO, T);
        assert_eq!(lateness.between(at(0), at(60_000)), late(1_000, 1_000));
    }
}
