//! A session with its contenders and its lease. It takes in replies, and measures how fast the connection is.

use std::collections::BTreeMap;

use super::ClaimEvent;
use crate::core::lock::contender::ContenderEvent;
use crate::core::lock::pace::Pace;
use crate::core::lock::renewal::Renewal;
use crate::core::lock::set::{Set, SetStep};
use crate::core::protocol::{ConnectFailure, LockIndex, Reply, RequestError};
use crate::core::time::BootTime;

/// What a claim has once there is a session.
#[derive(Debug)]
pub(super) struct Contending {
    /// The session's id.
    pub(super) session: i64,
    pub(super) set: Set,
    pub(super) renewal: Renewal,
    /// When the first create was sent: its answer is the first confirmation.
    pub(super) create_sent: BootTime,
    pub(super) create_answered: bool,
    /// When a server last answered.
    pub(super) heard: BootTime,
    /// How long the answers to writes took.
    pub(super) pace: Pace,
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

impl Contending {
    pub(super) fn new(session: i64, set: Set, renewal: Renewal, now: BootTime) -> Self {
        Self {
            session,
            set,
            renewal,
            create_sent: now,
            create_answered: false,
            heard: now,
            pace: Pace::default(),
            asked: None,
            gap: None,
            forbidden: false,
            held: BTreeMap::new(),
        }
    }

    /// Notes when each lock was queued for and when it was acquired.
    pub(super) fn note(&mut self, news: &[(LockIndex, ContenderEvent)], now: BootTime) {
        for (lock, news) in news {
            match news {
                ContenderEvent::Queued(_) => drop(self.held.insert(*lock, (now, None))),
                ContenderEvent::Held => {
                    self.held.entry(*lock).and_modify(|(_, held)| *held = Some(now));
                }
                _ => {}
            }
        }
    }

    /// Takes in the answer to a confirmation.
    pub(super) fn confirmed(&mut self, reply: Reply, now: BootTime, node_gone: &mut bool) -> Vec<ClaimEvent> {
        let Reply::Confirmed(sent, result) = reply else { return vec![] };
        self.asked = None;
        match result {
            Ok(()) => {
                (self.heard, self.forbidden) = (now, false);
                self.pace.answered(now.since(sent), now, self.renewal.lease.timeout());
                self.renewal.answered(sent, now);
                vec![ClaimEvent::Confirmed]
            }
            Err(RequestError::NoNode) => {
                *node_gone = true;
                vec![ClaimEvent::NodeGone]
            }
            Err(RequestError::ConnectionLost) => {
                self.renewal.unanswered(now);
                vec![]
            }
            Err(failure) => {
                self.forbidden |= failure == RequestError::NoAuth;
                self.renewal.refused(now);
                vec![ClaimEvent::Unconfirmed(failure)]
            }
        }
    }

    /// Takes in a reply for a contender.
    pub(super) fn replied(&mut self, lock: LockIndex, reply: Reply, now: BootTime) -> SetStep {
        if reply.failure().is_none() {
            self.heard = now;
        }
        let created = matches!(reply, Reply::Created(Ok(_)));
        if created && !self.create_answered {
            self.pace.answered(now.since(self.create_sent), now, self.renewal.lease.timeout());
        }
        self.create_answered |= created;
        let step = self.set.take(lock, reply);
        if self.set.nodes().next().is_some() {
            self.renewal.begin(self.create_answered.then_some(self.create_sent), now);
        }
        if self.set.all_held() {
            self.renewal.becomes_first();
            self.pace.becomes_first(now);
        }
        step
    }
}
