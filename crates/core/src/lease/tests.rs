use proptest::prelude::*;

use super::*;

const T: Duration = Duration::from_secs(30);

fn at(seconds: u64) -> BootTime {
    BootTime::from_nanos(seconds * 1_000_000_000)
}

fn nanos(nanos: u64) -> BootTime {
    BootTime::from_nanos(nanos)
}

/// A new lease with confirmations at a steady pace, and when the newest was answered.
fn steady(pauses: u32, round_trip: Duration) -> (Lease, BootTime) {
    let mut lease = Lease::new(at(0), T);
    let mut now = at(0);
    for _ in 0..20 {
        let sent = now + lease.step() * pauses;
        now = sent + round_trip;
        assert!(lease.confirm(sent, now));
    }
    (lease, now)
}

#[test]
fn a_fresh_session_counts_from_its_connect_request_until_confirmations_span_a_third() {
    let mut lease = Lease::new(at(100), T);
    assert_eq!(lease.end(), at(130));
    for sent in [101, 103, 106, 108, 111] {
        assert!(lease.confirm(at(sent), at(sent)));
        assert_eq!(lease.end(), at(130), "the last is the first confirmation a third after another");
    }
    assert!(lease.confirm(at(113), at(113)));
    assert_eq!(lease.end(), at(131), "counts from the first one: the third was sent 10 s after its answer");
    assert!(lease.confirm(at(116), at(116)));
    assert_eq!(lease.end(), at(133));
}

#[test]
fn the_third_counts_from_the_answer_of_the_oldest_to_the_sending_of_the_others() {
    let mut lease = Lease::new(at(0), T);
    for (sent, answered) in [(1, 3), (12, 20), (21, 22)] {
        assert!(lease.confirm(at(sent), at(answered)));
    }
    assert_eq!(lease.end(), at(30), "9 s from the first answer to the second sending");
    assert!(lease.confirm(at(23), at(23)));
    assert_eq!(lease.end(), at(31), "18 s from the first answer to the third sending");
}

#[test]
fn a_steady_holder_s_lease_ends_seven_twelfths_after_the_newest() {
    let (lease, answered) = steady(1, Duration::ZERO);
    assert_eq!(lease.end(), answered + T * 7 / 12);
    assert_eq!(lease.last_confirmed(), answered);
    assert_eq!(lease.stop_at(Duration::from_mins(1)), answered + T * 5 / 12);
    assert_eq!(lease.stop_at(Duration::from_millis(800)), lease.kill_at().before(Duration::from_millis(800)));
}

#[test]
fn a_waiter_s_lease_covers_a_command_until_its_next_confirmation() {
    let (lease, answered) = steady(2, Duration::ZERO);
    assert_eq!(lease.end(), answered + T / 2);
    assert!(lease.stop_at(Duration::from_mins(1)) > answered + lease.step() * 2);
}

#[test]
fn a_slow_connection_shortens_the_tolerated_silence_by_six_round_trips() {
    for (round_trip, silence) in [(0, 17_500), (50, 17_200), (150, 16_600), (300, 15_700), (2000, 10_000)] {
        let (lease, answered) = steady(1, Duration::from_millis(round_trip));
        assert_eq!(answered.until(lease.end()), Duration::from_millis(silence), "R = {round_trip} ms");
    }
}

#[test]
fn a_lease_that_ran_out_is_never_renewed() {
    let mut lease = Lease::new(at(0), T);
    for sent in [1, 12, 24] {
        assert!(lease.confirm(at(sent), at(sent)));
    }
    assert_eq!(lease.end(), at(31));
    assert!(!lease.is_over(at(30)));
    assert!(
        !lease.confirm(at(29), at(31)),
        "answered at the lease end is too late, although its *a* was sent at 12"
    );
    assert!(lease.is_over(at(1)), "an earlier time passed in later changes nothing");
    assert!(!lease.confirm(at(32), at(32)));
    assert_eq!(lease.end(), at(31));
}

#[test]
fn a_restarted_lease_covers_no_time_until_confirmations_span_a_third() {
    let mut lease = Lease::new(at(0), T);
    assert!(lease.is_over(at(100)));
    let mut lease = lease.unconfirmed();
    for sent in [100, 103, 106, 109, 112] {
        assert!(lease.confirm(at(sent), at(sent)));
        assert_eq!(lease.stop_at(Duration::ZERO), at(0), "the lease covers no time yet");
        assert!(!lease.is_over(at(sent)));
    }
    assert!(lease.confirm(at(115), at(115)));
    assert_eq!(lease.end(), at(130));
    assert!(lease.is_over(at(130)) && !lease.confirm(at(130), at(130)));
}

#[test]
fn four_steps_are_never_less_than_a_third_of_the_timeout() {
    for millis in 1..100_000 {
        let timeout = Duration::from_millis(millis);
        let step = Lease::new(at(0), timeout).step();
        assert!(step * 12 >= timeout && step * 12 < timeout + Duration::from_nanos(12), "{timeout:?}");
    }
}

/// The rule taken literally: every confirmation is kept, and each one searches all others.
struct AsWritten {
    timeout: u64,
    began: Option<u64>,
    confirmations: Vec<(u64, u64)>,
    over: bool,
}

impl AsWritten {
    fn end(&self) -> Option<u64> {
        let newest = |of: &[(u64, u64)], matches: &dyn Fn(u64) -> bool| {
            of.iter()
                .copied()
                .filter(|(_, answered)| matches(*answered))
                .max_by_key(|(_, answered)| *answered)
        };
        let a = self.confirmations.split_last().and_then(|(&(d_sent, _), others)| {
            let (c_sent, _) = newest(others, &|answered| answered <= d_sent)?;
            newest(others, &|answered| 3 * answered + self.timeout <= 3 * c_sent)
        });
        a.map(|(sent, _)| sent).or(self.began).map(|from| from + self.timeout)
    }

    fn is_over(&mut self, now: u64) -> bool {
        self.over |= self.end().is_some_and(|end| end <= now);
        self.over
    }

    fn confirm(&mut self, sent: u64, now: u64) -> bool {
        let in_time = !self.is_over(now);
        if in_time {
            self.confirmations.push((sent, now));
        }
        in_time
    }
}

proptest! {
    /// Dropping old confirmations changes nothing. The numbers are small so that a third is often just reached or just
    /// missed.
    #[test]
    fn as_the_rule_is_written(
        timeout in 1u64..60,
        unconfirmed: bool,
        gaps in prop::collection::vec((0u64..25, 0u64..8), 0..60),
    ) {
        let fresh = Lease::new(nanos(1000), Duration::from_nanos(timeout));
        let mut lease = if unconfirmed { fresh.unconfirmed() } else { fresh };
        let began = (!unconfirmed).then_some(1000);
        let mut written = AsWritten { timeout, began, confirmations: vec![], over: false };
        let mut now = 1000;
        for (pause, round_trip) in gaps {
            // Mostly small enough for a lease of this length to survive.
            let sent = now + pause * timeout / 60;
            now = sent + round_trip * timeout / 60;
            prop_assert_eq!(lease.confirm(nanos(sent), nanos(now)), written.confirm(sent, now));
            prop_assert_eq!(lease.end(), nanos(written.end().unwrap_or(0)));
            prop_assert_eq!(lease.is_over(nanos(now)), written.is_over(now));
        }
    }

    /// Holds at the pace of the program, which sends each confirmation at least a step after the last answer.
    #[test]
    fn five_confirmations_are_all_that_it_keeps(
        gaps in prop::collection::vec((0u64..8_000, 0u64..2_000), 0..40),
    ) {
        let (mut lease, mut now) = (Lease::new(at(0), T).unconfirmed(), at(0));
        for (more, round_trip) in gaps {
            let sent = now + lease.step() + Duration::from_millis(more);
            now = sent + Duration::from_millis(round_trip);
            lease.confirm(sent, now);
            prop_assert!(lease.confirmed.len() <= 5, "{}", lease.confirmed.len());
        }
    }

    #[test]
    fn the_moments_of_a_stop_are_in_order(timeout in 100u64..100_000, kill_after in 0u64..100_000) {
        let lease = Lease::new(at(1000), Duration::from_millis(timeout));
        let kill_after = Duration::from_millis(kill_after);
        let (stop, kill) = (lease.stop_at(kill_after), lease.kill_at());
        prop_assert!(kill.before(lease.timeout() / 12) <= stop && stop <= kill);
        prop_assert!(kill < lease.take_over_at() && lease.take_over_at() < lease.end());
    }
}

/// KILL has a twelfth of the session timeout, and at least 0.2 s; the monitor half of that, as long as it is 0.2 s.
#[test]
fn the_reserve_grows_with_the_session_timeout() {
    for (timeout, kill, take_over) in
        [(1_000, 200, 150), (2_400, 200, 150), (4_000, 333, 200), (30_000, 2_500, 1_250)]
    {
        let lease = Lease::new(at(0), Duration::from_millis(timeout));
        let before = |moment: BootTime| moment.until(lease.end()).as_millis();
        assert_eq!((before(lease.kill_at()), before(lease.take_over_at())), (kill, take_over), "{timeout}");
    }
}
