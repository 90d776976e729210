//! Faults of servers and links, and how to find the leader.

use super::leader::WALL_MS;
use super::log::Log;
use super::network::Direction;
use super::tree::{Change, Stamp};
use super::{Ensemble, Role};

impl Ensemble {
    /// The serving leader; the newest one if an older leader hasn't noticed yet that it was deposed.
    pub fn leader(&self) -> Option<usize> {
        let leads = |server: &usize| matches!(self.servers[*server].role, Role::Leading(_));
        let serving = (0..self.size()).filter(leads).filter(|server| self.is_serving(*server));
        serving.max_by_key(|server| self.servers[*server].log.epoch)
    }

    /// The followers that serve.
    pub fn followers(&self) -> Vec<usize> {
        let follows = |server: &usize| matches!(self.servers[*server].role, Role::Following(_));
        (0..self.size()).filter(follows).filter(|server| self.is_serving(*server)).collect()
    }

    /// Whether every server serves.
    pub fn is_whole(&self) -> bool {
        self.leader().is_some() && self.followers().len() + 1 == self.size()
    }

    /// Panics if the logs of two servers disagree about a transaction that both have applied.
    #[track_caller]
    pub fn assert_alike(&self) {
        for server in 1..self.size() {
            let (one, other) = (&self.servers[0], &self.servers[server]);
            let applied = one.tree.zxid.min(other.tree.zxid);
            let from = one.log.base().max(other.log.base());
            let logged = |log: &Log| -> Vec<i64> {
                log.after(from).map(|txn| txn.zxid()).take_while(|zxid| *zxid <= applied).collect()
            };
            assert_eq!(logged(&one.log), logged(&other.log), "servers 0 and {server}");
        }
    }

    /// Kills a server. Its log survives.
    pub fn crash(&mut self, server: usize) {
        self.servers[server].is_frozen = false;
        self.servers[server].deferred.clear();
        self.take_role(server, Role::Down);
    }

    /// Starts a server that was killed. Its ticks get a new offset.
    pub fn restart(&mut self, server: usize) {
        if matches!(self.servers[server].role, Role::Down) {
            let phase = self.rng.below(self.config.tick);
            let now = self.now;
            let state = &mut self.servers[server];
            state.phase = phase;
            // The time is part of the ids of new sessions, so that no id is given out twice.
            state.sessions_made = state.sessions_made.max((now / super::config::MS) as i64) + 1;
            self.look_for_a_leader(server);
        }
    }

    /// Stops a server. Events for it wait.
    pub fn freeze(&mut self, server: usize) {
        self.servers[server].is_frozen = true;
    }

    /// Continues a server with everything that arrived meanwhile.
    pub fn thaw(&mut self, server: usize) {
        self.servers[server].is_frozen = false;
        for event in std::mem::take(&mut self.servers[server].deferred) {
            self.handle(event);
        }
        self.vote_soon();
    }

    /// Stops or restores delivery from one server to another. Messages held back arrive when delivery is restored.
    pub fn set_peer_hole(&mut self, from: usize, to: usize, is_hole: bool) {
        self.peers[from][to].is_mute = is_hole;
        self.set_data_hole(from, to, is_hole);
        self.vote_soon();
    }

    /// The same for everything but votes.
    pub fn set_data_hole(&mut self, from: usize, to: usize, is_hole: bool) {
        let lane = &mut self.peers[from][to].lane;
        lane.is_hole = is_hole;
        if !is_hole {
            for event in std::mem::take(&mut lane.held) {
                self.deliver(event);
            }
        }
    }

    /// Cuts a server off from all others, or reconnects it.
    pub fn set_isolated(&mut self, server: usize, is_isolated: bool) {
        for other in (0..self.size()).filter(|other| *other != server) {
            self.set_peer_hole(server, other, is_isolated);
            self.set_peer_hole(other, server, is_isolated);
        }
    }

    /// Sets how much longer than usual messages from one server to another take.
    pub fn delay_peer(&mut self, from: usize, to: usize, delay: u64) {
        self.peers[from][to].lane.delay = delay;
    }

    /// Sets how late a follower applies commits.
    pub fn set_lag(&mut self, server: usize, lag: u64) {
        self.servers[server].apply_lag = lag;
    }

    /// Stops or restores delivery in one direction between a zone and a server.
    pub fn set_hole(&mut self, zone: usize, server: usize, direction: Direction, is_hole: bool) {
        let lane = &mut self.links[zone][server].lanes[direction.index()];
        lane.is_hole = is_hole;
        if !is_hole {
            for event in std::mem::take(&mut lane.held) {
                self.deliver(event);
            }
        }
    }

    pub fn delay_link(&mut self, zone: usize, server: usize, direction: Direction, delay: u64) {
        self.links[zone][server].lanes[direction.index()].delay = delay;
    }

    /// Refuses new connections from a zone to a server, or accepts them again.
    pub fn refuse(&mut self, zone: usize, server: usize, is_refusing: bool) {
        self.links[zone][server].is_refusing = is_refusing;
    }

    /// Creates a node on every server before the run begins.
    pub fn lay(&mut self, path: &str) {
        let (path, data) = (path.into(), [].into());
        let change = Change::Create { path, data, owner: 0, is_container: false };
        for server in &mut self.servers {
            server.tree.apply(&change, Stamp { zxid: 0, time_ms: WALL_MS }, |_, _| ());
        }
    }

    /// Closes the connections from a zone to a server. Packets under way are lost.
    pub fn cut(&mut self, zone: usize, server: usize) {
        for id in self.conns.open(Some(zone), server) {
            self.close(id);
            if let Some(conn) = self.conns.get(id).filter(|conn| conn.is_open_at_client) {
                conn.is_open_at_client = false;
                self.outputs.push_back(super::Output::Closed(id));
                self.conns.free_if_unused(id);
            }
        }
    }
}
