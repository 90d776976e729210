//! Opening a session, and reconnecting to it when its connection was lost: which server to try, for how long, and when to
//! pause or give up.
//!
//! [`retry`] has the attempts one after the other. The session and the simulation carry them out.

pub mod retry;

use std::time::Duration;

use self::retry::AttemptLimit;
use super::time::BootTime;

/// How long zklock tries to reconnect to a session with this timeout. Then the session has ended, or will end soon after
/// the servers are back.
pub fn longest_reconnection(timeout: Duration) -> Duration {
    timeout * 7 / 5
}

/// How long connecting took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectSpeed {
    took: Duration,
    /// Whether this was a [patient](AttemptLimit::Patient) attempt.
    patient: bool,
    /// Whether only a patient attempt is long enough.
    slow: bool,
}

impl ConnectSpeed {
    /// The speed of an attempt that took this long, for a session with this timeout.
    pub fn of(took: Duration, limit: AttemptLimit, timeout: Duration) -> Self {
        let patient = matches!(limit, AttemptLimit::Patient(_));
        Self { took, patient, slow: patient && took > timeout / 8 }
    }

    /// The expected speed after this attempt and a later one.
    #[must_use]
    pub fn at_best(self, later: Self) -> Self {
        Self { took: self.took.min(later.took), ..later }
    }

    fn is_patient_in_vain(self) -> bool {
        self.patient && !self.slow
    }
}

/// The growing pause before a reconnection if connections are accepted and soon lost, one after the other: each costs a
/// server more than a refused one.
#[derive(Debug, Clone, Copy)]
pub struct ReconnectPause {
    connected_at: BootTime,
    next: Duration,
}

impl ReconnectPause {
    /// For a session whose first connection was made `now`.
    pub fn new(now: BootTime) -> Self {
        Self { connected_at: now, next: Duration::ZERO }
    }

    /// Records that another connection was made.
    pub fn connected(&mut self, now: BootTime) {
        self.connected_at = now;
    }

    /// The pause before the next connection: none after one that has lasted.
    pub fn after_loss(&mut self, now: BootTime, timeout: Duration) -> Duration {
        const FIRST: Duration = Duration::from_millis(25);
        let long_enough = Duration::from_secs(1).min(timeout / 24);
        if now.since(self.connected_at) >= long_enough {
            self.next = Duration::ZERO;
            return Duration::ZERO;
        }
        // There is no pause after the first loss, which may be due to a server that shuts down.
        let pause = self.next;
        self.next = (pause * 2).clamp(FIRST, long_enough.max(FIRST));
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_secs(24);

    #[test]
    fn pauses_between_connections_that_are_soon_lost_grow_until_one_lasts() {
        let mut now = BootTime::from_start(T);
        let mut pause = ReconnectPause::new(now);
        let mut after = |lasted: u64| {
            now = now + Duration::from_millis(lasted);
            let waited = pause.after_loss(now, T);
            now = now + waited;
            pause.connected(now);
            waited.as_millis()
        };
        let pauses: Vec<_> = [999; 9].map(&mut after).into();
        assert_eq!(pauses, [0, 25, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!([after(1000), after(0), after(0)], [0, 0, 25]);
        let mut pause = ReconnectPause { next: T, ..ReconnectPause::new(now) };
        assert_eq!(
            pause.after_loss(now + Duration::from_millis(250), T / 4),
            Duration::ZERO,
            "long for a short session"
        );
    }

    #[test]
    fn a_session_is_given_up_when_it_has_certainly_ended() {
        assert!(longest_reconnection(T) > T, "until then the servers may keep it");
        assert!(longest_reconnection(T) < T * 3 / 2, "it won't come back");
    }

    #[test]
    fn a_connection_is_slow_if_only_a_patient_attempt_is_long_enough() {
        let usual = ConnectSpeed::of(T / 7, AttemptLimit::Usual(T / 8), T);
        let patient = |took| ConnectSpeed::of(took, AttemptLimit::Patient(T * 3 / 5), T);
        assert!(!usual.slow && !patient(T / 8).slow && patient(T / 7).slow);
        assert_eq!(patient(T / 7).at_best(usual), usual, "the later attempt counts");
        assert_eq!(usual.at_best(patient(T / 2)), ConnectSpeed { took: T / 7, ..patient(T / 2) });
    }
}
