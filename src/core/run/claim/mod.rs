//! A run's claim on its locks: a session, a contender for each lock, and the lease. Replies drive it.

mod contending;

use std::time::Duration;

use self::contending::{Contending, Gap};
use super::Effect;
use crate::core::leftover_nodes::LeftoverNodes;
use crate::core::lock::contender::{ContenderConfig, ContenderEvent, ContentionError, OwnNode};
use crate::core::lock::lease::Lease;
use crate::core::lock::pace::Start;
use crate::core::lock::renewal::Renewal;
use crate::core::lock::set::{Set, SetStep};
use crate::core::loss::Silence;
use crate::core::pair::OwnedNode;
use crate::core::path::LockPath;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::{Asker, Reply, Request, RequestError, SessionChange, SessionKey};
use crate::core::time::BootTime;

/// The result of a reply or of a change of the session.
#[derive(Debug)]
pub enum ClaimEvent {
    /// The session is established, and zklock contends for the first lock.
    Connected,
    /// No session could be established; the reason that each server gave.
    Unreachable(Vec<String>),
    /// The connection is lost; the session may still be alive.
    Disconnected,
    /// Connected again.
    Reconnected,
    /// The session has ended, and all its nodes with it.
    Lost(RequestError),
    /// A confirmation: nodes with the names of zklock's nodes exist, and the session is alive.
    Confirmed,
    /// A confirmation found that one of zklock's nodes is gone.
    NodeGone,
    /// A confirmation failed without saying anything about the nodes.
    Unconfirmed(RequestError),
    /// The session is closed, confirmed by the server.
    Closed,
    /// An event about one lock.
    Lock(LockPath, ContenderEvent),
    /// The answer to a question that no contender asked.
    Aside(Asker, Reply),
}

/// A session with its contenders and its lease. There is no session before [`connect`](Claim::connect).
#[derive(Debug, Default)]
pub struct Claim {
    key: SessionKey,
    entries: Vec<ContenderConfig>,
    contending: Option<Contending>,
    end: Option<SessionEnd>,
    /// Another client deleted one of zklock's nodes. A node that has its name now belongs to another session.
    node_gone: bool,
    /// The path, without its number, of a node that may have been created.
    entering: Option<String>,
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
        self.entries.iter_mut().for_each(|entry| entry.ids = entry.ids.of_the_next_session());
        (self.contending, self.end, self.node_gone, self.entering) = (None, None, false, None);
        Effect::Connect { key: self.key, deadline }
    }

    /// Whether there is a session, or an attempt to establish one.
    pub fn has_begun(&self) -> bool {
        self.key != SessionKey(0)
    }

    /// Sets the locks to contend for, with their data. Must be called before there is a session.
    pub fn introduce(&mut self, entries: Vec<ContenderConfig>) {
        self.entries = entries;
    }

    /// Takes in a change of a session. Changes of a session that this one replaced are ignored.
    pub fn session_changed(
        &mut self,
        key: SessionKey,
        change: SessionChange,
        now: BootTime,
        out: &mut Vec<Effect>,
    ) -> Vec<ClaimEvent> {
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
        match change {
            SessionChange::Connected { id, timeout, began } => {
                let began = if planted(Mistake::LeaseFromConnect) { now } else { began };
                let contending = self.contending.insert(Contending::new(
                    id,
                    Set::new(self.entries.clone(), id),
                    Renewal::new(Lease::new(began, timeout)),
                    now,
                ));
                let step = contending.set.begin();
                let mut notices = vec![ClaimEvent::Connected];
                notices.extend(self.carry_out(step, now, out));
                notices
            }
            SessionChange::Unreachable(servers) => vec![ClaimEvent::Unreachable(servers)],
            SessionChange::Disconnected => {
                if let Some(contending) = &mut self.contending {
                    contending.renewal.set_connected(false);
                    contending.pace.disconnected();
                    contending.gap = Some(Gap { from: now, to: None, away: None });
                }
                vec![ClaimEvent::Disconnected]
            }
            SessionChange::StillAway(away) => {
                if let Some(gap) = self.contending.as_mut().and_then(|contending| contending.gap.as_mut()) {
                    gap.away = Some(away);
                }
                vec![]
            }
            SessionChange::Reconnected => self.reconnected(now, out),
            SessionChange::Lost(why) => vec![ClaimEvent::Lost(why)],
            SessionChange::Closed => vec![ClaimEvent::Closed],
        }
    }

    fn reconnected(&mut self, now: BootTime, out: &mut Vec<Effect>) -> Vec<ClaimEvent> {
        let mut notices = vec![ClaimEvent::Reconnected];
        if let Some(contending) = &mut self.contending {
            contending.renewal.set_connected(true);
            if planted(Mistake::LeaseRevived) {
                contending.renewal.lease = Lease::new(now, contending.renewal.lease.timeout());
            }
            contending.gap.iter_mut().for_each(|gap| gap.to = Some(now));
            let step = contending.set.reconnected();
            notices.extend(self.carry_out(step, now, out));
        }
        notices
    }

    /// Takes in a reply.
    pub fn replied(
        &mut self,
        key: SessionKey,
        asker: Asker,
        reply: Reply,
        now: BootTime,
        out: &mut Vec<Effect>,
    ) -> Vec<ClaimEvent> {
        let Some(contending) = self.contending.as_mut().filter(|_| key == self.key) else {
            return vec![];
        };
        match asker {
            Asker::Lease => contending.confirmed(reply, now, &mut self.node_gone),
            Asker::Lock(lock) => {
                let step = contending.replied(lock, reply, now);
                self.carry_out(step, now, out)
            }
            asker => vec![ClaimEvent::Aside(asker, reply)],
        }
    }

    fn carry_out(&mut self, step: SetStep, now: BootTime, out: &mut Vec<Effect>) -> Vec<ClaimEvent> {
        let Some(contending) = &mut self.contending else {
            return vec![];
        };
        contending.note(&step.news, now);
        let queued = step.news.iter().any(|(_, news)| matches!(news, ContenderEvent::Queued(_)));
        if queued {
            // The monitor must know which nodes to delete if this process can't, and must know it before it is shown
            // the next create.
            self.entering = None;
            let session_timeout = contending.renewal.lease.timeout();
            out.push(Effect::Own { session_timeout, nodes: owned(&contending.set) });
        }
        for (lock, request) in step.requests {
            if let Request::Create { parent, prefix, .. } = &request {
                let path = format!("{parent}/{prefix}");
                self.entering = Some(path.clone());
                out.push(Effect::Enter(path));
                if contending.set.nodes().next().is_none() {
                    contending.create_sent = now;
                }
            }
            out.push(Effect::Ask(Asker::Lock(lock), request));
        }
        let gone = ContenderEvent::Failed(ContentionError::Deleted);
        self.node_gone |= step.news.iter().any(|(_, news)| *news == gone);
        let path = |lock| contending.set.path(lock).cloned();
        let news = step.news.into_iter();
        news.filter_map(|(lock, news)| Some(ClaimEvent::Lock(path(lock)?, news))).collect()
    }

    /// What the session leaves on the servers for as long as it may live; `None` if there was no session.
    pub fn left_behind(&self) -> Option<LeftoverNodes> {
        let session_timeout = self.lease()?.timeout();
        Some(LeftoverNodes {
            session_timeout,
            nodes: self.set().map(owned).unwrap_or_default(),
            entering: self.entering.clone(),
        })
    }

    /// Marks zklock's nodes as stopped or running again, so that other clients can see it.
    pub fn mark_stopped(&mut self, stopped: bool, now: BootTime, out: &mut Vec<Effect>) {
        if let Some(contending) = &mut self.contending {
            let step = contending.set.mark_stopped(stopped);
            self.carry_out(step, now, out);
        }
    }

    /// Looks for clients that don't wait for zklock: [`ContenderEvent::Neighbour`].
    pub fn look_around(&mut self, now: BootTime, out: &mut Vec<Effect>) {
        if let Some(contending) = &mut self.contending {
            let step = contending.set.look_around();
            self.carry_out(step, now, out);
        }
    }

    /// Shows other clients since when the locks are held.
    pub fn tell_held(&mut self, now: BootTime, out: &mut Vec<Effect>) {
        if let Some(contending) = &mut self.contending {
            let held = &contending.held;
            let after = |lock| held.get(&lock).and_then(|(queued, held)| Some((*held)?.since(*queued)));
            let step = contending.set.tell_held(after);
            self.carry_out(step, now, out);
        }
    }

    /// Sends the confirmation that is due, if any.
    pub fn confirm_if_due(&mut self, now: BootTime, out: &mut Vec<Effect>) {
        let Some(contending) = &mut self.contending else {
            return;
        };
        if contending.renewal.due().is_some_and(|due| due <= now) {
            let nodes = contending.set.nodes().map(|(_, node)| node.path.clone()).collect();
            contending.renewal.sent();
            contending.asked = Some(now);
            out.push(Effect::Ask(Asker::Lease, Request::Confirm(nodes)));
        }
    }

    /// Sends the next confirmation as soon as possible: its answer says whether zklock's nodes still exist.
    pub fn confirm_soon(&mut self, now: BootTime) {
        if let Some(contending) = &mut self.contending {
            contending.renewal.hurry(now);
        }
    }

    /// When [`confirm_if_due`](Self::confirm_if_due) next has something to do.
    pub fn next_due(&self) -> Option<BootTime> {
        self.contending.as_ref()?.renewal.due()
    }

    /// The lease, once there is a session.
    pub fn lease(&self) -> Option<&Lease> {
        self.contending.as_ref().map(|contending| &contending.renewal.lease)
    }

    /// When a server last answered, once there is a session.
    pub fn heard(&self) -> Option<BootTime> {
        self.contending.as_ref().map(|contending| contending.heard)
    }

    /// Why nothing was confirmed recently, as far as zklock can tell.
    pub fn silence(&self, now: BootTime) -> Option<Silence> {
        let Contending { gap, asked, forbidden, pace, renewal, .. } = self.contending.as_ref()?;
        let unanswered = asked.map(|asked| now.since(asked));
        Some(match (*gap, unanswered) {
            (Some(Gap { from, to: None, away }), _) => Silence::Line(now.since(from), away),
            (_, Some(span)) if span >= renewal.lease.step() => Silence::Server(span),
            (Some(Gap { from, to: Some(to), .. }), _) if now.since(to) < renewal.lease.timeout() => {
                Silence::LineWasAway(to.since(from))
            }
            _ if *forbidden => Silence::Forbidden,
            _ => Silence::SlowLine(pace.slowest()?),
        })
    }

    /// How long a periodic check may be put off: an eighth of the session timeout, as no lease depends on the check;
    /// 100 ms while there is no session.
    pub fn time_to_spare(&self) -> Duration {
        self.lease().map_or(Duration::from_millis(100), |lease| lease.timeout() / 8)
    }

    /// Whether the lease and the connection allow the command to start.
    pub fn start(&self, kill_after: Duration, now: BootTime) -> Start {
        let Some(Contending { renewal, pace, asked, .. }) = &self.contending else { return Start::NotYet };
        if planted(Mistake::DoomedStart) {
            return Start::Now;
        }
        if !renewal.is_connected() {
            return Start::NotYet;
        }
        let sends = renewal.due().map(|due| due.max(now)).or(*asked).unwrap_or(now);
        pace.start(&renewal.lease, sends, kill_after, now)
    }

    /// The locks, once there is a session.
    pub fn set(&self) -> Option<&Set> {
        self.contending.as_ref().map(|contending| &contending.set)
    }

    /// The session's id, once there is a session.
    pub fn session_id(&self) -> Option<i64> {
        self.contending.as_ref().map(|contending| contending.session)
    }

    /// Begins a new lease if the old one ran out during a long silence. Only for a run whose command isn't running.
    pub fn revive_lease(&mut self, now: BootTime) {
        if let Some(contending) = &mut self.contending {
            contending.renewal.revive(now);
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
    /// for the session to be closed. [`ClaimEvent::Closed`] reports that it is done. If another client has deleted one of
    /// the nodes, none is deleted by name, because the name may now belong to another client's node; closing the
    /// session deletes the others.
    pub fn release(&self) -> Effect {
        let ours = self.set().filter(|_| !self.node_gone);
        let nodes = ours.map(|set| set.nodes().rev().map(|(_, node)| node.path.clone()).collect());
        Effect::Release(nodes.unwrap_or_default())
    }
}

/// The nodes of all locks in `set`.
fn owned(set: &Set) -> Vec<OwnedNode> {
    let owned = |node: &OwnNode| OwnedNode { path: node.path.clone(), czxid: node.fencing_token };
    set.nodes().map(|(_, node)| owned(node)).collect()
}

#[cfg(test)]
mod tests;
