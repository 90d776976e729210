//! When to confirm: one confirmation after another, each a sixth of the timeout after the last answer. Pure.

use super::lease::Lease;
use crate::clock::BootTime;

/// A lease, and the rhythm that keeps it alive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Renewal {
    /// What the confirmations add up to.
    pub lease: Lease,
    next: Next,
    connected: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Next {
    /// There is no node of ours to confirm yet.
    NotYet,
    /// The next one is sent then.
    At(BootTime),
    /// One is on its way. There is never a second.
    InFlight,
}

impl Renewal {
    /// For a session that is connected and has no node yet.
    pub fn new(lease: Lease) -> Self {
        Self { lease, next: Next::NotYet, connected: true }
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
            _ => None,
        }
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
        self.next = Next::At(now + self.lease.rhythm());
    }

    /// The connection went before the answer came. The next is sent as soon as there is a connection.
    pub fn unanswered(&mut self, now: BootTime) {
        self.next = Next::At(now);
    }

    /// The server refused it, for want of room perhaps. The next comes at its time, and not at once.
    pub fn refused(&mut self, now: BootTime) {
        self.next = Next::At(now + self.lease.rhythm());
    }

    /// The next one is sent now, unless one is on its way. Only for one that won't run: a lease counts on the
    /// rhythm.
    pub fn hurry(&mut self, now: BootTime) {
        if let Next::At(due) = &mut self.next {
            *due = now.min(*due);
        }
    }

    /// Nothing is sent while there is no connection: it would wait in line with a date of long ago.
    pub fn set_connected(&mut self, connected: bool) {
        self.connected = connected;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const T: Duration = Duration::from_secs(6);

    fn at(seconds: u64) -> BootTime {
        BootTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn one_after_another_a_sixth_of_the_timeout_apart() {
        let mut renewal = Renewal::new(Lease::new(at(0), T));
        assert_eq!(renewal.due(), None, "nothing to confirm");
        renewal.begin(Some(at(0)), at(1));
        assert_eq!(renewal.due(), Some(at(2)));
        renewal.sent();
        assert_eq!(renewal.due(), None, "never two at once");
        renewal.answered(at(2), at(3));
        assert_eq!(renewal.due(), Some(at(4)));
        assert_eq!(renewal.lease.last_confirmed(), at(2));
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
