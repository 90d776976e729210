//! When to send confirmations: one after another, each some time after the last answer. Pure.
//!
//! That time is a sixth of the session timeout for a waiter. It is a twelfth for the first contender in the queue: the
//! shorter it is, the longer a silence the lease tolerates.

use std::time::Duration;

use crate::lease::Lease;
use crate::time::BootTime;

/// A lease, and the schedule of the confirmations that keep it alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// The lease that the confirmations renew.
    pub lease: Lease,
    next: NextRenewal,
    connected: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextRenewal {
    /// There is no node to confirm yet.
    NotYet,
    /// The next one is sent at this time.
    At(BootTime),
    /// The last one was answered at this time, and the next is sent one pause later.
    After(BootTime),
    /// One is in flight. There is never a second one.
    InFlight,
}

impl Renewal {
    /// For a session that is connected and has no node yet.
    pub fn new(lease: Lease) -> Self {
        Self { lease, next: NextRenewal::NotYet, connected: true }
    }

    /// The first node exists. If its create was answered, that is the first confirmation; if the answer was lost
    /// (`None`), it proves nothing.
    pub fn begin(&mut self, create_sent: Option<BootTime>, now: BootTime) {
        if self.next != NextRenewal::NotYet {
            return;
        }
        match create_sent {
            Some(sent) => self.answered(sent, now),
            None => self.next = NextRenewal::At(now),
        }
    }

    /// When the next confirmation is to be sent; `None` if none is scheduled. `is_first`: the contender is first in the
    /// queue, and stays first while the session lasts. This takes effect immediately, because the command may start now:
    /// a confirmation scheduled at the waiter's pace is brought forward.
    pub fn due(&self, is_first: bool) -> Option<BootTime> {
        match self.next {
            NextRenewal::At(due) if self.connected => Some(due),
            NextRenewal::After(answer) if self.connected => Some(answer + self.pause(is_first)),
            _ => None,
        }
    }

    /// The pause between an answer and the next confirmation.
    fn pause(&self, is_first: bool) -> Duration {
        if is_first { self.lease.step() } else { self.lease.step() * 2 }
    }

    /// Begins a new lease if the old one ran out during a long silence. Only while no command runs.
    pub fn revive(&mut self, now: BootTime) {
        if self.lease.is_over(now) {
            self.lease = self.lease.unconfirmed();
        }
    }

    /// A confirmation has been sent.
    pub fn sent(&mut self) {
        self.next = NextRenewal::InFlight;
    }

    /// The confirmation sent at `sent` was answered.
    pub fn answered(&mut self, sent: BootTime, now: BootTime) {
        self.lease.confirm(sent, now);
        self.next = NextRenewal::After(now);
    }

    /// The connection was lost before the answer came. The next confirmation is sent as soon as there is a connection.
    pub fn unanswered(&mut self, now: BootTime) {
        self.next = NextRenewal::At(now);
    }

    /// The server refused the confirmation, for example because it is overloaded. The next one is sent on schedule, not
    /// immediately.
    pub fn refused(&mut self, now: BootTime) {
        self.next = NextRenewal::After(now);
    }

    /// Schedules the next confirmation for now, unless one is in flight.
    pub fn confirm_soon(&mut self, is_first: bool, now: BootTime) {
        match self.next {
            NextRenewal::At(due) => self.next = NextRenewal::At(now.min(due)),
            NextRenewal::After(answer) => self.next = NextRenewal::At(now.min(answer + self.pause(is_first))),
            NextRenewal::NotYet | NextRenewal::InFlight => {}
        }
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Sets whether there is a connection. Without one nothing is sent: a confirmation would be queued and count from
    /// its old send time.
    pub fn set_connected(&mut self, connected: bool) {
        self.connected = connected;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_secs(12);

    fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_waiter_confirms_a_sixth_of_the_timeout_after_the_last_answer() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        assert_eq!(renewal.due(false), None, "nothing to confirm");
        renewal.begin(Some(at(0)), at(1));
        assert_eq!(renewal.due(false), Some(at(3)));
        renewal.sent();
        assert_eq!(renewal.due(false), None, "never two at once");
        renewal.answered(at(3), at(4));
        assert_eq!(renewal.due(false), Some(at(6)));
        assert_eq!(renewal.lease.last_confirmed(), at(3));
    }

    #[test]
    fn the_first_waiter_confirms_a_twelfth_after_it_and_switches_at_once() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        renewal.begin(Some(at(0)), at(1));
        assert_eq!(renewal.due(true), Some(at(2)), "the confirmation is brought forward");
        renewal.sent();
        assert_eq!(renewal.due(true), None, "one is on its way");
        renewal.refused(at(4));
        assert_eq!(renewal.due(true), Some(at(5)), "a refused confirmation isn't retried immediately");
        renewal.sent();
        renewal.answered(at(5), at(6));
        assert_eq!(renewal.due(true), Some(at(7)));
        renewal.revive(at(20));
        assert_eq!(renewal.due(true), Some(at(7)));
        renewal.answered(at(20), at(21));
        assert_eq!(renewal.due(true), Some(at(22)), "the same pause applies after a revival");
    }

    #[test]
    fn hurrying_brings_the_next_confirmation_forward_and_never_delays_it() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        renewal.confirm_soon(false, at(0));
        assert_eq!(renewal.due(false), None, "nothing to confirm");
        renewal.begin(Some(at(0)), at(1));
        renewal.confirm_soon(false, at(2));
        assert_eq!(renewal.due(false), Some(at(2)));
        renewal.confirm_soon(false, at(5));
        assert_eq!(renewal.due(false), Some(at(2)));
        renewal.sent();
        renewal.confirm_soon(false, at(5));
        assert_eq!(renewal.due(false), None, "one is on its way");
    }

    #[test]
    fn a_lost_connection_pauses_confirmations_and_a_reconnection_sends_one_immediately() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        renewal.begin(None, at(1));
        renewal.sent();
        renewal.set_connected(false);
        renewal.unanswered(at(2));
        assert_eq!(renewal.due(false), None);
        renewal.set_connected(true);
        assert_eq!(renewal.due(false), Some(at(2)));
        renewal.begin(Some(at(3)), at(3));
        assert_eq!(renewal.due(false), Some(at(2)), "a second node changes nothing");
    }
}
