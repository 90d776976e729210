//! The leader's list of sessions. A session expires at the end of the tick in which its timeout ends.

use std::collections::BTreeMap;

/// The connection through which a session's requests come: a server, and that server's connection to the leader.
pub(super) type Owner = (usize, u64);

/// Whether a request may act for its session, given the connection it came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Fine,
    Expired,
    Moved,
}

struct Tracked {
    expires: u64,
    owner: Option<Owner>,
    is_closing: bool,
}

/// The sessions that a leader tracks while it leads.
pub(super) struct Tracker {
    tick: u64,
    sessions: BTreeMap<i64, Tracked>,
    /// Sessions by the end of a tick. A session that is touched again stays in its old bucket and is skipped there.
    buckets: BTreeMap<u64, Vec<i64>>,
}

impl Tracker {
    pub(super) fn new(tick: u64) -> Self {
        Self { tick, sessions: BTreeMap::new(), buckets: BTreeMap::new() }
    }

    /// Rounds up to the next tick, even if the time is exactly at the end of a tick.
    pub(super) fn rounded(&self, time: u64) -> u64 {
        (time / self.tick + 1) * self.tick
    }

    /// Begins to track a session, or touches a tracked one.
    pub(super) fn track(&mut self, session: i64, timeout: u64, now: u64) {
        self.sessions.entry(session).or_insert(Tracked { expires: 0, owner: None, is_closing: false });
        self.touch(session, timeout, now);
    }

    /// Touches a session. Returns whether it lives.
    pub(super) fn touch(&mut self, session: i64, timeout: u64, now: u64) -> bool {
        let expires = self.rounded(now + timeout);
        match self.sessions.get_mut(&session) {
            Some(tracked) if !tracked.is_closing => {
                if tracked.expires != expires {
                    tracked.expires = expires;
                    self.buckets.entry(expires).or_default().push(session);
                }
                true
            }
            _ => false,
        }
    }

    pub(super) fn set_owner(&mut self, session: i64, owner: Owner) {
        if let Some(tracked) = self.sessions.get_mut(&session).filter(|tracked| !tracked.is_closing) {
            tracked.owner = Some(owner);
        }
    }

    /// Checks the owner of a session. The first owner to use a session without one becomes its owner.
    pub(super) fn check(&mut self, session: i64, owner: Owner) -> Standing {
        match self.sessions.get_mut(&session) {
            Some(tracked) if !tracked.is_closing => {
                if *tracked.owner.get_or_insert(owner) == owner {
                    Standing::Fine
                } else {
                    Standing::Moved
                }
            }
            _ => Standing::Expired,
        }
    }

    pub(super) fn set_closing(&mut self, session: i64) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.is_closing = true;
        }
    }

    pub(super) fn remove(&mut self, session: i64) {
        self.sessions.remove(&session);
    }

    /// Returns the sessions that have expired and marks them as closing.
    pub(super) fn expired(&mut self, now: u64) -> Vec<i64> {
        let mut expired = vec![];
        while let Some(bucket) = self.buckets.first_entry().filter(|bucket| *bucket.key() <= now) {
            let (end, mut sessions) = bucket.remove_entry();
            sessions.sort_unstable();
            sessions.dedup();
            for session in sessions {
                if let Some(tracked) = self.sessions.get_mut(&session)
                    && tracked.expires == end
                    && !tracked.is_closing
                {
                    tracked.is_closing = true;
                    expired.push(session);
                }
            }
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    #[allow(unused_imports, reason = "the program that only simulates runs no tests")]
    use super::*;

    #[test]
    fn a_session_expires_at_the_end_of_the_tick_after_its_timeout() {
        for (touched, timeout, end) in
            [(0, 200, 300), (99, 200, 300), (100, 200, 400), (50, 250, 400), (0, 299, 300)]
        {
            let mut tracker = Tracker::new(100);
            tracker.track(7, timeout, touched);
            assert_eq!(tracker.expired(end - 1), [0_i64; 0], "touched at {touched} for {timeout}");
            assert_eq!(tracker.expired(end), [7], "touched at {touched} for {timeout}");
            assert!(!tracker.touch(7, timeout, end), "it is closing");
        }
    }

    #[test]
    fn a_touch_moves_the_end_also_to_an_earlier_tick() {
        let mut tracker = Tracker::new(100);
        tracker.track(7, 1_000, 0);
        tracker.touch(7, 200, 50);
        assert_eq!(tracker.expired(300), [7]);
        assert_eq!(tracker.expired(2_000), [0_i64; 0]);
    }

    #[test]
    fn the_first_to_come_owns_a_session_without_an_owner() {
        let mut tracker = Tracker::new(100);
        tracker.track(7, 1_000, 0);
        assert_eq!(tracker.check(7, (1, 1)), Standing::Fine);
        assert_eq!(tracker.check(7, (2, 2)), Standing::Moved);
        tracker.set_owner(7, (2, 2));
        assert_eq!(tracker.check(7, (2, 2)), Standing::Fine);
        assert_eq!(tracker.check(8, (2, 2)), Standing::Expired);
    }
}
