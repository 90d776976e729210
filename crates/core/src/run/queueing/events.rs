//! What happens to the session and to the place in the queue.

use super::{Queueing, SeenBusy, StartProgress};
use crate::lease::Lease;
use crate::message::{LeftStopped, Message};
use crate::path::LockPath;
use crate::protocol::{Asker, Reply, RequestError, ServerTime, SessionChange, SessionKey};
use crate::queue::contender::ContentionError;
use crate::queue::event::Event;
use crate::queue::name::Mode;
use crate::queue::once::Once;
use crate::queue::record::{Record, describe};
use crate::run::stopped::{GoOn, Stop, is_hopeless};
use crate::run::{Context, Effect, Next, Plan, Seen};

impl Queueing {
    pub(super) fn session_changed(
        &mut self,
        key: SessionKey,
        change: SessionChange,
        ctx: &mut Context<'_>,
    ) -> Option<Next> {
        let events = ctx.state.claim.session_changed(key, change, ctx.now, ctx.out);
        self.on_events(events, ctx)
    }

    pub(super) fn on_events(&mut self, events: Vec<Event>, ctx: &mut Context<'_>) -> Option<Next> {
        events.into_iter().find_map(|event| self.on_event(event, ctx))
    }

    pub(super) fn on_event(&mut self, event: Event, ctx: &mut Context<'_>) -> Option<Next> {
        match event {
            Event::Connected => {
                self.connected = true;
                let asked = ctx.plan.session_timeout;
                if let Some(granted) = ctx.state.claim.lease().map(Lease::timeout).filter(|&it| it != asked) {
                    ctx.say(Message::TimeoutGranted { asked, granted });
                }
            }
            Event::Unreachable(servers) => {
                return Some(Next::fail(ctx.plan.unreachable(servers, ctx.now)));
            }
            Event::Lost(failure) if is_hopeless(&failure) => {
                return Some(Next::fail(hopeless(failure, ctx.plan)));
            }
            Event::Lost(_) | Event::Closed if self.stop.is_leaving() => {
                let go_on = self.stop.left(ctx);
                return self.queue_again(go_on, ctx);
            }
            // zklock is leaving the queue and has deleted its node itself.
            _ if self.stop.is_leaving() => {}
            // Only the place in the queue is lost.
            Event::Lost(failure) => {
                if let Some(path) = ctx.current_lock() {
                    ctx.say_about(path, Message::QueueingAgain(failure));
                }
                return self.queue_again(GoOn::QueueAnew, ctx);
            }
            Event::NodeGone => return Some(self.deleted()),
            // The session is alive, so another client deleted the node. Its name now belongs to another node.
            Event::Confirmed if self.node_gone.is_some() => return Some(self.deleted()),
            // Without READ on its node zklock could confirm nothing, and every contender behind would wait.
            Event::Unconfirmed(RequestError::NoAuth) => {
                return Some(Next::fail(Message::Contender(ContentionError::OwnNodeHidden)));
            }
            Event::Unconfirmed(failure) => ctx.say(Message::ConfirmationFailed(failure)),
            Event::Disconnected => ctx.say(Message::ConnectionLostWaiting),
            Event::Reconnected => {
                self.said = None;
                // The loss was reported in the same way.
                let is_step = ctx.state.progress.is_reported();
                ctx.say(if is_step { Message::ConnectedAgain } else { Message::ConnectedAgainWaiting });
            }
            Event::Closed => return Some(Next::fail(Message::SessionClosed)),
            Event::Queued(path, node) => {
                ctx.say_about(path, Message::Queued { node: node.path.to_string() });
                ctx.state.progress.queued(node.created, ctx.now);
                if self.stop != Stop::Not {
                    ctx.state.claim.mark_stopped(true, ctx.now, ctx.out);
                }
            }
            Event::Waiting { path, predecessor, data, since, ahead, holder } => {
                return self.waits(path, (predecessor, data, since), ahead, &holder, ctx);
            }
            Event::Held(path) if self.stop != Stop::Not => {
                self.stop.give_place_up(path, LeftStopped::BecameFirst, ctx);
            }
            Event::Held(path) => return self.holds(&path, ctx),
            Event::Busy { path, holder, data } => {
                self.busy = Some(SeenBusy { path, holder, data });
                if matches!(ctx.plan.mode, Mode::Slots(2..)) {
                    return self.leave_busy(ctx);
                }
                ctx.emit(Effect::FindAncestors);
            }
            Event::Revoked(path, by) => return Some(Next::fail_at(Some(path), Message::PlaceRevoked(by))),
            // The watch also fires when the session ends, and may be handled first after a freeze. The answer to a
            // confirmation shows which it was: no node, or no session.
            Event::Failed(path, ContentionError::Deleted) => {
                self.node_gone = Some(path);
                ctx.state.claim.confirm_soon(ctx.now);
            }
            Event::Failed(path, error) => {
                let error = error.below(&ctx.plan.chroot);
                return Some(Next::fail_at(Some(path), Message::Contender(error)));
            }
            Event::Aside(Asker::WaitingLine, Reply::Read(node, Ok(read))) => {
                if let Some(why) = self.lineage.waits_for_itself(read.data(), ctx) {
                    return Some(Next::fail_at(ctx.current_lock(), why));
                }
                let since = read.seen().map_or(ServerTime(0), |read| read.created);
                let seen = seen(who(node.name(), read.data(), ctx), read.data(), since);
                ctx.progress(|progress, ctx| progress.holder(&node, Ok(seen), ctx));
            }
            Event::Aside(Asker::WaitingLine, Reply::Listed(result)) => {
                let children = result.as_deref().ok();
                let is_of_progress = ctx.progress(|progress, ctx| progress.listed(children, ctx));
                if let Some(children) = children.filter(|_| !is_of_progress) {
                    self.lineage.listed(children, ctx);
                }
            }
            Event::Aside(Asker::WaitingLine, Reply::Read(node, Err(failure))) => {
                ctx.progress(|progress, ctx| progress.holder(&node, Err(failure), ctx));
            }
            Event::Aside(Asker::Once, reply) => return self.once_answered(reply, ctx),
            Event::Confirmed | Event::Aside(..) => {}
        }
        None
    }

    /// Another client deleted zklock's node.
    pub(super) fn deleted(&self) -> Next {
        Next::fail_at(self.node_gone.clone(), Message::Contender(ContentionError::Deleted))
    }

    pub(super) fn once_answered(&mut self, reply: Reply, ctx: &mut Context<'_>) -> Option<Next> {
        match self.once.as_mut()?.take(reply) {
            Ok(requests) => {
                ctx.request(Asker::Once, requests);
                None
            }
            Err(error) => Some(Next::fail(Message::Contender(error))),
        }
    }

    /// Another contender is ahead on this lock: `nearest` is the name of its node, what is in it, and since when it is there.
    fn waits(
        &mut self,
        path: LockPath,
        nearest: (String, Vec<u8>, ServerTime),
        ahead: usize,
        holder: &str,
        ctx: &mut Context<'_>,
    ) -> Option<Next> {
        let (predecessor, data, since) = nearest;
        let who = who(&predecessor, &data, ctx);
        let node = path.child(&predecessor);
        // New data in the predecessor's node is nothing new to say.
        let said = Some((path.clone(), predecessor, ahead));
        if self.said != said {
            ctx.say_about(path.clone(), Message::WaitingFor { who: who.clone(), ahead });
            self.said = said;
        }
        let holder = path.child(holder);
        let other_holder = Some(holder.clone()).filter(|holder| *holder != node);
        let nearest = (node, seen(who.clone(), &data, since));
        let at = path.clone();
        ctx.progress(|progress, ctx| progress.waiting(at, nearest, ahead, holder, ctx));
        self.waiting_for = Some((path, who));
        self.lineage.ahead(data, other_holder, ctx)
    }

    /// zklock holds this lock.
    fn holds(&mut self, path: &LockPath, ctx: &mut Context<'_>) -> Option<Next> {
        let events = ctx.state.claim.contend_for_next(ctx.now, ctx.out);
        ctx.progress(|progress, ctx| {
            progress.leaves_queue();
            progress.erase(ctx);
        });
        // The last lock is acquired once the command may start under it.
        if !ctx.state.claim.session().is_some_and(|session| session.locks.all_held()) {
            say_acquired(path, ctx);
        }
        self.on_events(events, ctx)
    }

    pub(super) fn queue_again(&mut self, go_on: GoOn, ctx: &mut Context<'_>) -> Option<Next> {
        if go_on == GoOn::QueueAnew {
            (self.connected, self.connect_by) = (false, ctx.plan.try_until());
            self.connects_since = ctx.now;
            (self.awaits_lease_since, self.acquired) = (None, false);
            self.start = StartProgress::None;
            self.node_gone = None;
            self.said = None;
            ctx.progress(|progress, ctx| {
                progress.leaves_queue();
                progress.erase(ctx);
            });
            self.once.iter_mut().for_each(Once::begin_again);
            let connect = ctx.state.claim.connect(self.connect_by);
            ctx.emit(connect);
        }
        None
    }
}

/// Says that this lock is acquired.
pub(super) fn say_acquired(path: &LockPath, ctx: &mut Context<'_>) {
    let session = ctx.state.claim.session();
    let node = session.and_then(|session| session.locks.nodes().find(|(lock, _)| *lock == path));
    if let Some(token) = node.map(|(_, node)| node.fencing_token) {
        let after = ctx.now.since(ctx.plan.began);
        ctx.say_about(path.clone(), Message::Acquired { after, token });
    }
}

/// A description of a contender for messages.
pub(super) fn who(node: &str, data: &[u8], ctx: &Context<'_>) -> String {
    describe(node, data, ctx.state.record.as_ref())
}

/// What is shown of a contender.
fn seen(who: String, data: &[u8], since: ServerTime) -> Seen {
    Seen { who, since, held_since: Record::from_bytes(data).and_then(|record| record.held_since(since)) }
}

/// The message for a session failure that a new session can't fix.
fn hopeless(failure: RequestError, plan: &Plan) -> Message {
    match failure {
        RequestError::AuthFailed => {
            Message::CredentialsRefused { hosts: plan.hosts.clone(), given: plan.has_credentials }
        }
        failure => Message::SessionFailed(failure),
    }
}
