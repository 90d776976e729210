//! Acquiring the locks: connect, queue and wait, until zklock holds them or must give up.

use std::time::Duration;

use super::lineage::Lineage;
use super::progress::Progress;
use super::releasing::{FinalExit, ReleaseKind};
use super::stopped::{GoOn, Stop, is_hopeless};
use super::{Effect, Input, Introduction, LineUpdate, Next, Plan, Scene, Seen};
use crate::core::claim::{Claim, Notice};
use crate::core::exit::Exit;
use crate::core::lock::contender::{ContentionError, Entry, News};
use crate::core::lock::name::Mode;
use crate::core::lock::once::{Once, OnceDecision};
use crate::core::lock::pace::Start;
use crate::core::lock::record::{Record, describe, held_since};
use crate::core::lock::set::Set;
use crate::core::message::Message;
use crate::core::path::LockPath;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::{Asker, Failure, Reply, Request, ServerTime, SessionChange, SessionKey};
use crate::core::signal::{SIGCONT, SIGKILL, SIGTSTP, ends_waiting};
use crate::core::time::BootTime;
use crate::core::words::printable;

/// How long the client may take after its deadline to report why there is no session.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The wait.
#[derive(Debug)]
pub(super) struct Queueing {
    /// With `--once-per`: whether the command is to run at all.
    once: Option<Once>,
    connected: bool,
    /// When the client is to give up connecting.
    connect_by: Option<BootTime>,
    /// A description of the predecessor.
    waiting_for: Option<String>,
    /// Of which node that was said, on which lock, and how many were ahead.
    said: Option<(LockPath, String, usize)>,
    turn: Turn,
    /// zklock's node on this lock is gone; a confirmation will show whether the session ended or another client deleted the node.
    node_gone: Option<LockPath>,
    stop: Stop,
    lineage: Lineage,
    /// Reported once it is known which zklocks started this one.
    busy: Option<SeenBusy>,
    progress: Progress,
}

/// A lock that is busy, with `-n`.
#[derive(Debug)]
struct SeenBusy {
    path: LockPath,
    /// The holder's node.
    holder: String,
    data: Vec<u8>,
}

/// Progress from the moment every lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Not all locks are held, or nothing has been reported yet.
    Unsaid,
    /// There is no fresh lease yet, and a message has said so.
    AwaitsLease,
    /// Waiting for messages to be written.
    AwaitsWords,
    /// That wait is over.
    AwaitedWords,
}

impl Queueing {
    pub(super) fn begin(scene: &mut Scene<'_>) -> Self {
        let plan = scene.plan;
        let connect_by = Some(plan.connect_by());
        let connect = scene.state.claim.connect(connect_by);
        scene.does(connect);
        scene.does(Effect::Introduce);
        Self {
            once: plan.once_per.map(|period| Once::new(&plan.first, period)),
            connected: false,
            connect_by,
            waiting_for: None,
            said: None,
            turn: Turn::Unsaid,
            node_gone: None,
            stop: Stop::Not,
            lineage: Lineage::default(),
            busy: None,
            progress: Progress::new(plan.progress),
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(super) fn on(&mut self, input: Input, scene: &mut Scene<'_>) -> Option<Next> {
        match input {
            Input::Tick => self.look(scene),
            Input::Introduced(introduction) => introduce(introduction, scene),
            Input::Ancestors(ancestors) => {
                let next = self.lineage.found(ancestors, scene);
                next.or_else(|| self.leave_busy(scene))
            }
            Input::Signal(_) if planted(Mistake::SignalIgnored) => None,
            Input::Signal(signal) if ends_waiting(signal) => Some(Next::leave(Exit::Signal(signal))),
            // The caller has already seen zklock die.
            Input::MonitorDied => Some(Next::leave(Exit::Signal(SIGKILL))),
            Input::Signal(SIGTSTP) => {
                self.stop.suspend(scene);
                None
            }
            Input::Signal(SIGCONT) | Input::NotStopped => {
                let go_on = self.stop.go_on(scene);
                self.queue_anew(go_on, scene)
            }
            Input::Signal(signal) => {
                scene.says(Message::SignalIgnored(signal));
                None
            }
            Input::WordsWritten => {
                if self.turn == Turn::AwaitsWords {
                    self.turn = Turn::AwaitedWords;
                }
                None
            }
            Input::Session(key, change) => self.session_changed(key, change, scene),
            Input::Reply(key, asker, reply) => {
                let notices = scene.state.claim.replied(key, asker, reply, scene.now, scene.out);
                self.notices(notices, scene)
            }
            _ => None,
        }
    }

    /// When there is something to do if nothing happens before.
    pub(super) fn wake_at(&self, plan: &Plan, claim: &Claim) -> Option<BootTime> {
        [self.give_up_at(plan), claim.next_due(), self.progress.wake_at()].into_iter().flatten().min()
    }

    /// Handles the passing of time, and everything that waits until no other event is pending.
    fn look(&mut self, scene: &mut Scene<'_>) -> Option<Next> {
        let now = scene.now;
        scene.state.claim.revive_lease(now);
        scene.state.claim.confirm_if_due(now, scene.out);
        self.stop.give_place_up_if_its_turn_came(scene);
        self.progress.look(self.stop != Stop::Not, scene);
        match self.is_ours(scene) {
            Ok(true) => {
                if let Some(next) = self.is_due(scene) {
                    scene.does(Effect::Line(LineUpdate::End));
                    if matches!(next, Next::Start) && self.turn != Turn::AwaitedWords {
                        // Messages should be on the screen, and the waiting line gone, before the command writes. The
                        // lease must be checked again afterwards.
                        self.turn = Turn::AwaitsWords;
                        scene.does(Effect::AwaitWords(scene.state.claim.time_to_spare()));
                        return None;
                    }
                    return Some(next);
                }
            }
            Ok(false) => {}
            Err(why) => return Some(Next::fail(why)),
        }
        self.give_up_at(scene.plan).is_some_and(|at| at <= now).then(|| self.out_of_time(scene))
    }

    /// Whether all locks are held, over a connection that is fast enough, and under a lease that lasts until the next
    /// answer. A waiter confirms while it waits, so its lease is normally fresh; otherwise the confirmations in flight
    /// renew it.
    fn is_ours(&mut self, scene: &mut Scene<'_>) -> Result<bool, Message> {
        let claim = &scene.state.claim;
        if self.node_gone.is_some()
            || self.stop != Stop::Not && !planted(Mistake::StoppedTakesLock)
            || !claim.set().is_some_and(Set::all_held)
        {
            return Ok(false);
        }
        // Another client's write to zklock's node may revoke the lock; the node is being read.
        if claim.set().is_some_and(Set::any_unread) {
            return Ok(false);
        }
        match claim.start(scene.plan.kill_after, scene.now) {
            Start::Now => return Ok(true),
            Start::NotYet => {}
            Start::AskAgain => scene.state.claim.confirm_soon(scene.now),
            Start::Never { trip, timeout } => {
                let (hosts, kill_after) = (scene.plan.hosts.clone(), scene.plan.kill_after);
                return Err(Message::LineTooSlow { hosts, trip, timeout, kill_after });
            }
        }
        if self.turn == Turn::Unsaid {
            scene.says(Message::AwaitsLease);
            self.turn = Turn::AwaitsLease;
        }
        Ok(false)
    }

    /// Whether the command is to run now that the locks are held. `None`: the answer is pending.
    fn is_due(&mut self, scene: &mut Scene<'_>) -> Option<Next> {
        let Some(once) = &mut self.once else { return Some(Next::Start) };
        let (node, data) = scene.state.claim.set()?.first()?;
        if !once.has_begun() {
            let asked = once.begin(node, &data);
            scene.asks(Asker::Once, asked);
        }
        match once.verdict()? {
            OnceDecision::Due => Some(Next::Start),
            OnceDecision::Recent { ago, by } => {
                let host = by.map(|last| printable(&last.by.host));
                scene.says(Message::Skipped { ago, host, period: once.period() });
                let exit = Exit::Code(scene.plan.conflict_exit_code);
                Some(Next::Release(ReleaseKind::Locks, FinalExit { exit, about: None, last_word: None }))
            }
        }
    }

    /// The client has its own deadline for connecting, at which it reports what is wrong. zklock waits only a moment
    /// longer for that report: servers can keep the client too busy to notice the time.
    fn give_up_at(&self, plan: &Plan) -> Option<BootTime> {
        if self.connected {
            return plan.try_until();
        }
        self.connect_by.map(|deadline| deadline + LAST_WORDS)
    }

    fn out_of_time(&self, scene: &mut Scene<'_>) -> Next {
        let (plan, claim, now) = (scene.plan, &scene.state.claim, scene.now);
        let waited = now.since(plan.began);
        let hosts = plan.hosts.clone();
        let Some(set) = claim.set().filter(|_| self.connected) else {
            return Next::fail(Message::KeptBusy { hosts, waited });
        };
        if self.stop.has_left() {
            let (seen_busy, message) =
                (set.seen_busy(), |seen_busy| Message::GaveUpStopped { waited, seen_busy });
            return if seen_busy { self.busy(message(true), scene) } else { Next::fail(message(false)) };
        }
        if set.all_held() {
            return Next::fail(Message::NotConfirmed { waited });
        }
        if !set.seen_busy() {
            return Next::fail(Message::NoAnswer { hosts, waited });
        }
        let ahead = self.waiting_for.clone().unwrap_or_else(|| "another contender".to_owned());
        // A waiter confirms all the time, and an answer also shows that the queue ahead hasn't changed.
        let silence = claim.heard().map(|heard| now.since(heard)).unwrap_or_default();
        if claim.lease().is_some_and(|lease| silence > lease.timeout() / 2) {
            return Next::fail_at(scene.current_lock(), Message::LastSeenBusy { waited, silence, ahead });
        }
        self.busy(Message::GaveUp { waited, ahead }, scene)
    }

    /// Another contender holds the lock.
    #[allow(clippy::unused_self, reason = "reads as a sentence where it is called")]
    fn busy(&self, message: Message, scene: &mut Scene<'_>) -> Next {
        let path = scene.current_lock().unwrap_or_else(|| scene.plan.first.clone());
        scene.says_of(path, message);
        Next::leave(Exit::Code(scene.plan.conflict_exit_code))
    }

    fn session_changed(
        &mut self,
        key: SessionKey,
        change: SessionChange,
        scene: &mut Scene<'_>,
    ) -> Option<Next> {
        let notices = scene.state.claim.session_changed(key, change, scene.now, scene.out);
        self.notices(notices, scene)
    }

    fn notices(&mut self, notices: Vec<Notice>, scene: &mut Scene<'_>) -> Option<Next> {
        notices.into_iter().find_map(|notice| self.notice(notice, scene))
    }

    fn notice(&mut self, notice: Notice, scene: &mut Scene<'_>) -> Option<Next> {
        match notice {
            Notice::Connected => self.connected = true,
            Notice::Unreachable(servers) => return Some(Next::fail(scene.plan.unreachable(servers))),
            Notice::Lost(failure) if is_hopeless(&failure) => {
                return Some(Next::fail(hopeless(failure, scene.plan)));
            }
            Notice::Lost(_) | Notice::Closed if self.stop.is_leaving() => {
                let go_on = self.stop.left(scene);
                return self.queue_anew(go_on, scene);
            }
            // zklock is leaving the queue and has deleted its node itself.
            _ if self.stop.is_leaving() => {}
            // Only the place in the queue is lost.
            Notice::Lost(failure) => {
                if let Some(path) = scene.current_lock() {
                    scene.says_of(path, Message::QueueingAgain(failure));
                }
                return self.queue_anew(GoOn::QueueAnew, scene);
            }
            Notice::NodeGone => return Some(self.deleted()),
            // The session is alive, so another client deleted the node. Its name now belongs to another node.
            Notice::Confirmed if self.node_gone.is_some() => return Some(self.deleted()),
            // It would never be confirmed, and all behind it would wait.
            Notice::Unconfirmed(Failure::NoAuth) => {
                return Some(Next::fail(Message::Contender(ContentionError::OwnNodeHidden)));
            }
            Notice::Unconfirmed(failure) => scene.says(Message::ConfirmationFailed(failure)),
            Notice::Disconnected => scene.says(Message::ConnectionLostWaiting),
            Notice::Reconnected => {
                self.said = None;
                scene.says(Message::ConnectedAgainWaiting);
            }
            Notice::Closed => return Some(Next::fail(Message::SessionClosed)),
            Notice::Lock(path, news) => return self.news(path, news, scene),
            Notice::Aside(Asker::WaitingLine, Reply::Read(node, Ok(read))) => {
                if let Some(why) = self.lineage.waits_for_itself(&read.data, scene) {
                    return Some(Next::fail_at(scene.current_lock(), why));
                }
                let seen = seen(who(node.name(), &read.data, scene), &read.data, read.created);
                self.progress.holder(&node, Some(&seen), scene);
                scene.does(Effect::Line(LineUpdate::Holder { node, seen }));
            }
            Notice::Aside(Asker::WaitingLine, Reply::Listed(Ok(children))) => {
                self.lineage.listed(&children, scene);
            }
            Notice::Aside(Asker::WaitingLine, Reply::Read(node, Err(_))) => {
                self.progress.holder(&node, None, scene);
            }
            Notice::Aside(Asker::Once, reply) => return self.once_answered(reply, scene),
            Notice::Confirmed | Notice::Aside(..) => {}
        }
        None
    }

    /// Another client deleted zklock's node.
    fn deleted(&self) -> Next {
        Next::fail_at(self.node_gone.clone(), Message::Contender(ContentionError::Deleted))
    }

    fn once_answered(&mut self, reply: Reply, scene: &mut Scene<'_>) -> Option<Next> {
        match self.once.as_mut()?.take(reply) {
            Ok(requests) => {
                scene.asks(Asker::Once, requests);
                None
            }
            Err(error) => Some(Next::fail(Message::Contender(error))),
        }
    }

    fn news(&mut self, path: LockPath, news: News, scene: &mut Scene<'_>) -> Option<Next> {
        match news {
            News::Queued(node) => {
                scene.says_of(path, Message::Queued { node: node.path.to_string() });
                scene.does(Effect::Line(LineUpdate::Queued(node.created)));
                self.progress.queued(node.created, scene.now);
                if self.stop != Stop::Not {
                    scene.state.claim.mark_stopped(true, scene.now, scene.out);
                }
            }
            News::Waiting { predecessor, data, since, ahead, holder } => {
                let who = who(&predecessor, &data, scene);
                // New data in its node leaves everything as it was said.
                let said = Some((path.clone(), predecessor.clone(), ahead));
                if self.said != said {
                    scene.says_of(path.clone(), Message::WaitingFor { who: who.clone(), ahead });
                    self.said = said;
                }
                let holder = (holder != predecessor).then(|| path.child(&holder));
                if let Some(node) = holder.clone().filter(|_| scene.plan.shows_line) {
                    scene.does(Effect::Ask(Asker::WaitingLine, Request::Get(node)));
                }
                let nearest = seen(who.clone(), &data, since);
                self.progress.waiting(path.clone(), nearest.clone(), ahead, holder.clone(), scene.now);
                scene.does(Effect::Line(LineUpdate::Waiting {
                    path,
                    nearest,
                    ahead,
                    holder: holder.clone(),
                }));
                self.waiting_for = Some(who);
                return self.lineage.ahead(data, holder, scene);
            }
            // The lock isn't used: see `Stop::give_place_up_if_its_turn_came`.
            News::Held if self.stop != Stop::Not => {}
            News::Held => {
                self.progress.end();
                scene.does(Effect::Line(LineUpdate::End));
                let node =
                    scene.state.claim.set().and_then(|set| set.nodes().find(|(lock, _)| **lock == path));
                if let Some(token) = node.map(|(_, node)| node.fencing_token) {
                    let after = scene.now.since(scene.plan.began);
                    scene.says_of(path, Message::Acquired { after, token });
                }
            }
            News::Busy { holder, data } => {
                self.busy = Some(SeenBusy { path, holder, data });
                if matches!(scene.plan.mode, Mode::Slots(2..)) {
                    return self.leave_busy(scene);
                }
                scene.does(Effect::FindAncestors);
            }
            // Only a command that runs is told of it.
            News::Neighbour(_) => {}
            News::Revoked(by) => return Some(Next::fail_at(Some(path), Message::PlaceRevoked(by))),
            // The watch also fires when the session ends, and may be handled first after a freeze. The answer to a
            // confirmation shows which it was: no node, or no session.
            News::Failed(ContentionError::Deleted) => {
                self.node_gone = Some(path);
                scene.state.claim.confirm_soon(scene.now);
            }
            News::Failed(ContentionError::Permission { .. }) if planted(Mistake::DeniedIsBusy) => {
                return Some(Next::leave(Exit::Code(scene.plan.conflict_exit_code)));
            }
            News::Failed(error) => return Some(Next::fail_at(Some(path), Message::Contender(error))),
        }
        None
    }

    /// zklock doesn't wait. A holder that waits for its end is a mistake, and not a lock that is free later.
    fn leave_busy(&mut self, scene: &mut Scene<'_>) -> Option<Next> {
        let SeenBusy { path, holder, data } = self.busy.take()?;
        if let Some(why) = self.lineage.waits_for_itself(&data, scene) {
            return Some(Next::fail_at(Some(path), why));
        }
        let holder = who(&holder, &data, scene);
        scene.says_of(path, Message::Busy { holder });
        Some(Next::leave(Exit::Code(scene.plan.conflict_exit_code)))
    }

    fn queue_anew(&mut self, go_on: GoOn, scene: &mut Scene<'_>) -> Option<Next> {
        if go_on == GoOn::QueueAnew {
            (self.connected, self.connect_by) = (false, scene.plan.try_until());
            self.turn = Turn::Unsaid;
            self.node_gone = None;
            self.said = None;
            self.progress.end();
            self.once.iter_mut().for_each(Once::begin_again);
            scene.does(Effect::Line(LineUpdate::End));
            let connect = scene.state.claim.connect(self.connect_by);
            scene.does(connect);
        }
        None
    }
}

/// A description of a contender for messages.
fn who(node: &str, data: &[u8], scene: &Scene<'_>) -> String {
    describe(node, data, scene.state.record.as_ref())
}

/// What is shown of a contender.
fn seen(who: String, data: &[u8], since: ServerTime) -> Seen {
    Seen { who, since, held_since: held_since(data, since) }
}

/// The message for a session failure that a new session can't fix.
fn hopeless(failure: Failure, plan: &Plan) -> Message {
    match failure {
        Failure::AuthFailed => {
            Message::CredentialsRefused { hosts: plan.hosts.clone(), given: plan.has_credentials }
        }
        failure => Message::SessionFailed(failure),
    }
}

fn introduce(introduction: Introduction, scene: &mut Scene<'_>) -> Option<Next> {
    let Introduction { record, ids } = introduction;
    let plan = scene.plan;
    let with_slot = Record { has_slot: true, ..record.clone() };
    let entry = |(path, ids): (&LockPath, _)| Entry {
        path: path.clone(),
        family: plan.family,
        mode: plan.mode,
        data: record.to_bytes(),
        data_with_slot: with_slot.to_bytes(),
        nonblock: plan.nonblock,
        ids,
    };
    let entries = plan.not_held_in(&scene.state.held_around).zip(ids).map(entry).collect();
    scene.state.claim.introduce(entries);
    scene.state.record = Some(record);
    None
}
