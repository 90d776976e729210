//! Our claim on the locks: a session, a contender for each lock, the lease, and the monitor that answers for it
//! all if we can't. Events move it along.
//!
//! Here the pure parts meet the wire. What a step asks for is sent; what it leads to is handed up.

use std::io;
use std::time::Duration;

use crate::clock::BootTime;
use crate::event::{Emitter, Event};
use crate::lock::contender::{Entry, News, OwnNode, Trouble};
use crate::lock::lease::Lease;
use crate::lock::pace::{Pace, Start};
use crate::lock::path::LockPath;
use crate::lock::renewal::Renewal;
use crate::lock::set::{Set, SetStep};
use crate::loss::Silence;
use crate::pair::{OwnedNode, Worker};
use crate::planted::{Mistake, planted};
use crate::zk::{Away, Diagnosis, Failure, Reply, Request, Session, SessionChange, SessionKey, Settings};

/// Something that came of an event.
#[derive(Debug)]
pub enum Notice {
    /// There is a session, and the first lock is being contended for.
    Connected,
    /// There will be no session.
    Unreachable(Vec<Diagnosis>),
    /// The connection is lost; the session may live on.
    Disconnected,
    /// Connected again.
    Reconnected,
    /// The session is over, and with it every node of ours.
    Lost(Failure),
    /// Nodes by the names of ours are there, and the session lives.
    Confirmed,
    /// One of our nodes isn't there any more, a confirmation says.
    NodeGone,
    /// The session is closed, and the server confirmed it.
    Closed,
    /// News of one lock.
    Lock(LockPath, News),
    /// The answer to a question of [`Claim::ask_aside`].
    Aside(Reply),
}

/// The index of questions that are no contender's.
const ASIDE: usize = usize::MAX;

/// A session with what hangs on it.
#[derive(Debug)]
pub struct Claim {
    session: Session,
    settings: Settings,
    entries: Vec<Entry>,
    events: Emitter,
    contending: Option<Contending>,
    worker: Worker,
    end: Option<End>,
    /// A node of ours was deleted by somebody. What has its name now isn't ours.
    node_gone: bool,
}

/// How the session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// Nobody has said so: its nodes may be there yet.
    Presumed,
    /// The servers have said so, or it never began: no node of it is left.
    Known,
}

#[derive(Debug)]
struct Contending {
    /// The session's id.
    session: i64,
    set: Set,
    renewal: Renewal,
    /// When the first create was sent: its answer is the first confirmation.
    create_sent: BootTime,
    create_answered: bool,
    /// When a server answered last.
    heard: BootTime,
    /// How long the answers to writes took.
    pace: Pace,
    /// The confirmation that is on its way, or was when the connection was lost.
    asked: Option<BootTime>,
    gap: Option<Gap>,
}

/// A time without a connection.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: BootTime,
    to: Option<BootTime>,
    away: Option<Away>,
}

impl Claim {
    /// Begins to connect; the rest follows from the events.
    pub fn open(
        settings: Settings,
        entries: impl FnOnce() -> Vec<Entry>,
        events: Emitter,
        worker: Worker,
    ) -> io::Result<Self> {
        let session = Session::open(SessionKey(0), settings.clone(), events.clone())?;
        Ok(Self {
            session,
            settings,
            // While the first packets travel: who we are takes a look into several files.
            entries: entries(),
            events,
            contending: None,
            worker,
            end: None,
            node_gone: false,
        })
    }

    /// Begins anew with a session of its own, after the old one is over. Nothing of ours is left of that one.
    /// Without a deadline it tries for ever: whoever waits without limit waits for servers as well.
    pub fn reopen(&mut self, deadline: Option<BootTime>) -> io::Result<()> {
        let key = SessionKey(self.session.key().0 + 1);
        (self.contending, self.end, self.node_gone) = (None, None, false);
        self.settings.deadline = deadline;
        self.session = Session::open(key, self.settings.clone(), self.events.clone())?;
        Ok(())
    }

    /// Takes in an event of the session. Events of a session that this one replaced are none of ours.
    pub fn take(&mut self, event: Event) -> Vec<Notice> {
        match event {
            Event::Session(key, change) if key == self.session.key() => self.session_changed(change),
            Event::Reply(key, lock, reply) if key == self.session.key() => self.replied(lock, reply),
            _ => vec![],
        }
    }

    fn session_changed(&mut self, change: SessionChange) -> Vec<Notice> {
        self.end = self.end.max(match change {
            SessionChange::Lost(Failure::Expired) | SessionChange::Unreachable(_) | SessionChange::Closed => {
                Some(End::Known)
            }
            SessionChange::Lost(_) => Some(End::Presumed),
            _ => None,
        });
        match change {
            SessionChange::Connected { id, timeout, began } => {
                let mut set = Set::new(self.entries.clone(), id);
                let step = set.begin();
                let began = if planted(Mistake::LeaseFromConnect) { BootTime::now() } else { began };
                let renewal = Renewal::new(Lease::new(began, timeout));
                self.contending = Some(Contending {
                    session: id,
                    set,
                    renewal,
                    create_sent: BootTime::now(),
                    create_answered: false,
                    heard: BootTime::now(),
                    pace: Pace::default(),
                    asked: None,
                    gap: None,
                });
                let mut notices = vec![Notice::Connected];
                notices.extend(self.carry_out(step));
                notices
            }
            SessionChange::Unreachable(diagnoses) => vec![Notice::Unreachable(diagnoses)],
            SessionChange::Disconnected => {
                if let Some(contending) = &mut self.contending {
                    contending.renewal.set_connected(false);
                    contending.pace.disconnected();
                    contending.gap = Some(Gap { from: BootTime::now(), to: None, away: None });
                }
                vec![Notice::Disconnected]
            }
            SessionChange::StillAway(away) => {
                if let Some(gap) = self.contending.as_mut().and_then(|contending| contending.gap.as_mut()) {
                    gap.away = Some(away);
                }
                vec![]
            }
            SessionChange::Reconnected => self.reconnected(),
            SessionChange::Lost(why) => vec![Notice::Lost(why)],
            SessionChange::Closed => vec![Notice::Closed],
        }
    }

    fn reconnected(&mut self) -> Vec<Notice> {
        let mut notices = vec![Notice::Reconnected];
        if let Some(contending) = &mut self.contending {
            contending.renewal.set_connected(true);
            contending.gap.iter_mut().for_each(|gap| gap.to = Some(BootTime::now()));
            let step = contending.set.reconnected();
            notices.extend(self.carry_out(step));
        }
        notices
    }

    fn replied(&mut self, lock: usize, reply: Reply) -> Vec<Notice> {
        let Some(contending) = &mut self.contending else {
            return vec![];
        };
        if lock == ASIDE {
            return vec![Notice::Aside(reply)];
        }
        let now = BootTime::now();
        if reply.failure().is_none() {
            contending.heard = now;
        }
        contending.asked = contending.asked.filter(|_| !matches!(reply, Reply::Confirmed(..)));
        match reply {
            Reply::Confirmed(sent, Ok(())) => {
                contending.pace.answered(now.since(sent), now, contending.renewal.lease.timeout());
                contending.renewal.answered(sent, now);
                return vec![Notice::Confirmed];
            }
            Reply::Confirmed(_, Err(Failure::NoNode)) => {
                self.node_gone = true;
                return vec![Notice::NodeGone];
            }
            Reply::Confirmed(_, Err(Failure::ConnectionLost)) => contending.renewal.unanswered(now),
            Reply::Confirmed(_, Err(failure)) => {
                log::debug!("a confirmation failed: {failure}");
                contending.renewal.refused(now);
            }
            reply => {
                let created = matches!(reply, Reply::Created(Ok(_)));
                if created && !contending.create_answered {
                    let timeout = contending.renewal.lease.timeout();
                    contending.pace.answered(now.since(contending.create_sent), now, timeout);
                }
                contending.create_answered |= created;
                let step = contending.set.take(lock, reply);
                if contending.set.nodes().next().is_some() {
                    let sent = contending.create_answered.then_some(contending.create_sent);
                    contending.renewal.begin(sent, now);
                }
                if contending.set.all_held() {
                    contending.renewal.becomes_first();
                    contending.pace.becomes_first(now);
                }
                return self.carry_out(step);
            }
        }
        vec![]
    }

    fn carry_out(&mut self, step: SetStep) -> Vec<Notice> {
        let Some(contending) = &mut self.contending else {
            return vec![];
        };
        for (lock, request) in step.requests {
            if let Request::Create { parent, prefix, .. } = &request {
                self.worker.enters(&format!("{parent}/{prefix}"));
                if contending.set.nodes().next().is_none() {
                    contending.create_sent = BootTime::now();
                }
            }
            self.session.ask(lock, request);
        }
        let gone = News::Failed(Trouble::Deleted);
        self.node_gone |= step.news.iter().any(|(_, news)| *news == gone);
        let queued = step.news.iter().any(|(_, news)| matches!(news, News::Queued(_)));
        let path = |lock| contending.set.path(lock).cloned();
        let news = step.news.into_iter();
        let notices = news.filter_map(|(lock, news)| Some(Notice::Lock(path(lock)?, news))).collect();
        if queued {
            self.tell_nodes();
        }
        notices
    }

    /// The monitor has to know whom to delete if we can't.
    fn tell_nodes(&self) {
        if let Some(contending) = &self.contending {
            let timeout = contending.renewal.lease.timeout().as_millis();
            self.worker.own(u64::try_from(timeout).unwrap_or(u64::MAX), self.owned_nodes());
        }
    }

    /// Our nodes.
    pub fn owned_nodes(&self) -> Vec<OwnedNode> {
        let owned = |node: &OwnNode| OwnedNode { path: node.path.clone(), czxid: node.fencing_token };
        self.set().into_iter().flat_map(Set::nodes).map(|(_, node)| owned(node)).collect()
    }

    /// The other half of zklock, as this one knows it.
    pub fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }

    /// Shows others that zklock was stopped, or goes on.
    pub fn mark_stopped(&mut self, stopped: bool) {
        if let Some(contending) = &mut self.contending {
            let step = contending.set.mark_stopped(stopped);
            self.carry_out(step);
        }
    }

    /// Asks something that moves no contender along. The answer is [`Notice::Aside`].
    pub fn ask_aside(&self, request: Request) {
        self.session.ask(ASIDE, request);
    }

    /// Sends the confirmation that is due, if one is.
    pub fn confirm_if_due(&mut self, now: BootTime) {
        let Some(contending) = &mut self.contending else {
            return;
        };
        if contending.renewal.due().is_some_and(|due| due <= now) {
            let nodes = contending.set.nodes().map(|(_, node)| node.path.clone()).collect();
            contending.renewal.sent();
            contending.asked = Some(now);
            self.session.ask(0, Request::Confirm(nodes));
        }
    }

    /// The next confirmation needn't wait for its time: its answer tells what became of our nodes.
    pub fn confirm_soon(&mut self, now: BootTime) {
        if let Some(contending) = &mut self.contending {
            contending.renewal.hurry(now);
        }
    }

    /// When [`confirm_if_due`](Self::confirm_if_due) has something to do next.
    pub fn next_due(&self) -> Option<BootTime> {
        self.contending.as_ref()?.renewal.due()
    }

    /// The lease, once there is a session.
    pub fn lease(&mut self) -> Option<&mut Lease> {
        self.contending.as_mut().map(|contending| &mut contending.renewal.lease)
    }

    /// When a server answered last, once there is a session.
    pub fn heard(&self) -> Option<BootTime> {
        self.contending.as_ref().map(|contending| contending.heard)
    }

    /// Why nothing was confirmed lately, as far as that can be known.
    pub fn silence(&self, now: BootTime) -> Option<Silence> {
        let Contending { gap, asked, pace, renewal, .. } = self.contending.as_ref()?;
        let unanswered = asked.map(|asked| now.since(asked));
        Some(match (*gap, unanswered) {
            (Some(Gap { from, to: None, away }), _) => Silence::Line(now.since(from), away),
            (_, Some(span)) if span >= renewal.lease.step() => Silence::Server(span),
            (Some(Gap { from, to: Some(to), .. }), _) if now.since(to) < renewal.lease.timeout() => {
                Silence::LineWasAway(to.since(from))
            }
            _ => Silence::SlowLine(pace.slowest()?),
        })
    }

    /// For how long nothing needs to be looked at, once in a while: an eighth of the session's timeout, which no lease
    /// depends on. A moment where there is no session.
    pub fn time_to_spare(&mut self) -> Duration {
        self.lease().map_or(Duration::from_millis(100), |lease| lease.timeout() / 8)
    }

    /// Whether the command may start, as far as the lease and the line are concerned.
    pub fn start(&self, kill_after: Duration, now: BootTime) -> Start {
        let Some(Contending { renewal, pace, .. }) = &self.contending else { return Start::NotYet };
        if planted(Mistake::DoomedStart) {
            return Start::Now;
        }
        if !renewal.is_connected() {
            return Start::NotYet;
        }
        pace.start(&renewal.lease, renewal.due(), kill_after, now)
    }

    /// The locks, once there is a session.
    pub fn set(&self) -> Option<&Set> {
        self.contending.as_ref().map(|contending| &contending.set)
    }

    /// How we connect, and who we are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The id of the session, once there is one.
    pub fn session_id(&self) -> Option<i64> {
        self.contending.as_ref().map(|contending| contending.session)
    }

    /// While nothing runs: a lease that ran out in a long silence may be earned anew.
    pub fn revive_lease(&mut self, now: BootTime) {
        if let Some(contending) = &mut self.contending {
            contending.renewal.revive(now);
        }
    }

    /// Whether the session is over, so that nothing can be asked any more.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Whether no node of ours is left: the session is over, and a server has said so.
    pub fn is_gone(&self) -> bool {
        self.end == Some(End::Known)
    }

    /// Asks for every node of ours to be deleted, in the reverse of the order they were taken in, and for the
    /// session to be closed. [`Notice::Closed`] says that it is done. If somebody has deleted one, the end of the
    /// session is left to delete the others: a delete by name might meet a node that isn't ours.
    pub fn release(&self) {
        let ours = self.set().filter(|_| !self.node_gone);
        let nodes = ours.map(|set| set.nodes().rev().map(|(_, node)| node.path.clone()).collect());
        self.session.release(nodes.unwrap_or_default());
    }
}
