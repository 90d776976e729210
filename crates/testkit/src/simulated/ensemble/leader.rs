//! The leader: proposals, commits, pings and the expiry of sessions.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::config::nanos;
use super::log::{Origin, Txn};
use super::network::ConnId;
use super::peers::Peer;
use super::prepare::{plan_reaping, prepare};
use super::tracker::{Standing, Tracker};
use super::tree::{Change, Stamp, Tree};
use super::wire::{Answer, Code, Op, WireError};
use super::{Ensemble, Role, Timer};

/// A follower, as its leader sees it.
pub(super) struct Learner {
    pub(super) link: u64,
    /// The last of the leader's ticks in which it still counts as present.
    pub(super) deadline: u64,
    pub(super) heard: u64,
}

struct Proposal {
    txn: Rc<Txn>,
    acks: u32,
    /// The syncs to answer when this proposal is committed.
    syncs: Vec<(usize, u64, ConnId, i32)>,
}

pub(super) struct Leading {
    epoch: i64,
    counter: i64,
    pub(super) learners: BTreeMap<usize, Learner>,
    /// The tree with all proposed changes applied.
    pending: Tree,
    proposals: VecDeque<Proposal>,
    pub(super) tracker: Tracker,
    pub(super) tick: u64,
    is_half: bool,
}

impl Leading {
    pub(super) fn new(epoch: i64, pending: Tree, tick: u64) -> Self {
        Self {
            epoch,
            counter: 0,
            learners: BTreeMap::new(),
            pending,
            proposals: VecDeque::new(),
            tracker: Tracker::new(tick),
            tick: 0,
            is_half: true,
        }
    }
}

/// The time of a correct wall clock at virtual time 0.
pub(super) const WALL_MS: i64 = 1_700_000_000_000;

impl Ensemble {
    pub(super) fn leading(&mut self, server: usize) -> Option<&mut Leading> {
        match &mut self.servers[server].role {
            Role::Leading(leading) => Some(leading),
            _ => None,
        }
    }

    /// Handles what a follower reports about clients, or the leader about its own clients.
    pub(super) fn hear_learner(&mut self, server: usize, from: usize, link: u64, message: Peer) {
        let owner = (from, link);
        let now = self.now + self.servers[server].phase;
        let Some(leading) = self.leading(server) else {
            return;
        };
        match message {
            Peer::Open { conn, session, timeout_ms } => {
                leading.tracker.track(session, nanos(timeout_ms), now);
                leading.tracker.set_owner(session, owner);
                let origin = Origin { server: from, conn, xid: 0 };
                self.propose(server, Some(origin), |tree, at| {
                    let change = Change::Open { session, timeout_ms };
                    tree.apply(&change, at, |_, _| ());
                    (vec![change], Ok(Answer::Done))
                });
            }
            Peer::Forward { conn, session, xid, op } => {
                let standing = if matches!(op, Op::Close) {
                    leading.tracker.set_closing(session);
                    Standing::Fine
                } else {
                    leading.tracker.check(session, owner)
                };
                let origin = Origin { server: from, conn, xid };
                self.propose(server, Some(origin), |tree, at| match standing {
                    Standing::Fine => prepare(tree, op, session, at),
                    Standing::Expired => (vec![], Err(Code::SessionExpired.into())),
                    Standing::Moved => (vec![], Err(Code::SessionMoved.into())),
                });
            }
            Peer::Sync { conn, xid } => match leading.proposals.back_mut() {
                Some(last) => last.syncs.push((from, link, conn, xid)),
                None => self.tell(server, from, link, Peer::Synced { conn, xid }),
            },
            Peer::Revalidate { conn, session, timeout_ms } => {
                let is_valid = leading.tracker.touch(session, nanos(timeout_ms), now);
                if is_valid {
                    leading.tracker.set_owner(session, owner);
                }
                if from == server {
                    self.connected(conn, is_valid);
                } else {
                    self.tell(server, from, link, Peer::Revalidated { conn, is_valid });
                }
            }
            Peer::Touched(sessions) => {
                for (session, timeout_ms) in sessions {
                    leading.tracker.touch(session, nanos(timeout_ms), now);
                }
            }
            _ => {}
        }
    }

    /// Proposes the changes that `plan` computes from the tree with all earlier proposals applied.
    fn propose(
        &mut self,
        server: usize,
        origin: Option<Origin>,
        plan: impl FnOnce(&mut Tree, Stamp) -> (Vec<Change>, Result<Answer, WireError>),
    ) {
        let time_ms = WALL_MS + (self.now / super::config::MS) as i64;
        let Some(leading) = self.leading(server) else {
            return;
        };
        leading.counter += 1;
        let at = Stamp { zxid: (leading.epoch << 32) | leading.counter, time_ms };
        let (changes, result) = plan(&mut leading.pending, at);
        let txn = Rc::new(Txn { at, changes, origin, result });
        leading.proposals.push_back(Proposal { txn: Rc::clone(&txn), acks: 0, syncs: vec![] });
        self.broadcast(server, || Peer::Propose(Rc::clone(&txn)));
        self.write_log(server, txn);
    }

    /// Sends a message to every follower.
    fn broadcast(&mut self, server: usize, message: impl Fn() -> Peer) {
        for other in 0..self.servers.len() {
            let learner = self.leading(server).and_then(|leading| leading.learners.get(&other));
            if let Some(link) = learner.map(|learner| learner.link) {
                self.tell(server, other, link, message());
            }
        }
    }

    pub(super) fn write_log(&mut self, server: usize, txn: Rc<Txn>) {
        let (zxid, delay, now) = (txn.zxid(), self.config.log_delay, self.now);
        let state = &mut self.servers[server];
        state.log.append(txn);
        state.logged_at = state.logged_at.max(now + delay);
        let after = state.logged_at - now;
        if after == 0 {
            self.logged(server, zxid);
        } else {
            self.set_timer(server, after, Timer::Logged(zxid));
        }
    }

    pub(super) fn logged(&mut self, server: usize, zxid: i64) {
        match &self.servers[server].role {
            Role::Leading(_) => self.acknowledged(server, server, zxid),
            Role::Following(following) => {
                let (leader, link) = (following.leader, following.link);
                self.tell(server, leader, link, Peer::Ack(zxid));
            }
            _ => {}
        }
    }

    /// A server has written the proposals up to this one to disk. Proposals that a quorum has written are committed in
    /// order.
    pub(super) fn acknowledged(&mut self, server: usize, by: usize, zxid: i64) {
        let quorum = self.config.quorum();
        if let Some(leading) = self.leading(server) {
            let written = leading.proposals.iter_mut().take_while(|proposal| proposal.txn.zxid() <= zxid);
            written.for_each(|proposal| proposal.acks |= 1 << by);
        }
        loop {
            let Some(leading) = self.leading(server) else {
                return;
            };
            let is_committed = |proposal: &mut Proposal| proposal.acks.count_ones() >= quorum;
            let Some(Proposal { txn, syncs, .. }) = leading.proposals.pop_front_if(is_committed) else {
                return;
            };
            let zxid = txn.zxid();
            self.broadcast(server, || Peer::Commit(zxid));
            self.apply(server, &txn);
            self.servers[server].log.compact(zxid);
            for (from, link, conn, xid) in syncs {
                self.tell(server, from, link, Peer::Synced { conn, xid });
            }
        }
    }

    /// Pings every follower twice in a tick. Once in a tick, the leader counts the followers that have answered.
    pub(super) fn half_tick(&mut self, server: usize) {
        let (now, quorum) = (self.now, self.config.quorum());
        let (tick, limit) = (self.config.tick, self.config.sync_limit * self.config.tick);
        let Some(leading) = self.leading(server) else {
            return;
        };
        if !leading.is_half {
            leading.tick += 1;
        }
        let ticks = leading.tick;
        let counts = leading.learners.values().filter(|learner| learner.deadline >= ticks);
        if !leading.is_half && (counts.count() as u32) + 1 < quorum {
            return self.look_for_a_leader(server);
        }
        leading.is_half = !leading.is_half;
        let silent = |learner: &Learner| now.saturating_sub(learner.heard) >= limit;
        let gone = leading.learners.extract_if(.., |_, learner| silent(learner));
        let gone: Vec<_> = gone.map(|(id, learner)| (id, learner.link)).collect();
        for (id, link) in gone {
            self.tell(server, id, link, Peer::Gone);
        }
        self.broadcast(server, || Peer::Ping);
        self.set_timer(server, tick / 2, Timer::HalfTick);
    }

    /// Closes the sessions whose tick has ended.
    pub(super) fn expire(&mut self, server: usize) {
        let phase = self.servers[server].phase;
        let now = self.now + phase;
        let Some(leading) = self.leading(server) else {
            return;
        };
        let after = leading.tracker.rounded(now) - now;
        for session in leading.tracker.expired(now) {
            self.propose(server, None, |tree, at| {
                let change = Change::Close { session };
                tree.apply(&change, at, |_, _| ());
                (vec![change], Ok(Answer::Done))
            });
        }
        self.set_timer(server, after, Timer::Expiry);
    }

    pub(super) fn reap_containers(&mut self, server: usize) {
        let candidates = self.servers[server].tree.empty_containers();
        for path in candidates {
            self.propose(server, None, |tree, at| match plan_reaping(tree, &path) {
                Ok(change) => {
                    tree.apply(&change, at, |_, _| ());
                    (vec![change], Ok(Answer::Done))
                }
                Err(code) => (vec![], Err(code.into())),
            });
        }
        self.set_timer(server, self.config.container_check, Timer::Containers);
    }
}
