//! The session of a claim: its contenders, its lease, and what the answers of the servers say about the connection.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lease::latency::{LatencyEstimate, Start};
use crate::lease::renewal::Renewal;
use crate::loss::Silence;
use crate::protocol::{LockIndex, Reply, RequestError};
use crate::queue::event::Event;
use crate::queue::lock_set::LockSet;
use crate::server_wait::Awaited;
use crate::time::BootTime;

/// An established session.
#[derive(Debug)]
pub struct SessionState {
    pub id: i64,
    pub locks: LockSet,
    pub(super) renewal: Renewal,
    /// When the create that is in flight was sent.
    pub(super) create_sent: Option<BootTime>,
    /// When the first create was sent whose answer arrived: that is the first confirmation.
    pub(super) created: Option<BootTime>,
    /// When a server last answered.
    pub(super) heard: BootTime,
    /// How long the answers to writes took.
    pub(super) latency: LatencyEstimate,
    /// When the confirmation was sent that is in flight, or was in flight when the connection was lost.
    pub(super) asked: Option<BootTime>,
    /// When the connection was established, and since when there is none.
    pub(super) connected_at: BootTime,
    pub(super) away_since: Option<BootTime>,
    /// For each lock, when its node was created and when the lock was acquired.
    pub(super) held: BTreeMap<LockIndex, (BootTime, Option<BootTime>)>,
}

impl SessionState {
    pub(super) fn new(id: i64, locks: LockSet, renewal: Renewal, now: BootTime) -> Self {
        Self {
            id,
            locks,
            renewal,
            create_sent: None,
            created: None,
            heard: now,
            latency: LatencyEstimate::default(),
            asked: None,
            connected_at: now,
            away_since: None,
            held: BTreeMap::new(),
        }
    }

    /// Takes in the answer to a confirmation.
    pub(super) fn confirmed(&mut self, reply: Reply, now: BootTime) -> Option<Event> {
        let Reply::Confirmed(sent, result) = reply else { return None };
        self.asked = None;
        match result {
            Ok(()) => {
                self.answered(sent, now);
                self.renewal.answered(sent, now);
                Some(Event::Confirmed)
            }
            Err(RequestError::NoNode) => Some(Event::NodeGone),
            Err(RequestError::ConnectionLost) => {
                self.renewal.unanswered(now);
                None
            }
            Err(failure) => {
                self.renewal.refused(now);
                Some(Event::Unconfirmed(failure))
            }
        }
    }

    /// Learns from a contender's reply when a server last answered and, from a create, how fast the connection is.
    pub(super) fn measure(&mut self, reply: &Reply, now: BootTime) {
        if reply.failure().is_none() {
            self.heard = now;
        }
        let Reply::Created(result) = reply else { return };
        if let Some(sent) = self.create_sent.take().filter(|_| result.is_ok()) {
            self.answered(sent, now);
            self.created.get_or_insert(sent);
        }
    }

    /// A quorum write sent at `sent` was answered.
    fn answered(&mut self, sent: BootTime, now: BootTime) {
        self.heard = now;
        let (is_first, timeout) = (self.locks.all_held(), self.renewal.lease.timeout());
        self.latency.answered(now.since(sent), is_first, now, timeout);
    }

    /// Whether no server has answered for a while, although there is a connection. zklock gives a silent one up after T/8; a
    /// server that closes it because of a request does so at once.
    pub(super) fn is_silent(&self, now: BootTime) -> bool {
        now.since(self.heard.max(self.connected_at)) > self.renewal.lease.timeout() / 12
    }

    /// Begins to renew the lease once there is a node, and renews it more often once every lock is held.
    pub(super) fn adapt_renewal(&mut self, now: BootTime) {
        if self.locks.nodes().next().is_some() {
            self.renewal.begin(self.created, now);
        }
        if self.locks.all_held() {
            self.renewal.becomes_first();
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
        match self.away_since {
            Some(since) => Some((Awaited::Connection, since)),
            None => self.asked.map(|asked| (Awaited::Answer, asked)),
        }
    }

    /// Why the lease wasn't renewed.
    pub(in crate::run) fn silence(&self, now: BootTime) -> Silence {
        match self.away_since {
            Some(since) => Silence::NoConnection(now.since(since)),
            None => Silence::NoAnswer(now.since(self.renewal.lease.last_confirmed())),
        }
    }

    /// Whether the lease and the connection allow the command to start.
    pub(super) fn start(&mut self, kill_after: Duration, now: BootTime) -> Start {
        if !self.renewal.is_connected() {
            return Start::NotYet;
        }
        let sends = self.sends(now);
        self.latency.start(&self.renewal.lease, sends, kill_after, now)
    }

    /// When the next confirmation is to be sent, or was sent if it is on its way.
    fn sends(&self, now: BootTime) -> BootTime {
        self.renewal.due().map(|due| due.max(now)).or(self.asked).unwrap_or(now)
    }
}
