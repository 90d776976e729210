//! Leader election, and how a new leader brings a quorum to its history before it serves.

use std::cmp::Reverse;

use super::config::nanos;
use super::follower::Following;
use super::leader::{Leading, Learner, Stage};
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
        let looking: Vec<usize> = all.clone().filter(|server| self.is_looking(*server)).collect();
        if let [alone] = looking[..]
            && self.servers.len() == 1
        {
            return self.lead(alone);
        }
        // A server that can join a leader does so. The others elect one if they can.
        let mut left = vec![];
        for server in looking {
            match all.clone().find(|leader| self.can_join(server, *leader)) {
                Some(leader) => self.follow(server, leader),
                None => left.push(server),
            }
        }
        let best = |server: usize| {
            left.iter()
                .copied()
                .filter(|other| self.hear_each_other(server, *other))
                .max_by_key(|o| self.rank(*o))
        };
        let votes: Vec<(usize, Option<usize>)> = left.iter().map(|server| (*server, best(*server))).collect();
        let quorum = self.config.quorum() as usize;
        let mut candidates = left.clone();
        candidates.sort_by_key(|server| Reverse(self.rank(*server)));
        let supporters = |candidate: usize| -> Vec<usize> {
            votes.iter().filter(|(_, vote)| *vote == Some(candidate)).map(|(server, _)| *server).collect()
        };
        let elected = candidates.into_iter().find(|candidate| supporters(*candidate).len() >= quorum);
        if let Some(leader) = elected {
            let followers = supporters(leader);
            self.lead(leader);
            for follower in followers.into_iter().filter(|follower| *follower != leader) {
                self.follow(follower, leader);
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

    fn lead(&mut self, server: usize) {
        self.take_role(server, Role::Leading(Box::new(Leading::new(self.config.tick))));
        self.set_timer(server, self.config.init_limit * self.config.tick, Timer::Joined);
        self.gathered(server);
    }

    fn follow(&mut self, server: usize, leader: usize) {
        self.peer_links += 1;
        let link = self.peer_links;
        self.take_role(server, Role::Following(Following::new(leader, link, self.now)));
        self.set_timer(server, self.config.init_limit * self.config.tick, Timer::Joined);
        let state = &self.servers[server];
        let history = (state.log.epoch, state.log.last());
        let (promised, applied) = (state.log.promised, state.tree.zxid);
        self.tell(server, leader, link, Peer::Hello { promised, history, applied });
    }

    pub(super) fn check_joined(&mut self, server: usize) {
        if !self.is_serving(server) {
            self.look_for_a_leader(server);
        }
    }

    pub(super) fn heard_peer(&mut self, from: usize, to: usize, link: u64, message: Peer) {
        let now = self.now;
        match &mut self.servers[to].role {
            Role::Following(following) if following.leader == from && following.link == link => {
                self.hear_leader(to, message);
            }
            Role::Leading(leading) => {
                if let Peer::Hello { promised, history, applied } = message {
                    return self.welcome(to, from, link, (promised, history, applied));
                }
                let limit = leading.tick + self.config.sync_limit;
                let Some(learner) = leading.learners.get_mut(&from).filter(|learner| learner.link == link)
                else {
                    return;
                };
                (learner.heard, learner.deadline) = (now, limit);
                match message {
                    Peer::Gone => drop(leading.learners.remove(&from)),
                    Peer::Took(last) => {
                        learner.took = true;
                        self.took(to, from, last);
                    }
                    Peer::Ack(zxid) => self.acknowledged(to, from, zxid, zxid),
                    other => self.hear_learner(to, from, link, other),
                }
            }
            // The addressee isn't a leader.
            Role::Down | Role::Looking if matches!(message, Peer::Hello { .. }) => {
                self.tell(to, from, link, Peer::Gone);
            }
            _ => {}
        }
    }

    fn welcome(&mut self, server: usize, from: usize, link: u64, hello: (i64, (i64, i64), i64)) {
        let (promised, history, applied) = hello;
        let log = &self.servers[server].log;
        let is_ahead = history > (log.epoch, log.last());
        let now = self.now;
        let deadline = self.config.sync_limit;
        let Some(leading) = self.leading(server) else {
            return;
        };
        if is_ahead && leading.stage != Stage::Serving {
            // The follower has a longer history, so another server should lead.
            return self.look_for_a_leader(server);
        }
        leading.learners.insert(
            from,
            Learner {
                link,
                hello: Some((promised, applied)),
                is_forwarding: false,
                took: false,
                deadline: leading.tick + deadline,
                heard: now,
            },
        );
        if leading.stage == Stage::Gathering {
            self.gathered(server);
        } else {
            self.bring(server, from);
        }
    }

    /// Begins the new epoch once the leader and its followers are a quorum.
    fn gathered(&mut self, server: usize) {
        let quorum = self.config.quorum() as usize;
        let own = self.servers[server].log.promised;
        let Some(leading) = self.leading(server).filter(|leading| leading.learners.len() + 1 >= quorum)
        else {
            return;
        };
        let promises = leading.learners.values().filter_map(|learner| learner.hello.map(|hello| hello.0));
        let epoch = promises.fold(own, i64::max) + 1;
        (leading.epoch, leading.stage) = (epoch, Stage::Bringing);
        let learners: Vec<usize> = leading.learners.keys().copied().collect();
        let log = &mut self.servers[server].log;
        (log.epoch, log.promised) = (epoch, epoch);
        for learner in learners {
            self.bring(server, learner);
        }
        self.serve_if_followed(server);
    }

    /// Sends a follower the history that it lacks, and forwards new proposals from now on.
    fn bring(&mut self, server: usize, to: usize) {
        let Some(leading) = self.leading(server) else {
            return;
        };
        let epoch = leading.epoch;
        let Some(learner) = leading.learners.get_mut(&to) else {
            return;
        };
        let (link, hello) = (learner.link, learner.hello.take());
        let Some((_, applied)) = hello else {
            return;
        };
        learner.is_forwarding = true;
        let state = &self.servers[server];
        let difference = state.log.difference(applied, &state.tree);
        self.tell(server, to, link, Peer::History(epoch, difference));
    }

    fn took(&mut self, server: usize, from: usize, last: i64) {
        let committed = self.servers[server].tree.zxid;
        let Some(leading) = self.leading(server) else {
            return;
        };
        if leading.stage == Stage::Serving {
            let link = leading.learners.get(&from).map_or(0, |learner| learner.link);
            self.tell(server, from, link, Peer::UpToDate(committed));
            self.acknowledged(server, from, 0, last);
        } else {
            self.serve_if_followed(server);
        }
    }

    /// Starts serving once a quorum has the leader's history. Every session gets a full timeout from now.
    fn serve_if_followed(&mut self, server: usize) {
        let quorum = self.config.quorum() as usize;
        let is_followed = self.leading(server).is_some_and(|leading| {
            leading.learners.values().filter(|learner| learner.took).count() + 1 >= quorum
        });
        if !is_followed {
            return;
        }
        let last = self.servers[server].log.last();
        self.apply_up_to(server, last);
        let (now, tick) = (self.now, self.config.tick);
        let state = &mut self.servers[server];
        let (tree, local) = (state.tree.clone(), now + state.phase);
        let Some(leading) = self.leading(server) else {
            return;
        };
        for (session, timeout_ms) in &tree.sessions {
            leading.tracker.track(*session, nanos(*timeout_ms), local);
        }
        let first = leading.tracker.rounded(local) - local;
        leading.pending = tree;
        leading.stage = Stage::Serving;
        let ready = leading.learners.iter().filter(|(_, learner)| learner.took);
        let ready: Vec<_> = ready.map(|(id, learner)| (*id, learner.link)).collect();
        for (id, link) in ready {
            self.tell(server, id, link, Peer::UpToDate(last));
        }
        self.set_timer(server, tick / 2, Timer::HalfTick);
        self.set_timer(server, first, Timer::Expiry);
        self.set_timer(server, self.config.container_check, Timer::Containers);
    }
}
