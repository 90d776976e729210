//! The session of a claim: its contenders, its lease, and what the answers of the servers say about the connection.
//!
//! Several locks for one command are acquired one after the other in sorted order, so that two runs that want the same
//! locks can't wait for each other.

use std::time::Duration;

use crate::lease::Lease;
use crate::lease::latency::{LatencyEstimate, Start};
use crate::lease::renewal::Renewal;
use crate::loss::Silence;
use crate::path::LockPath;
use crate::protocol::{LockIndex, LockNode, Reply, RequestError};
use crate::queue::contender::{Contender, ContenderConfig, Reaction};
use crate::queue::event::Event;
use crate::server_wait::Awaited;
use crate::time::BootTime;

/// An established session.
#[derive(Debug)]
pub struct Session {
    pub id: i64,
    /// Sorted by path, each path once. The locks before the first one that isn't held are held, and that one is contended
    /// for.
    pub(super) contenders: Vec<Contender>,
    /// When the node of each lock was created, and when each lock was acquired.
    queued: Vec<BootTime>,
    held: Vec<BootTime>,
    pub(super) renewal: Renewal,
    /// When the create that is in flight was sent.
    pub(super) create_sent: Option<BootTime>,
    /// When the first create was sent whose answer arrived: that is the first confirmation.
    created: Option<BootTime>,
    /// When a server last answered.
    heard: BootTime,
    /// How long the answers to writes took.
    pub(super) latency: LatencyEstimate,
    /// When the confirmation was sent that is in flight, or was in flight when the connection was lost.
    asked: Option<BootTime>,
    /// When the connection was established, and since when there is none.
    connected_at: BootTime,
    away_since: Option<BootTime>,
}

impl Session {
    /// A session with this id; `configs` in any order.
    pub(super) fn new(id: i64, mut configs: Vec<ContenderConfig>, lease: Lease, now: BootTime) -> Self {
        configs.sort_by(|a, b| a.path.cmp(&b.path));
        configs.dedup_by(|a, b| a.path == b.path);
        Self {
            id,
            contenders: configs.into_iter().map(|config| Contender::new(config, id)).collect(),
            queued: vec![],
            held: vec![],
            renewal: Renewal::new(lease),
            create_sent: None,
            created: None,
            heard: now,
            latency: LatencyEstimate::default(),
            asked: None,
            connected_at: now,
            away_since: None,
        }
    }

    /// The next lock has a node.
    pub(super) fn queued(&mut self, now: BootTime) {
        self.queued.push(now);
        self.renewal.begin(self.created, now);
    }

    /// The lock with this index is held.
    pub(super) fn acquired(&mut self, lock: LockIndex, now: BootTime) {
        if lock.0 == self.held.len() {
            self.held.push(now);
        }
    }

    /// The command may start: from now on the last lock is held. The others are held since they were acquired.
    pub(super) fn held_from(&mut self, now: BootTime) {
        self.held.last_mut().into_iter().for_each(|held| *held = now);
    }

    /// Makes the lock's node say how long after its creation the lock was acquired.
    pub(super) fn record_held_since(&mut self, lock: LockIndex) -> Option<Reaction> {
        let held_after = self.held.get(lock.0)?.since(*self.queued.get(lock.0)?);
        Some(self.contenders.get_mut(lock.0)?.record_held_since(held_after))
    }

    /// The first lock that isn't held, if there is one.
    pub(super) fn first_not_held(&self) -> Option<LockIndex> {
        (!self.all_held()).then_some(LockIndex(self.held.len()))
    }

    /// Whether every lock is held.
    pub fn all_held(&self) -> bool {
        self.held.len() == self.contenders.len()
    }

    /// Whether [`Contender::is_unread`] holds for any lock.
    pub fn any_unread(&self) -> bool {
        self.contenders.iter().any(Contender::is_unread)
    }

    /// The path of the lock that zklock is waiting for, or of the last one.
    pub fn current(&self) -> Option<&LockPath> {
        self.contenders.get(self.held.len()).or(self.contenders.last()).map(Contender::path)
    }

    /// Every lock on which zklock has a node, with that node, in the order of acquisition.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (&LockPath, &LockNode)> {
        self.contenders.iter().filter_map(|contender| Some((contender.path(), contender.own()?)))
    }

    /// zklock's node on the first lock, and the node's data.
    pub fn first(&self) -> Option<(&LockNode, Vec<u8>)> {
        let contender = self.contenders.first()?;
        Some((contender.own()?, contender.data()))
    }

    /// The connection is lost.
    pub(super) fn disconnected(&mut self, now: BootTime) {
        // zklock gives a silent server up after T/8; one that closes the connection because of a request does so at once.
        if now.since(self.heard.max(self.connected_at)) > self.renewal.lease.timeout() / 12 {
            self.contenders.iter_mut().for_each(Contender::lost_to_silence);
        }
        self.renewal.set_connected(false);
        self.latency.disconnected();
        self.away_since = Some(now);
    }

    pub(super) fn reconnected(&mut self, now: BootTime) {
        self.renewal.set_connected(true);
        (self.connected_at, self.away_since) = (now, None);
    }

    /// When the next confirmation is due, if one is.
    pub(super) fn due(&self) -> Option<BootTime> {
        self.renewal.due(self.all_held())
    }

    /// Sends the next confirmation as soon as possible.
    pub(super) fn confirm_soon(&mut self, now: BootTime) {
        self.renewal.confirm_soon(self.all_held(), now);
    }

    /// A confirmation is being sent.
    pub(super) fn confirms(&mut self, now: BootTime) {
        self.renewal.sent();
        self.asked = Some(now);
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
        self.latency.answered(now.since(sent), self.all_held(), now, self.renewal.lease.timeout());
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
        // When the next confirmation is to be sent, or was sent if it is on its way.
        let sends = self.due().map(|due| due.max(now)).or(self.asked).unwrap_or(now);
        self.latency.start(&self.renewal.lease, sends, kill_after, now)
    }
}
