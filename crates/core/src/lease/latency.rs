//! Whether the connection is fast enough for a lease, decided before a command starts and never after. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use crate::lease::Lease;
use crate::time::BootTime;

/// How many answered writes are considered: the fastest one measures the connection, as a single slow one proves
/// nothing.
const LOOKED_AT: usize = 3;

/// After this many confirmations a lease has reached its steady state, however slow the connection is.
const SETTLED: usize = 40;

/// A confirmation is sent at least a twelfth of the timeout after the answer to the one before.
const STEPS_IN_A_THIRD: u32 = 4;

/// The longest session timeout worth proposing.
const LONGEST: Duration = Duration::from_hours(1);

/// How long the last quorum writes took, from before they were sent until their answers arrived, and for how long that
/// was too slow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatencyEstimate {
    trips: VecDeque<Duration>,
    is_first: bool,
    /// How many of them were answered since the contender became first in the queue: a connection that was slow before
    /// may be fast again.
    as_first: usize,
    /// When the last answer arrived, or the contender became first in the queue. `None` while there is no connection.
    heard: Option<BootTime>,
    /// How long the first contender in the queue has received answers without a lease to start under.
    in_vain: Duration,
}

/// Whether the command may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// It may start now.
    Now,
    /// Not yet. Answers that are in flight, or due later, may change that.
    NotYet,
    /// Not with the measurements so far, which may have been a single delay: the next confirmation should be sent
    /// immediately.
    AskAgain,
    /// Never: the connection is too slow, or the host too busy.
    Never {
        /// How long an answer takes.
        trip: Duration,
        /// The session timeout that this is too slow for.
        timeout: Duration,
    },
}

impl LatencyEstimate {
    /// Records a write that was answered after `trip`.
    pub fn answered(&mut self, trip: Duration, now: BootTime, timeout: Duration) {
        self.trips.push_back(trip);
        if self.trips.len() > LOOKED_AT {
            self.trips.pop_front();
        }
        // After a longer silence, possibly because zklock itself was stopped, the connection isn't to blame.
        if let Some(span) = self.heard.map(|heard| now.since(heard)).filter(|&span| span <= timeout) {
            self.in_vain += span;
        }
        self.as_first += usize::from(self.is_first);
        self.heard = self.is_first.then_some(now);
    }

    /// The contender is first in the queue; from now on others wait for it.
    pub fn becomes_first(&mut self, now: BootTime) {
        if !self.is_first {
            (self.is_first, self.heard) = (true, Some(now));
        }
    }

    /// The connection is lost. zklock waits for its return, however long that takes.
    pub fn disconnected(&mut self) {
        self.heard = None;
    }

    /// The connection's round trip: the fastest of the last three. `None` before any write was answered.
    pub fn trip(&self) -> Option<Duration> {
        self.trips.iter().min().copied()
    }

    /// The slowest of the last three.
    pub fn slowest(&self) -> Option<Duration> {
        self.trips.iter().max().copied()
    }

    /// Whether the command may start under this lease. `sends`: when the next confirmation is to be sent, or was sent
    /// if it is on its way.
    pub fn start(&self, lease: &Lease, sends: BootTime, kill_after: Duration, now: BootTime) -> Start {
        // The answer to a create may be lost; then the first confirmation is measured.
        let Some(trip) = self.trip() else { return Start::NotYet };
        let timeout = lease.timeout();
        if !is_quick_enough(timeout, trip, kill_after) {
            return if self.as_first < LOOKED_AT { Start::AskAgain } else { Start::Never { trip, timeout } };
        }
        if rides(lease.clone(), sends, trip, kill_after, now) {
            return Start::Now;
        }
        // A single delay of the host is forgotten after two session timeouts.
        let may_pass = || self.in_vain < timeout * 3 && self.is_too_busy(lease, kill_after);
        if self.in_vain < timeout * 2 || may_pass() {
            return Start::NotYet;
        }
        Start::Never { trip: self.slowest().unwrap_or(trip), timeout }
    }
}

impl LatencyEstimate {
    /// Whether the connection is fast enough, but this host's delays leave no lease under which the command may start.
    pub fn is_too_busy(&self, lease: &Lease, kill_after: Duration) -> bool {
        let (timeout, delay) = (lease.timeout(), lease.expected_delay());
        self.trip().is_some_and(|trip| {
            is_quick_enough(timeout, trip, kill_after) && !may_start(timeout, trip, delay, kill_after)
        })
    }

    /// When the command may start, if answers keep arriving as fast as the fastest of the last three. `sends`: as for
    /// [`start`](Self::start).
    pub fn starts_at(
        &self,
        lease: &Lease,
        sends: BootTime,
        kill_after: Duration,
        now: BootTime,
    ) -> Option<BootTime> {
        let trip = self.trip()?;
        let (mut lease, mut next, mut now) = (lease.clone(), sends, now);
        (0..SETTLED).find_map(|_| {
            let sent = next;
            now = now.max(sent + trip);
            next = now + lease.step();
            if lease.is_over(now) {
                lease = lease.unconfirmed();
            }
            lease.confirm(sent, now);
            rides(lease.clone(), next, trip, kill_after, now).then_some(now)
        })
    }
}

/// Whether every answer arrives before the holder must stop its command, if answers take `trip` or a little longer.
/// `next`: when the next confirmation is or was sent.
///
/// A new lease is shorter than one in its steady state: connecting took a part of it, and it isn't renewed until the
/// answers span a third of the timeout.
///
/// Quicker answers aren't always better: a confirmation that is sent just before that third has passed doesn't count,
/// and the lease needs one more. The calculation therefore takes the slowest answers, and for each confirmation the
/// earliest time of sending that the quickest answers before it allow.
fn rides(mut lease: Lease, mut next: BootTime, trip: Duration, kill_after: Duration, now: BootTime) -> bool {
    let slow = jittered(trip);
    let early = slow.saturating_sub(trip) * STEPS_IN_A_THIRD;
    (0..SETTLED).all(|_| {
        let (sent, answered) = (next, now.max(next + slow));
        next = answered + lease.step();
        // The order matters: a lease that has run out isn't renewed.
        lease.stop_at(kill_after) > answered && lease.confirm(sent.before(early), answered)
    })
}

/// Whether leases can be kept over a connection with this round trip.
pub fn is_quick_enough(timeout: Duration, trip: Duration, kill_after: Duration) -> bool {
    may_start(timeout, trip, Duration::ZERO, kill_after)
}

/// Whether a command may start under a new lease of this session timeout, over a connection with this round trip and on a
/// host that may be late by `delay`.
fn may_start(timeout: Duration, trip: Duration, delay: Duration, kill_after: Duration) -> bool {
    let began = BootTime::from_nanos(0);
    let mut lease = Lease::new(began, timeout);
    lease.expect_delay(delay);
    let first = began + lease.step();
    rides(lease, first, trip, kill_after, began)
}

/// Adds a margin: no connection is always as fast as its fastest answer.
fn jittered(trip: Duration) -> Duration {
    trip + trip / 20
}

/// The smallest session timeout, in whole seconds, for which the connection is fast enough and a steady lease survives that
/// zklock is late by `delay`.
pub fn smallest_timeout(trip: Duration, delay: Duration, kill_after: Duration) -> Option<Duration> {
    let is_survived = |timeout: Duration| {
        let mut lease = Lease::new(BootTime::from_nanos(0), timeout);
        lease.expect_delay(delay);
        // A steady lease ends seven steps after the newest confirmation, less six round trips; the next is one step away.
        let step = lease.step();
        lease.stop_at(kill_after).since_start() > step * 6 + delay + jittered(trip) * 7
    };
    let is_enough =
        |timeout| is_quick_enough(timeout, trip, kill_after) && (delay.is_zero() || is_survived(timeout));
    let mut seconds = (1..=LONGEST.as_secs()).map(Duration::from_secs);
    seconds.find(|&timeout| is_enough(timeout))
}

/// The longest silence of the servers that a holder certainly tolerates, if answers take `trip`.
pub fn silence_ridden_out(timeout: Duration, trip: Duration) -> Duration {
    (timeout / 3).saturating_sub(trip * 6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const T: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn the_fastest_of_the_last_three_answers_measures_the_connection() {
        let (lease, mut latency) = (Lease::new(at(0), T), LatencyEstimate::default());
        let start = |latency: &LatencyEstimate| latency.start(&lease, at(1), GRACE, at(1));
        assert_eq!(start(&latency), Start::NotYet);
        latency.becomes_first(at(1));
        for (trip, then) in [
            (9_000, Start::AskAgain),
            (20, Start::Now),
            (7_000, Start::Now),
            (8_000, Start::Now),
            (9_500, Start::Never { trip: ms(7_000), timeout: T }),
        ] {
            latency.answered(ms(trip), at(1), T);
            assert_eq!(start(&latency), then, "{trip}");
        }
    }

    #[test]
    fn an_answer_at_the_very_time_to_stop_is_too_late() {
        let (mut lease, trip) = (Lease::new(at(0), T), ms(10));
        for second in (5..40).step_by(5) {
            lease.confirm(at(second), at(second));
        }
        let latest = lease.stop_at(GRACE).before(jittered(trip));
        assert!(!rides(lease.clone(), latest, trip, GRACE, at(40)));
        assert!(rides(lease, latest.before(Duration::from_nanos(1)), trip, GRACE, at(40)));
    }

    #[test]
    fn the_time_at_which_the_command_may_start_is_foretold() {
        let (trip, mut latency) = (ms(20), LatencyEstimate::default());
        assert_eq!(latency.starts_at(&Lease::new(at(0), T), at(1), GRACE, at(1)), None, "no answer yet");
        latency.answered(trip, at(1), T);
        for mut lease in [Lease::new(at(0), T).unconfirmed(), Lease::new(at(15), T)] {
            let (mut next, mut now) = (at(40), at(40));
            let foretold = latency.starts_at(&lease, next, GRACE, now);
            while latency.start(&lease, next, GRACE, now) != Start::Now {
                assert!(now < at(80));
                let sent = next;
                (now, next) = (sent + trip, sent + trip + lease.step());
                if lease.is_over(now) {
                    lease = lease.unconfirmed();
                }
                lease.confirm(sent, now);
            }
            assert_eq!(foretold, Some(now));
        }
    }

    #[test]
    fn a_connection_that_was_slow_for_the_waiter_is_measured_again() {
        let (lease, mut latency) = (Lease::new(at(0), T), LatencyEstimate::default());
        for _ in 0..5 {
            latency.answered(ms(4_000), at(1), T);
        }
        latency.becomes_first(at(1));
        assert_eq!(latency.start(&lease, at(1), GRACE, at(1)), Start::AskAgain);
        latency.answered(ms(4), at(1), T);
        assert_eq!(latency.start(&lease, at(1), GRACE, at(1)), Start::Now);
    }

    #[test]
    fn a_command_starts_only_under_a_lease_that_can_be_renewed() {
        let (mut lease, mut latency) = (Lease::new(at(0), T), LatencyEstimate::default());
        latency.answered(ms(1_000), at(1), T);
        // The lease ends at 30 s, and the stop begins 5 s earlier. Renewing it by then takes answers that span 10 s,
        // and one more.
        for (sends, now, then) in [
            (at(2), at(1), Start::Now),
            (at(10), at(1), Start::NotYet),
            (at(2), at(2), Start::Now),
            (at(10), at(10), Start::NotYet),
            (at(2), at(14), Start::NotYet),
        ] {
            assert_eq!(latency.start(&lease, sends, GRACE, now), then, "{sends:?} {now:?}");
        }
        lease = Lease::new(at(10), T);
        assert_eq!(latency.start(&lease, at(10), GRACE, at(10)), Start::Now);
    }

    #[test]
    fn the_first_contender_gives_up_after_two_session_timeouts_of_answers_without_a_lease() {
        let (lease, mut latency) = (Lease::new(at(0), T), LatencyEstimate::default());
        latency.answered(ms(10), at(1), T);
        latency.answered(ms(10), at(100), T);
        latency.becomes_first(at(100));
        latency.answered(ms(10), at(130), T);
        latency.disconnected();
        latency.becomes_first(at(140));
        latency.answered(ms(10), at(500), T);
        assert_eq!(latency.start(&lease, at(500), GRACE, at(500)), Start::NotYet, "an outage is waited out");
        latency.answered(ms(10), at(600), T);
        assert_eq!(latency.start(&lease, at(600), GRACE, at(600)), Start::NotYet, "and so is a sleep");
        latency.answered(ms(3_000), at(630), T);
        assert_eq!(
            latency.start(&lease, at(630), GRACE, at(630)),
            Start::Never { trip: ms(3_000), timeout: T }
        );
    }

    #[test]
    fn a_short_outage_is_not_counted_against_the_connection() {
        let (lease, mut latency) = (Lease::new(at(0), T), LatencyEstimate::default());
        latency.becomes_first(at(100));
        for seconds in [120, 140, 150] {
            latency.disconnected();
            latency.answered(ms(10), at(seconds), T);
        }
        latency.answered(ms(10), at(170), T);
        assert_eq!(
            latency.start(&lease, at(170), GRACE, at(170)),
            Start::NotYet,
            "20 s of answers without a lease"
        );
        latency.answered(ms(10), at(200), T);
        latency.answered(ms(10), at(210), T);
        assert_eq!(latency.start(&lease, at(210), GRACE, at(210)), Start::Never { trip: ms(10), timeout: T });
    }

    #[test]
    fn a_host_that_may_be_too_late_to_stop_a_command_starts_none() {
        let (mut lease, mut latency) =
            (Lease::new(at(0), Duration::from_secs(4)), LatencyEstimate::default());
        latency.becomes_first(at(0));
        for (delay, then) in [(0, Start::Now), (700, Start::Now), (2_000, Start::NotYet)] {
            latency.answered(ms(10), at(1), lease.timeout());
            lease.expect_delay(ms(delay));
            assert_eq!(latency.start(&lease, at(1), GRACE, at(1)), then, "{delay}");
        }
        for second in 2..13 {
            assert_eq!(latency.start(&lease, at(1), GRACE, at(1)), Start::NotYet);
            latency.answered(ms(10), at(second), lease.timeout());
        }
        let never = Start::Never { trip: ms(10), timeout: lease.timeout() };
        assert_eq!(latency.start(&lease, at(1), GRACE, at(1)), never);
        assert!(latency.is_too_busy(&lease, GRACE));
        lease.expect_delay(ms(700));
        assert!(!latency.is_too_busy(&lease, GRACE));
    }

    #[test]
    fn three_slow_answers_are_no_accident() {
        let (lease, mut latency) = (Lease::new(at(0), T), LatencyEstimate::default());
        latency.becomes_first(at(1));
        for then in [Start::AskAgain, Start::AskAgain, Start::Never { trip: ms(9_000), timeout: T }] {
            latency.answered(ms(9_000), at(1), T);
            assert_eq!(latency.start(&lease, at(1), GRACE, at(1)), then);
        }
    }

    #[test]
    fn a_silence_of_a_third_less_six_round_trips_is_ridden_out() {
        assert_eq!(silence_ridden_out(T, ms(50)), ms(9_700));
        assert_eq!(silence_ridden_out(T, Duration::ZERO), ms(10_000));
        assert_eq!(silence_ridden_out(T, ms(5_000)), Duration::ZERO);
    }

    proptest! {
        /// On a line that takes between its quickest answer and a twentieth longer.
        #[test]
        fn no_command_that_is_started_has_to_stop_while_answers_keep_coming(
            ticks in 1..30u32,
            connecting in 10..400u32,
            trip in 1..90u32,
            // Thousandths of a twelfth of the timeout, since the answer to the create.
            since in 0..2_000u32,
            jitter in prop::collection::vec(0..=50u32, 40),
            grace in 0..6_000u64,
            is_sent: bool,
        ) {
            let timeout = Duration::from_secs(1) * ticks;
            let trip = timeout * trip / 1_000;
            let (mut lease, mut latency) = (Lease::new(at(0), timeout), LatencyEstimate::default());
            let created = at(0) + timeout * connecting / 1_000;
            latency.becomes_first(at(0));
            latency.answered(trip, created, timeout);
            lease.confirm(created.before(trip), created);
            let now = created + lease.step() * since / 1_000;
            let mut next = created + lease.step();
            if !is_sent {
                next = next.max(now);
            }
            if latency.start(&lease, next, ms(grace), now) == Start::Now {
                for jitter in jitter {
                    let answered = now.max(next + trip + trip * jitter / 1_000);
                    prop_assert!(lease.stop_at(ms(grace)) > answered, "stopped before {answered:?}");
                    lease.confirm(next, answered);
                    next = answered + lease.step();
                }
            }
        }
    }

    #[test]
    fn an_answer_may_take_a_fifteenth_of_the_session_timeout() {
        let limit = |timeout: Duration| {
            (1..5_000).take_while(|&trip| is_quick_enough(timeout, ms(trip), GRACE)).last().map(ms)
        };
        for timeout in [2, 10, 30, 40].map(Duration::from_secs) {
            let limit = limit(timeout).unwrap_or_default();
            assert!(timeout / 16 <= limit && limit < timeout / 10, "{timeout:?}: {limit:?}");
        }
    }

    #[test]
    fn the_proposed_timeout_works_and_a_smaller_one_does_not() {
        for trip in [1, 50, 100, 150, 300, 600, 1_000, 10_000].map(ms) {
            let timeout = smallest_timeout(trip, Duration::ZERO, GRACE).unwrap_or_default();
            assert!(is_quick_enough(timeout, trip, GRACE), "{trip:?}: {timeout:?}");
            let less = timeout.saturating_sub(Duration::from_secs(1));
            assert!(less.is_zero() || !is_quick_enough(less, trip, GRACE), "{trip:?}: {timeout:?}");
        }
        assert_eq!(smallest_timeout(Duration::from_hours(1), Duration::ZERO, GRACE), None);
        let late = |delay| smallest_timeout(ms(10), ms(delay), GRACE);
        assert_eq!(
            [0, 500, 1_400, 5_000].map(late),
            [1, 4, 8, 25].map(|seconds| Some(Duration::from_secs(seconds)))
        );
    }
}
