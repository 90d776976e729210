//! What happens to the session and to the place in the queue.

use super::Queueing;
use crate::exit::Exit;
use crate::message::Message;
use crate::path::LockPath;
use crate::protocol::{Asker, Reply, RequestError};
use crate::queue::contender::ContentionError;
use crate::queue::event::Event;
use crate::queue::record::{describe, held_since};
use crate::run::claim::Session;
use crate::run::progress::Place;
use crate::run::{Context, Next, Plan};
use crate::text::time;

impl Queueing {
    pub(super) fn on_events(&mut self, events: Vec<Event>, ctx: &mut Context<'_>) -> Option<Next> {
        events.into_iter().find_map(|event| self.on_event(event, ctx))
    }

    fn on_event(&mut self, event: Event, ctx: &mut Context<'_>) -> Option<Next> {
        match event {
            Event::Lost(failure) if is_hopeless(&failure) => {
                return Some(Next::fail(hopeless(failure, ctx.plan)));
            }
            Event::Lost(_) | Event::Closed | Event::Unreachable(_) if self.leaving => {
                (self.leaving, self.connected) = (false, false);
                if !ctx.state.suspended {
                    self.queue_again(ctx);
                }
            }
            // zklock is leaving the queue and has deleted its node itself.
            _ if self.leaving => {}
            Event::Connected => self.connected = true,
            Event::Unreachable(servers) => {
                return Some(Next::fail(ctx.plan.unreachable(servers, ctx.now)));
            }
            // Only the place in the queue is lost.
            Event::Lost(failure) => {
                let text =
                    format!("the session was lost while waiting ({failure}); queueing again at the end");
                ctx.say_of_current(Message::warning("requeued", text).with("reason", "session"));
                self.queue_again(ctx);
            }
            Event::NodeGone => return Some(self.deleted()),
            // The session is alive, so another client deleted the node. Its name now belongs to another node.
            Event::Confirmed if self.node_gone.is_some() => return Some(self.deleted()),
            // Without READ on its node zklock could confirm nothing, and every contender behind would wait.
            Event::Unconfirmed(RequestError::NoAuth) => {
                return Some(Next::fail(ContentionError::OwnNodeHidden.into()));
            }
            Event::Unconfirmed(failure) => ctx.say_unconfirmed(&failure),
            Event::Disconnected => ctx.say(Message::step("disconnected", "connection lost")),
            Event::Reconnected => ctx.say(Message::step("reconnected", "connected again")),
            Event::Closed => {
                let text = "the session was closed while zklock was waiting; run it again";
                return Some(Next::fail(Message::error("session", text)));
            }
            Event::Queued(path, node) => {
                ctx.say_about(path, Message::step("queued", format!("queued as {}", node.path)));
            }
            Event::Waiting { path, predecessor, data, since, ahead } => {
                let (predecessor, held_since) = (who(&predecessor, &data, ctx), held_since(&data, since));
                ctx.state.progress.place = Some(Place { path, position: ahead + 1, predecessor, held_since });
            }
            Event::Held(path) => return self.holds(&path, ctx),
            Event::Busy { path, holder, data, since } => {
                let (holder, held_since) = (who(&holder, &data, ctx), held_since(&data, since));
                ctx.say_about(path, Message::busy(&holder, held_since, ctx.plan.host_time(ctx.now)));
                return Some(Next::leave(Exit::Code(ctx.plan.conflict_exit_code)));
            }
            Event::Revoked(path, by) => {
                let by = by.as_deref().unwrap_or("another client");
                let text = format!("its place in the queue was revoked by {by}");
                return Some(Next::fail_at(Some(path), Message::error("revoked", text)));
            }
            // The watch also fires when the session ends, and may be handled first after a freeze. The answer to a
            // confirmation shows which it was: no node, or no session.
            Event::Failed(path, ContentionError::Deleted) => {
                self.node_gone = Some(path);
                ctx.state.claim.confirm_soon(ctx.now);
            }
            Event::Failed(path, error) => {
                let error = error.below(&ctx.plan.chroot);
                return Some(Next::fail_at(Some(path), error.into()));
            }
            Event::Aside(Asker::Once, reply) => return self.once_answered(reply, ctx),
            Event::Confirmed | Event::Aside(..) => {}
        }
        None
    }

    /// Another client deleted zklock's node.
    fn deleted(&self) -> Next {
        Next::fail_at(self.node_gone.clone(), ContentionError::Deleted.into())
    }

    fn once_answered(&mut self, reply: Reply, ctx: &mut Context<'_>) -> Option<Next> {
        match self.once.as_mut()?.take(reply) {
            Ok(requests) => {
                ctx.request(Asker::Once, requests);
                None
            }
            Err(error) => Some(Next::fail(error.into())),
        }
    }

    /// zklock holds this lock.
    fn holds(&mut self, path: &LockPath, ctx: &mut Context<'_>) -> Option<Next> {
        let events = ctx.state.claim.contend_for_next(ctx.now, ctx.out);
        ctx.state.progress.place = None;
        // The last lock is acquired once the command may start under it.
        if !ctx.state.claim.session().is_some_and(Session::all_held) {
            say_acquired(path, ctx);
        }
        self.on_events(events, ctx)
    }
}

/// Says that this lock is acquired.
pub(super) fn say_acquired(path: &LockPath, ctx: &mut Context<'_>) {
    let session = ctx.state.claim.session();
    let node = session.and_then(|session| session.nodes().find(|(lock, _)| *lock == path));
    if let Some(token) = node.map(|(_, node)| node.czxid) {
        let after = ctx.now.since(ctx.plan.began);
        let text = format!("acquired after {}, fencing token {token}", time(after));
        ctx.say_about(path.clone(), Message::step("acquired", text).with_span("waited", after));
    }
}

/// A description of a contender for messages.
fn who(node: &str, data: &[u8], ctx: &Context<'_>) -> String {
    describe(node, data, ctx.state.record.as_ref())
}

/// Whether a session's end has a cause in the client, so that it would happen again.
fn is_hopeless(failure: &RequestError) -> bool {
    matches!(failure, RequestError::AuthFailed | RequestError::Other(_))
}

/// The message for a session failure that a new session can't fix.
fn hopeless(failure: RequestError, plan: &Plan) -> Message {
    match failure {
        RequestError::AuthFailed => Message::credentials_refused(&plan.hosts, plan.has_credentials),
        failure => Message::error("session", failure.to_string()),
    }
}
