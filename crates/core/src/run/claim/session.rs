//! The session of a claim: its contenders, its lease, and what the answers of the servers say about the connection.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lease::latency::{LatencyEstimate, Start};
use crate::lease::renewal::Renewal;
use crate::loss::{Late, Silence};
use crate::message::Message;
use crate::planted::{Mistake, planted};
use crate::protocol::{ConnectFailure, LockIndex, Reply, RequestError};
use crate::queue::event::Event;
use crate::queue::lock_set::LockSet;
use crate::run::lateness::Lateness;
use crate::server_wait::Awaited;
use crate::time::BootTime;

/// An answer that took less than this part of the session timeout hasn't cost the lease.
const SLOW_PART: u32 = 60;

/// An established session.
#[derive(Debug)]
pub struct SessionState {
    pub id: i64,
    pub locks: LockSet,
    pub(super) renewal: Renewal,
    /// When the first create was sent: its answer is the first confirmation.
    pub(super) create_sent: BootTime,
    pub(super) create_answered: bool,
    /// When a server last answered.
    pub(super) heard: BootTime,
    /// How long the answers to writes took.
    pub(super) latency: LatencyEstimate,
    /// When the confirmation was sent that is in flight, or was in flight when the connection was lost.
    pub(super) asked: Option<BootTime>,
    pub(super) gap: Option<Gap>,
    /// Since the last confirmation, another was refused because READ on zklock's node is missing.
    pub(super) forbidden: bool,
    /// For each lock, when its node was created and when the lock was acquired.
    pub(super) held: BTreeMap<LockIndex, (BootTime, Option<BootTime>)>,
}

/// A time without a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) from: BootTime,
    pub(super) to: Option<BootTime>,
    pub(super) away: Option<ConnectFailure>,
}

impl SessionState {
    pub(super) fn new(id: i64, locks: LockSet, renewal: Renewal, now: BootTime) -> Self {
        Self {
            id,
            locks,
            renewal,
            create_sent: now,
            create_answered: false,
            heard: now,
            latency: LatencyEstimate::default(),
            asked: None,
            gap: None,
            forbidden: false,
            held: BTreeMap::new(),
        }
    }

    /// Takes in the answer to a confirmation.
    pub(super) fn confirmed(&mut self, reply: Reply, now: BootTime) -> Option<Event> {
        let Reply::Confirmed(sent, result) = reply else { return None };
        self.asked = None;
        match result {
            Ok(()) => {
                (self.heard, self.forbidden) = (now, false);
                self.latency.answered(now.since(sent), now, self.renewal.lease.timeout());
                self.renewal.answered(sent, now);
                Some(Event::Confirmed)
            }
            Err(RequestError::NoNode) => Some(Event::NodeGone),
            Err(RequestError::ConnectionLost) => {
                self.renewal.unanswered(now);
                None
            }
            Err(failure) => {
                self.forbidden |= failure == RequestError::NoAuth;
                self.renewal.refused(now);
                Some(Event::Unconfirmed(failure))
            }
        }
    }

    /// Learns from a contender's reply when a server last answered and, from the first create, how fast the connection is.
    pub(super) fn measure(&mut self, reply: &Reply, now: BootTime) {
        if reply.failure().is_none() {
            self.heard = now;
        }
        if matches!(reply, Reply::Created(Ok(_))) && !self.create_answered {
            self.latency.answered(now.since(self.create_sent), now, self.renewal.lease.timeout());
            self.create_answered = true;
        }
    }

    /// Whether no server has answered for a while, although there is a connection. zklock gives a silent one up after T/8; a
    /// server that closes it because of a request does so at once.
    pub(super) fn is_silent(&self, now: BootTime) -> bool {
        let reconnected = self.gap.and_then(|gap| gap.to);
        let since = reconnected.map_or(self.heard, |reconnected| reconnected.max(self.heard));
        now.since(since) > self.renewal.lease.timeout() / 12
    }

    /// Begins to renew the lease once there is a node, and renews it more often once every lock is held.
    pub(super) fn adapt_renewal(&mut self, now: BootTime) {
        if self.locks.nodes().next().is_some() {
            self.renewal.begin(self.create_answered.then_some(self.create_sent), now);
        }
        if self.locks.all_held() {
            self.renewal.becomes_first();
            self.latency.becomes_first(now);
        }
    }

    /// How long no server has answered, if that is so long that the queue may have changed: a waiter confirms all the time,
    /// and an answer also shows that the queue ahead is the same.
    pub fn silent_for(&self, now: BootTime) -> Option<Duration> {
        Some(now.since(self.heard)).filter(|&span| span > self.renewal.lease.timeout() / 2)
    }

    /// When a server last answered.
    pub fn heard(&self) -> BootTime {
        self.heard
    }

    /// What the session waits for, and since when, if it has no connection or a confirmation is unanswered.
    pub fn awaited(&self) -> Option<(Awaited, BootTime)> {
        match self.gap {
            Some(Gap { from, to: None, .. }) => Some((Awaited::Connection, from)),
            _ => self.asked.map(|asked| (Awaited::Answer, asked)),
        }
    }

    /// Why nothing was confirmed recently, as far as zklock can tell. `late`: how late zklock itself was, if that matters.
    /// The servers aren't the reason then, unless it was on time for longer while none answered.
    pub(in crate::run) fn silence(
        &self,
        lateness: &Lateness,
        late: Option<Late>,
        now: BootTime,
    ) -> Option<Silence> {
        let Self { gap, asked, forbidden, latency, renewal, .. } = self;
        let (step, timeout) = (renewal.lease.step(), renewal.lease.timeout());
        let is_reason = |from: BootTime, to: BootTime| {
            let on_time = to.since(from).saturating_sub(lateness.between(from, to).total);
            late.is_none_or(|late| on_time > late.total)
        };
        match (*gap, *asked) {
            (Some(Gap { from, to: None, away }), _) if is_reason(from, now) => {
                Some(Silence::Connection(now.since(from), away))
            }
            (_, Some(asked)) if now.since(asked) >= step && is_reason(asked, now) => {
                Some(Silence::Server(now.since(asked)))
            }
            (Some(Gap { from, to: Some(to), .. }), _) if now.since(to) < timeout && is_reason(from, to) => {
                Some(Silence::ConnectionWasAway(to.since(from)))
            }
            _ if *forbidden => Some(Silence::Forbidden),
            _ if late.is_some() => None,
            _ => latency.slowest().filter(|&trip| trip * SLOW_PART >= timeout).map(Silence::SlowConnection),
        }
    }

    /// Whether the lease and the connection allow the command to start.
    pub fn start(&self, kill_after: Duration, now: BootTime) -> Start {
        if planted(Mistake::DoomedStart) {
            return Start::Now;
        }
        if !self.renewal.is_connected() {
            return Start::NotYet;
        }
        self.latency.start(&self.renewal.lease, self.sends(now), kill_after, now)
    }

    /// What is to be said if this host's delays leave no lease that is long enough.
    pub fn too_busy(&self, kill_after: Duration) -> Option<Message> {
        let (lease, trip) = (&self.renewal.lease, self.latency.trip()?);
        let (timeout, delay) = (lease.timeout(), lease.expected_delay());
        let is_too_busy = self.latency.is_too_busy(lease, kill_after);
        is_too_busy.then_some(Message::HostTooBusy { trip, timeout, kill_after, delay })
    }

    /// How long it will take until the command may start, if the servers answer as they did.
    pub fn starts_in(&self, kill_after: Duration, now: BootTime) -> Option<Duration> {
        if !self.renewal.is_connected() {
            return None;
        }
        let at = self.latency.starts_at(&self.renewal.lease, self.sends(now), kill_after, now)?;
        Some(now.until(at))
    }

    /// When the next confirmation is to be sent, or was sent if it is on its way.
    fn sends(&self, now: BootTime) -> BootTime {
        self.renewal.due().map(|due| due.max(now)).or(self.asked).unwrap_or(now)
    }
}
