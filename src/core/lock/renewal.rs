//! When to confirm: one confirmation after another, each some time after the last answer. Pure.
//!
//! That time is a sixth of the timeout for a waiter. It is a twelfth for the contender that is first in line: the
//! shorter it is, the longer a silence can be before the lease ends.

use std::time::Duration;

use super::lease::Lease;
use crate::core::planted::{Mistake, planted};
use crate::core::time::BootTime;

/// A lease, and the rhythm that keeps it alive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Renewal {
    /// What the confirmations add up to.
    pub lease: Lease,
    next: Next,
    connected: bool,
    first_in_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Next {
    /// There is no node of ours to confirm yet.
    NotYet,
    /// The next one is sent then.
    At(BootTime),
    /// The last was answered then, and the next one is sent when its time has come.
    After(BootTime),
    /// One is on its way. There is never a second.
    InFlight,
}

impl Renewal {
    /// For a session that is connected and has no node yet.
    pub fn new(lease: Lease) -> Self {
        Self { lease, next: Next::NotYet, connected: true, first_in_line: false }
    }

    /// Our first node is there. If its creation was answered, that is the first confirmation; if the answer
    /// was lost (`None`), it proves nothing.
    pub fn begin(&mut self, create_sent: Option<BootTime>, now: BootTime) {
        if self.next != Next::NotYet {
            return;
        }
        match create_sent {
            Some(sent) => self.answered(sent, now),
            None => self.next = Next::At(now),
        }
    }

    /// When the next confirmation is to be sent; `None` while there is nothing to wait for.
    pub fn due(&self) -> Option<BootTime> {
        match self.next {
            Next::At(due) if self.connected => Some(due),
            Next::After(answer) if self.connected => Some(answer + self.pause()),
            _ => None,
        }
    }

    /// Between an answer and the next confirmation.
    fn pause(&self) -> Duration {
        if self.first_in_line { self.lease.step() } else { self.lease.step() * 2 }
    }

    /// The contender is first in line, and stays so while the session lasts. At once, since the command may start
    /// now: a date that was set at the waiter's pace is brought forward.
    pub fn becomes_first(&mut self) {
        self.first_in_line = !planted(Mistake::SlowRhythm);
    }

    /// For one that runs nothing: a lease that has run out, in a long silence, begins anew.
    pub fn revive(&mut self, now: BootTime) {
        if self.lease.is_over(now) {
            self.lease = self.lease.anew();
        }
    }

    /// A confirmation has been sent.
    pub fn sent(&mut self) {
        self.next = Next::InFlight;
    }

    /// The confirmation sent at `sent` was answered.
    pub fn answered(&mut self, sent: BootTime, now: BootTime) {
        self.lease.confirm(sent, now);
        self.next = Next::After(now);
    }

    /// The connection went before the answer came. The next is sent as soon as there is a connection.
    pub fn unanswered(&mut self, now: BootTime) {
        self.next = Next::At(now);
    }

    /// The server refused it, for want of room perhaps. The next comes at its time, and not at once.
    pub fn refused(&mut self, now: BootTime) {
        self.next = Next::After(now);
    }

    /// The next one is sent now, unless one is on its way.
    pub fn hurry(&mut self, now: BootTime) {
        match self.next {
            Next::At(due) => self.next = Next::At(now.min(due)),
            Next::After(answer) => self.next = Next::At(now.min(answer + self.pause())),
            Next::NotYet | Next::InFlight => {}
        }
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Nothing is sent while there is no connection: it would wait in line with a date of long ago.
    pub fn set_connected(&mut self, connected: bool) {
        self.connected = connected && !planted(Mistake::SilentAfterGap);
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
        assert_eq!(renewal.due(), None, "nothing to confirm");
        renewal.begin(Some(at(0)), at(1));
        assert_eq!(renewal.due(), Some(at(3)));
        renewal.sent();
        assert_eq!(renewal.due(), None, "never two at once");
        renewal.answered(at(3), at(4));
        assert_eq!(renewal.due(), Some(at(6)));
        assert_eq!(renewal.lease.last_confirmed(), at(3));
    }

    #[test]
    fn the_first_in_line_confirms_a_twelfth_after_it_and_switches_at_once() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        renewal.begin(Some(at(0)), at(1));
        renewal.becomes_first();
        assert_eq!(renewal.due(), Some(at(2)), "brought forward");
        renewal.sent();
        renewal.becomes_first();
        assert_eq!(renewal.due(), None, "one is on its way");
        renewal.refused(at(4));
        assert_eq!(renewal.due(), Some(at(5)), "a refusal isn't asked again at once");
        renewal.sent();
        renewal.answered(at(5), at(6));
        assert_eq!(renewal.due(), Some(at(7)));
        renewal.revive(at(20));
        assert_eq!(renewal.due(), Some(at(7)));
        renewal.answered(at(20), at(21));
        assert_eq!(renewal.due(), Some(at(22)), "and so after a revival");
    }

    #[test]
    fn whoever_hurries_brings_the_next_forward_and_never_puts_it_off() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        renewal.hurry(at(0));
        assert_eq!(renewal.due(), None, "nothing to confirm");
        renewal.begin(Some(at(0)), at(1));
        renewal.hurry(at(2));
        assert_eq!(renewal.due(), Some(at(2)));
        renewal.hurry(at(5));
        assert_eq!(renewal.due(), Some(at(2)));
        renewal.sent();
        renewal.hurry(at(5));
        assert_eq!(renewal.due(), None, "one is on its way");
    }

    #[test]
    fn a_lost_connection_pauses_the_rhythm_and_its_return_renews_at_once() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        renewal.begin(None, at(1));
        renewal.sent();
        renewal.set_connected(false);
        renewal.unanswered(at(2));
        assert_eq!(renewal.due(), None);
        renewal.set_connected(true);
        assert_eq!(renewal.due(), Some(at(2)));
        renewal.begin(Some(at(3)), at(3));
        assert_eq!(renewal.due(), Some(at(2)), "a second node changes nothing");
    }
}
