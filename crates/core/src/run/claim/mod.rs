//! A run's claim on its locks: a session, a contender for each lock, and the lease. Replies drive it.

mod session;

use std::time::Duration;

pub use self::session::Session;
use super::Effect;
use crate::lease::Lease;
use crate::lease::latency::Start;
use crate::leftover_nodes::LeftoverNodes;
use crate::protocol::{Asker, LockIndex, LockNode, Reply, Request, SessionChange, SessionKey};
use crate::queue::contender::{Contender, ContenderConfig, ContentionError, Reaction};
use crate::queue::event::Event;
use crate::time::BootTime;

/// A claim on locks. There is no session before [`connect`](Claim::connect).
#[derive(Debug, Default)]
pub struct Claim {
    key: SessionKey,
    configs: Vec<ContenderConfig>,
    session: Option<Session>,
    end: Option<SessionEnd>,
    /// Another client deleted one of zklock's nodes. A node that has its name now belongs to another session.
    node_gone: bool,
    /// The path, without its number, of a node that may have been created.
    pending_create: Option<String>,
    /// An earlier session has seen another contender ahead.
    was_busy: bool,
}

/// How the session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SessionEnd {
    /// No server has confirmed it: its nodes may still exist.
    Presumed,
    /// The end was committed, or the session never began: no node of it is left.
    Known,
}

impl Claim {
    /// Starts connecting with a new session, which has none of the nodes of the session before it.
    pub fn connect(&mut self, deadline: Option<BootTime>) -> Effect {
        self.key = SessionKey(self.key.0 + 1);
        self.was_busy = self.seen_busy();
        self.configs.iter_mut().for_each(|config| config.ids = config.ids.of_the_next_session());
        (self.session, self.end, self.node_gone, self.pending_create) = (None, None, false, None);
        Effect::Connect { key: self.key, deadline }
    }

    /// Whether there is a session, or an attempt to establish one.
    pub fn has_begun(&self) -> bool {
        self.key != SessionKey(0)
    }

    /// Whether the events with this key are of the present session, or the attempt to establish it.
    pub fn is_of(&self, key: SessionKey) -> bool {
        key == self.key
    }

    /// Sets the locks to contend for, with their data. Must be called before there is a session.
    pub fn introduce(&mut self, configs: Vec<ContenderConfig>) {
        self.configs = configs;
    }

    /// Takes in a change of a session. Changes of a session that this one replaced are ignored.
    pub fn session_changed(
        &mut self,
        key: SessionKey,
        change: SessionChange,
        now: BootTime,
        out: &mut Vec<Effect>,
    ) -> Vec<Event> {
        if key != self.key {
            return vec![];
        }
        self.end = self.end.max(match change {
            SessionChange::Unreachable(_) | SessionChange::Closed => Some(SessionEnd::Known),
            // "Expired" too: a leader says so before the quorum has committed the end (`SessionTrackerImpl.run` marks
            // the session as closing first). If another leads by then, the session has a whole timeout again.
            SessionChange::Lost(_) => Some(SessionEnd::Presumed),
            _ => None,
        });
        if let Some(session) = self.session.as_mut().filter(|_| self.end.is_some()) {
            session.renewal.set_connected(false);
        }
        match change {
            SessionChange::Connected { id, timeout, began } => {
                let lease = Lease::new(began, timeout);
                self.session = Some(Session::new(id, self.configs.clone(), lease, now));
                let mut events = vec![Event::Connected];
                events.extend(self.contend_for_next(now, out));
                events
            }
            SessionChange::Unreachable(servers) => vec![Event::Unreachable(servers)],
            SessionChange::Disconnected => {
                self.session.iter_mut().for_each(|session| session.disconnected(now));
                vec![Event::Disconnected]
            }
            // The run itself takes this in.
            SessionChange::ServersSay(_) => vec![],
            SessionChange::Reconnected => self.reconnected(now, out),
            SessionChange::Lost(why) => vec![Event::Lost(why)],
            SessionChange::Closed => vec![Event::Closed],
        }
    }

    fn reconnected(&mut self, now: BootTime, out: &mut Vec<Effect>) -> Vec<Event> {
        let mut events = vec![Event::Reconnected];
        if let Some(session) = &mut self.session {
            session.reconnected(now);
            events.extend(self.each_contender(now, out, Contender::reconnected));
        }
        events
    }

    /// Takes in a reply.
    pub fn replied(
        &mut self,
        key: SessionKey,
        asker: Asker,
        reply: Reply,
        now: BootTime,
        out: &mut Vec<Effect>,
    ) -> Vec<Event> {
        let Some(session) = self.session.as_mut().filter(|_| key == self.key) else {
            return vec![];
        };
        match asker {
            Asker::Lease => {
                let event = session.confirmed(reply, now);
                self.node_gone |= matches!(event, Some(Event::NodeGone));
                event.into_iter().collect()
            }
            Asker::Lock(lock) => {
                session.measure(&reply, now);
                let Some(contender) = session.contenders.get_mut(lock.0) else { return vec![] };
                let reaction = contender.take(reply);
                if reaction.events.iter().any(|event| matches!(event, Event::Held(_))) {
                    session.acquired(lock, now);
                }
                self.carry_out(lock, reaction, now, out)
            }
            asker => vec![Event::Aside(asker, reply)],
        }
    }

    /// Begins to contend for the first lock that isn't held, if there is one. To be called once for each
    /// [`Event::Held`], unless the place is given up.
    pub fn contend_for_next(&mut self, now: BootTime, out: &mut Vec<Effect>) -> Vec<Event> {
        let Some(session) = &mut self.session else { return vec![] };
        let Some(lock) = session.first_not_held() else { return vec![] };
        let reaction = session.contenders[lock.0].begin();
        self.carry_out(lock, reaction, now, out)
    }

    /// Lets the contender for each lock act, if it has anything to do, and returns the events.
    fn each_contender(
        &mut self,
        now: BootTime,
        out: &mut Vec<Effect>,
        act: impl Fn(&mut Contender) -> Reaction,
    ) -> Vec<Event> {
        let contenders = self.session.iter_mut().flat_map(|session| session.contenders.iter_mut());
        let reactions: Vec<_> = contenders.map(act).collect();
        let reactions = reactions.into_iter().enumerate();
        reactions.flat_map(|(lock, reaction)| self.carry_out(LockIndex(lock), reaction, now, out)).collect()
    }

    /// Makes the requests of a contender's reaction, notes what its events say about zklock's nodes, and returns these.
    fn carry_out(
        &mut self,
        lock: LockIndex,
        reaction: Reaction,
        now: BootTime,
        out: &mut Vec<Effect>,
    ) -> Vec<Event> {
        let Some(session) = &mut self.session else { return vec![] };
        for event in &reaction.events {
            match event {
                Event::Queued(..) => {
                    session.queued(now);
                    // The monitor must know which nodes to delete if this process can't, and must know it before it is
                    // shown the next create.
                    self.pending_create = None;
                    let session_timeout = session.renewal.lease.timeout();
                    out.push(Effect::ReportNodes { session_timeout, nodes: owned(session) });
                }
                Event::Failed(_, ContentionError::Deleted) => self.node_gone = true,
                _ => {}
            }
        }
        for request in reaction.requests {
            if let Request::Create { path, .. } = &request {
                self.pending_create = Some(path.to_string());
                out.push(Effect::ReportCreate(path.to_string()));
                session.create_sent = Some(now);
            }
            out.push(Effect::Ask(Asker::Lock(lock), request));
        }
        reaction.events
    }

    /// What the session leaves on the servers for as long as it may live; `None` if there was no session.
    pub fn left_behind(&self) -> Option<LeftoverNodes> {
        let session = self.session.as_ref()?;
        Some(LeftoverNodes {
            session_timeout: session.renewal.lease.timeout(),
            nodes: owned(session),
            pending_create: self.pending_create.clone(),
        })
    }

    /// Marks zklock's nodes as stopped or running again, so that other clients can see it.
    pub fn mark_stopped(&mut self, stopped: bool, now: BootTime, out: &mut Vec<Effect>) {
        self.each_contender(now, out, |contender| contender.mark_stopped(stopped));
    }

    /// The command may start: from now on the last lock is held. The others are held since they were acquired.
    pub fn held_from(&mut self, now: BootTime) {
        self.session.iter_mut().for_each(|session| session.held_from(now));
    }

    /// Shows other clients since when the locks are held.
    pub fn record_held_since(&mut self, now: BootTime, out: &mut Vec<Effect>) {
        let locks = self.session.as_ref().map_or(0, |session| session.contenders.len());
        for lock in (0..locks).map(LockIndex) {
            let reaction = self.session.as_mut().and_then(|session| session.record_held_since(lock));
            self.carry_out(lock, reaction.unwrap_or_default(), now, out);
        }
    }

    /// Whether the lease and the connection allow the command to start.
    pub fn start(&mut self, kill_after: Duration, now: BootTime) -> Start {
        self.session.as_mut().map_or(Start::NotYet, |session| session.start(kill_after, now))
    }

    /// Sends the confirmation that is due, if any.
    pub fn confirm_if_due(&mut self, now: BootTime, out: &mut Vec<Effect>) {
        let Some(session) = &mut self.session else { return };
        if session.due().is_some_and(|due| due <= now) {
            let nodes = session.nodes().map(|(_, node)| node.path.clone()).collect();
            session.confirms(now);
            out.push(Effect::Ask(Asker::Lease, Request::Confirm(nodes)));
        }
    }

    /// Sends the next confirmation as soon as possible: its answer says whether zklock's nodes still exist.
    pub fn confirm_soon(&mut self, now: BootTime) {
        if let Some(session) = &mut self.session {
            session.confirm_soon(now);
        }
    }

    /// When [`confirm_if_due`](Self::confirm_if_due) next has something to do.
    pub fn due(&self) -> Option<BootTime> {
        self.session.as_ref()?.due()
    }

    /// The session, once it is established.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether another contender was seen ahead on any lock, in any session.
    pub fn seen_busy(&self) -> bool {
        self.was_busy
            || self
                .session
                .as_ref()
                .is_some_and(|session| session.contenders.iter().any(Contender::seen_busy))
    }

    /// The lease, once there is a session.
    pub fn lease(&self) -> Option<&Lease> {
        self.session.as_ref().map(|session| &session.renewal.lease)
    }

    /// How long a periodic check may be put off: an eighth of the session timeout, as no lease depends on the check;
    /// 100 ms while there is no session.
    pub fn time_to_spare(&self) -> Duration {
        self.lease().map_or(Duration::from_millis(100), |lease| lease.timeout() / 8)
    }

    /// Begins a new lease if the old one ran out during a long silence. Only for a run whose command isn't running.
    pub fn revive_lease(&mut self, now: BootTime) {
        if let Some(session) = &mut self.session {
            session.renewal.revive(now);
        }
    }

    /// Whether the session has ended, so that nothing can be asked any more.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Whether none of zklock's nodes is left: the session has ended, and a server has confirmed it.
    pub fn is_gone(&self) -> bool {
        self.end == Some(SessionEnd::Known)
    }

    /// Asks for all of zklock's nodes to be deleted, in the reverse of the order in which the locks were acquired, and
    /// for the session to be closed. [`Event::Closed`] reports that it is done. If another client has deleted one of
    /// the nodes, none is deleted by name, because the name may now belong to another client's node; closing the
    /// session deletes the others.
    pub fn release(&self) -> Effect {
        let ours = self.session.as_ref().filter(|_| !self.node_gone);
        let nodes = ours.map(|session| session.nodes().rev().map(|(_, node)| node.path.clone()).collect());
        Effect::Release(nodes.unwrap_or_default())
    }
}

/// zklock's nodes.
fn owned(session: &Session) -> Vec<LockNode> {
    session.nodes().map(|(_, node)| node.clone()).collect()
}

#[cfg(test)]
mod tests;
