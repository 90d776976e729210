//! Messages between servers. A follower connects to its leader, and everything else uses that connection.

use std::rc::Rc;

use super::log::Txn;
use super::network::{ConnId, Lane};
use super::wire::Op;
use super::{Ensemble, Event};

#[derive(Debug)]
pub(super) enum Peer {
    /// The follower may serve. Everything up to this zxid is committed.
    UpToDate(i64),
    Propose(Rc<Txn>),
    /// The follower has written everything up to this zxid to disk.
    Ack(i64),
    Commit(i64),
    Ping,
    /// The answer to a ping: the sessions heard from since the last ping, with their timeouts.
    Touched(Vec<(i64, i32)>),
    /// A client's write.
    Forward {
        conn: ConnId,
        session: i64,
        xid: i32,
        op: Op,
    },
    /// A client asks for a session.
    Open {
        conn: ConnId,
        session: i64,
        timeout_ms: i32,
    },
    Sync {
        conn: ConnId,
        xid: i32,
    },
    Synced {
        conn: ConnId,
        xid: i32,
    },
    Revalidate {
        conn: ConnId,
        session: i64,
        timeout_ms: i32,
    },
    Revalidated {
        conn: ConnId,
        is_valid: bool,
    },
    /// The connection is closed.
    Gone,
}

/// One direction of the link between two servers.
#[derive(Default)]
pub(super) struct PeerLane {
    pub(super) lane: Lane,
    pub(super) last: u64,
    /// Votes don't arrive either.
    pub(super) is_mute: bool,
}

impl Ensemble {
    pub(super) fn tell(&mut self, from: usize, to: usize, link: u64, message: Peer) {
        let took = self.config.peer_delay + self.rng.below(self.config.peer_jitter);
        let lane = &mut self.peers[from][to];
        lane.last = (self.now + took + lane.lane.delay).max(lane.last);
        self.queue.add(lane.last, Event::Peer { from, to, link, message });
    }
}
