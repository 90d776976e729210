//! Leader election: the server with the longest history of a quorum leads, and its followers have that history
//! immediately. They serve when the leader's first message arrives.

use std::cmp::Reverse;

use super::config::nanos;
use super::follower::Following;
use super::leader::{Leading, Learner};
use super::peers::Peer;
use super::{Ensemble, Event, Role, Timer};

impl Ensemble {
    /// Gives a server a new role. The old role ends, and with it the connections of the server's clients.
    pub(super) fn take_role(&mut self, server: usize, role: Role) {
        let state = &mut self.servers[server];
        state.term += 1;
        let former = std::mem::replace(&mut state.role, role);
        state.logged_at = 0;
        state.watches.clear();
        match former {
            Role::Following(Following { leader, link, .. }) => self.tell(server, leader, link, Peer::Gone),
            Role::Leading(leading) => {
                for (id, learner) in leading.learners {
                    self.tell(server, id, learner.link, Peer::Gone);
                }
            }
            Role::Down | Role::Looking => {}
        }
        for conn in self.conns.open(None, server) {
            self.close(conn);
        }
    }

    pub(super) fn look_for_a_leader(&mut self, server: usize) {
        self.take_role(server, Role::Looking);
        self.vote_soon();
    }

    pub(super) fn vote_soon(&mut self) {
        if !self.is_voting {
            self.is_voting = true;
            let wait = self.config.vote_wait + self.rng.below(self.config.vote_wait / 8);
            self.queue.add(self.now + wait, Event::Vote);
        }
    }

    /// Whether two servers receive each other's votes.
    fn hear_each_other(&self, one: usize, other: usize) -> bool {
        let hears = |from: usize, to: usize| !self.peers[from][to].is_mute;
        one == other || (hears(one, other) && hears(other, one))
    }

    fn is_looking(&self, server: usize) -> bool {
        !self.servers[server].is_frozen && matches!(self.servers[server].role, Role::Looking)
    }

    /// The order of votes: the longest history of the latest leader, then the highest server number.
    fn rank(&self, server: usize) -> (i64, i64, usize) {
        let log = &self.servers[server].log;
        (log.epoch, log.last(), server)
    }

    pub(super) fn vote(&mut self) {
        self.is_voting = false;
        let all = 0..self.servers.len();
        // A server that can join a leader does so. The others elect one if they can.
        let mut left = vec![];
        for server in all.clone().filter(|server| self.is_looking(*server)).collect::<Vec<_>>() {
            match all.clone().find(|leader| self.can_join(server, *leader)) {
                Some(leader) => self.follow(server, leader),
                None => left.push(server),
            }
        }
        left.sort_by_key(|server| Reverse(self.rank(*server)));
        let elected = left.iter().enumerate().find_map(|(place, leader)| {
            let below = left[place..].iter().copied();
            let voters: Vec<usize> = below.filter(|other| self.hear_each_other(*leader, *other)).collect();
            (voters.len() >= self.config.quorum() as usize).then_some(voters)
        });
        if let Some([leader, followers @ ..]) = elected.as_deref() {
            self.lead(*leader);
            for follower in followers {
                self.follow(*follower, *leader);
            }
        }
        if all.clone().any(|server| matches!(self.servers[server].role, Role::Looking)) {
            self.vote_soon();
        }
    }

    /// Whether a quorum of servers, including the leader itself, names this leader.
    fn can_join(&self, server: usize, leader: usize) -> bool {
        let says = |other: &usize| match &self.servers[*other].role {
            Role::Leading(_) => *other == leader,
            Role::Following(following) => following.leader == leader,
            _ => false,
        };
        let is_heard =
            |other: &usize| !self.servers[*other].is_frozen && self.hear_each_other(server, *other);
        let those = (0..self.servers.len()).filter(says).filter(is_heard);
        is_heard(&leader) && says(&leader) && those.count() >= self.config.quorum() as usize
    }

    /// Begins a new epoch. All of the leader's history counts as committed, and every session gets a full timeout from
    /// now.
    fn lead(&mut self, server: usize) {
        let (now, tick) = (self.now, self.config.tick);
        let log = &mut self.servers[server].log;
        log.epoch += 1;
        let (epoch, last) = (log.epoch, log.last());
        self.take_role(server, Role::Looking);
        self.apply_up_to(server, last);
        let state = &self.servers[server];
        let local = now + state.phase;
        let mut leading = Leading::new(epoch, state.tree.clone(), tick);
        for (session, timeout_ms) in &state.tree.sessions {
            leading.tracker.track(*session, nanos(*timeout_ms), local);
        }
        let first = leading.tracker.rounded(local) - local;
        self.servers[server].role = Role::Leading(Box::new(leading));
        self.set_timer(server, tick / 2, Timer::HalfTick);
        self.set_timer(server, first, Timer::Expiry);
        self.set_timer(server, self.config.container_check, Timer::Containers);
    }

    /// Gives a server the history of its leader, which forwards it new proposals from now on.
    fn follow(&mut self, server: usize, leader: usize) {
        self.peer_links += 1;
        let link = self.peer_links;
        self.take_role(server, Role::Following(Following::new(leader, link, self.now)));
        let Ok([state, ahead]) = self.servers.get_disjoint_mut([server, leader]) else { return };
        state.log = ahead.log.clone();
        if state.tree.zxid < state.log.base() {
            state.tree = ahead.tree.clone();
        }
        let committed = ahead.tree.zxid;
        let (now, limit) = (self.now, self.config.sync_limit);
        if let Some(leading) = self.leading(leader) {
            let learner = Learner { link, deadline: leading.tick + limit, heard: now };
            leading.learners.insert(server, learner);
        }
        self.tell(leader, server, link, Peer::UpToDate(committed));
        self.set_timer(server, limit * self.config.tick, Timer::Silence);
    }

    pub(super) fn heard_peer(&mut self, from: usize, to: usize, link: u64, message: Peer) {
        let now = self.now;
        match &mut self.servers[to].role {
            Role::Following(following) if following.leader == from && following.link == link => {
                self.hear_leader(to, message);
            }
            Role::Leading(leading) => {
                let limit = leading.tick + self.config.sync_limit;
                let Some(learner) = leading.learners.get_mut(&from).filter(|learner| learner.link == link)
                else {
                    return;
                };
                (learner.heard, learner.deadline) = (now, limit);
                match message {
                    Peer::Gone => drop(leading.learners.remove(&from)),
                    Peer::Ack(zxid) => self.acknowledged(to, from, zxid),
                    other => self.hear_learner(to, from, link, other),
                }
            }
            _ => {}
        }
    }
}
