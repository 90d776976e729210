//! A follower: it applies commits, answers pings and leaves a silent leader.

use std::collections::{BTreeMap, VecDeque};

use super::network::ConnId;
use super::peers::Peer;
use super::{Ensemble, Role, Timer};

/// Something that a follower does late.
enum Late {
    Commit(i64),
    Synced(ConnId, i32),
}

pub(super) struct Following {
    pub(super) leader: usize,
    pub(super) link: u64,
    pub(super) is_serving: bool,
    heard: u64,
    /// The sessions heard from since the leader's last ping.
    pub(super) touched: BTreeMap<i64, i32>,
    late: VecDeque<(u64, Late)>,
}

impl Following {
    pub(super) fn new(leader: usize, link: u64, now: u64) -> Self {
        Self { leader, link, is_serving: false, heard: now, touched: BTreeMap::new(), late: VecDeque::new() }
    }
}

impl Ensemble {
    fn following(&mut self, server: usize) -> Option<&mut Following> {
        match &mut self.servers[server].role {
            Role::Following(following) => Some(following),
            _ => None,
        }
    }

    pub(super) fn hear_leader(&mut self, server: usize, message: Peer) {
        let now = self.now;
        let Some(following) = self.following(server) else {
            return;
        };
        following.heard = now;
        let (leader, link) = (following.leader, following.link);
        match message {
            Peer::Gone => self.look_for_a_leader(server),
            Peer::UpToDate(committed) => {
                following.is_serving = true;
                self.apply_up_to(server, committed);
                let last = self.servers[server].log.last();
                self.tell(server, leader, link, Peer::Ack(last));
            }
            Peer::Propose(txn) => self.write_log(server, txn),
            Peer::Commit(zxid) => self.do_late(server, Late::Commit(zxid)),
            Peer::Synced { conn, xid } => self.do_late(server, Late::Synced(conn, xid)),
            Peer::Ping => {
                let touched = std::mem::take(&mut following.touched).into_iter().collect();
                self.tell(server, leader, link, Peer::Touched(touched));
            }
            Peer::Revalidated { conn, is_valid } => self.connected(conn, is_valid),
            _ => {}
        }
    }

    fn do_late(&mut self, server: usize, what: Late) {
        let (now, lag) = (self.now, self.servers[server].apply_lag);
        let Some(following) = self.following(server) else {
            return;
        };
        if lag == 0 && following.late.is_empty() {
            return self.do_now(server, &what);
        }
        let due = following.late.back().map_or(0, |(due, _)| *due).max(now + lag);
        following.late.push_back((due, what));
        self.set_timer(server, due - now, Timer::Lagging);
    }

    pub(super) fn catch_up(&mut self, server: usize) {
        let now = self.now;
        while let Some(following) = self.following(server)
            && let Some((_, what)) = following.late.pop_front_if(|(due, _)| *due <= now)
        {
            self.do_now(server, &what);
        }
    }

    fn do_now(&mut self, server: usize, what: &Late) {
        match what {
            Late::Commit(zxid) => self.apply_up_to(server, *zxid),
            Late::Synced(conn, xid) => self.synced(*conn, *xid),
        }
    }

    pub(super) fn apply_up_to(&mut self, server: usize, zxid: i64) {
        loop {
            let state = &self.servers[server];
            let next = state.log.after(state.tree.zxid).next().filter(|txn| txn.zxid() <= zxid).cloned();
            let Some(txn) = next else {
                break;
            };
            self.apply(server, &txn);
        }
        let state = &mut self.servers[server];
        state.log.compact(state.tree.zxid);
    }

    pub(super) fn check_silence(&mut self, server: usize) {
        let (now, limit) = (self.now, self.config.sync_limit * self.config.tick);
        let Some(following) = self.following(server) else {
            return;
        };
        let silent = now - following.heard;
        if silent >= limit {
            self.look_for_a_leader(server);
        } else {
            self.set_timer(server, limit - silent, Timer::Silence);
        }
    }
}
