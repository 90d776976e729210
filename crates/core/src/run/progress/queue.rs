//! What is shown of a wait for other contenders, and which reads it costs.
//!
//! If the holder isn't the predecessor, zklock doesn't watch it. Its node is read once for the line, and shortly before
//! a message that names it: a read for each message of `--progress`, and one at the end of `-w`. A message never waits for
//! the answer.

use std::time::Duration;

use super::super::{Context, Effect, Seen, WaitingLine};
use crate::message::Message;
use crate::path::{LockPath, NodePath};
use crate::protocol::{Asker, Request, RequestError, ServerTime};
use crate::queue::order::{Decision, decide, queue_entries};
use crate::server_wait::{ServerWait, said};
use crate::text::whole;
use crate::time::BootTime;

/// The line says how old its information about the holder is once that is older than this: no watch reports a change.
const FRESH: Duration = Duration::from_secs(5);

/// How long before a message the holder is read: on a busy host or a slow connection an answer takes a while, and another
/// listing may follow.
const READ_AHEAD: Duration = Duration::from_secs(1);

/// The contenders ahead on one lock.
#[derive(Debug)]
pub(super) struct QueueProgress {
    path: LockPath,
    nearest: (NodePath, Seen),
    ahead: usize,
    /// The holder's node, if the holder isn't the nearest contender.
    holder: Option<NodePath>,
    /// What was read from it, and when.
    seen: Option<(Seen, BootTime)>,
    /// The next message that names the holder, and whether the holder was read for it.
    next: Option<(BootTime, bool)>,
    listing: Listing,
}

/// Whether the lock's children are listed to find the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    /// They may be, if the node that was the holder's is gone.
    Possible,
    Asked,
    /// Not again for this message: in a queue of short commands, each holder may be gone before it is read.
    Done,
}

impl QueueProgress {
    pub(super) fn new(path: LockPath, nearest: (NodePath, Seen), ahead: usize, holder: NodePath) -> Self {
        let holder = Some(holder).filter(|holder| *holder != nearest.0);
        Self { path, nearest, ahead, holder, seen: None, next: None, listing: Listing::Possible }
    }

    pub(super) fn is_of(&self, lock: &LockPath) -> bool {
        self.path == *lock
    }

    /// Reads the holder's node if the holder isn't the nearest contender.
    pub(super) fn read_holder(&self, ctx: &mut Context<'_>) {
        if let Some(node) = self.holder.clone() {
            ctx.emit(Effect::Ask(Asker::WaitingLine, Request::Get(node)));
        }
    }

    /// When to read the holder next.
    pub(super) fn reads_at(&self) -> Option<BootTime> {
        let (at, _) = self.next.filter(|&(_, was_read)| !was_read && self.holder.is_some())?;
        Some(at.before(READ_AHEAD))
    }

    /// Reads the holder if one of these messages comes soon.
    pub(super) fn read_ahead(&mut self, messages: [Option<BootTime>; 3], ctx: &mut Context<'_>) {
        let next = messages.into_iter().flatten().min();
        if self.next.map(|(at, _)| at) != next {
            self.next = next.map(|at| (at, false));
        }
        if self.reads_at().is_some_and(|at| at <= ctx.now) {
            self.next = next.map(|at| (at, true));
            self.listing = Listing::Possible;
            self.read_holder(ctx);
        }
    }

    /// This node was read. Returns whether something new is known of the holder.
    pub(super) fn holder(
        &mut self,
        node: &NodePath,
        result: Result<Seen, RequestError>,
        ctx: &mut Context<'_>,
    ) -> bool {
        if self.holder.as_ref() != Some(node) {
            return false;
        }
        match result {
            Ok(seen) => {
                self.seen = Some((seen, ctx.now));
                return true;
            }
            Err(RequestError::NoNode) if self.listing == Listing::Possible => {
                self.listing = Listing::Asked;
                ctx.emit(Effect::Ask(Asker::WaitingLine, Request::List(self.path.as_str().into())));
            }
            Err(_) => {}
        }
        false
    }

    /// Takes in the lock's children if they were listed to find the holder, and returns whether they were.
    pub(super) fn listed(&mut self, children: Option<&[String]>, ctx: &mut Context<'_>) -> bool {
        if self.listing != Listing::Asked {
            return false;
        }
        self.listing = Listing::Done;
        let Some(children) = children else { return true };
        let session = ctx.state.claim.session();
        let own = session.and_then(|session| session.locks.nodes().find(|(path, _)| **path == self.path));
        if let Some(Decision::Wait { ahead, .. }) = own.map(|(_, own)| decide(children, own.path.name())) {
            self.ahead = ahead;
        }
        if let Some(first) = queue_entries(children).into_iter().find(|entry| entry.holds) {
            let holder = self.path.child(first.name.text);
            (self.holder, self.seen) = (Some(holder).filter(|holder| *holder != self.nearest.0), None);
            self.read_holder(ctx);
        }
        true
    }

    /// The holder, if it is known.
    pub(super) fn known_holder(&self) -> Option<&Seen> {
        match &self.holder {
            None => Some(&self.nearest.1),
            Some(_) => self.seen.as_ref().map(|(seen, _)| seen),
        }
    }

    /// The line, with what was known at a moment, which is `then` on the servers' clock. `wait`: no server answers.
    pub(super) fn line(
        &self,
        seen_at: BootTime,
        then: Option<ServerTime>,
        wait: Option<&ServerWait>,
        ctx: &Context<'_>,
    ) -> WaitingLine {
        let (seen, rest) = match &self.seen {
            Some((seen, at)) => {
                let age = ctx.now.since(*at);
                let old = if age > FRESH { format!(" (seen {} ago)", whole(age)) } else { String::new() };
                (seen, format!("{old}; behind {}", self.nearest.1.who))
            }
            None => (&self.nearest.1, String::new()),
        };
        let shown = seen.at(then);
        let servers = wait.map(|wait| said(&wait.servers)).unwrap_or_default();
        WaitingLine {
            path: self.path.clone(),
            position: self.ahead + 1,
            waited: ctx.now.since(ctx.plan.began),
            left: ctx.plan.give_up_at.map(|at| ctx.now.until(at)),
            silent_for: wait.map(|_| ctx.now.since(seen_at)),
            is_holder: self.known_holder().is_some(),
            details: shown.details() + &rest + &servers,
            who: shown.who,
        }
    }

    /// The same with moments instead of spans of time, which would have to be told again and again.
    pub(super) fn status(&self) -> String {
        let (path, position, nearest) = (&self.path, self.ahead + 1, &self.nearest.1);
        let Some(holder) = self.known_holder() else {
            return format!("{path}: position {position}, behind {}", nearest.who);
        };
        let behind = self.holder.as_ref().map(|_| format!("; behind {}", nearest.who)).unwrap_or_default();
        format!("{path}: position {position}, held by {}{}{behind}", holder.who, holder.since_when())
    }

    /// Says the same as a message.
    pub(super) fn say(
        &self,
        seen_at: BootTime,
        then: Option<ServerTime>,
        is_silent: bool,
        ctx: &mut Context<'_>,
    ) {
        let message = Message::StillWaiting {
            waited: ctx.now.since(ctx.plan.began),
            left: ctx.plan.give_up_at.map(|at| ctx.now.until(at)),
            ahead: self.ahead,
            predecessor: self.nearest.1.who.clone(),
            holder: self.known_holder().map(|seen| Box::new(seen.at(then))),
            silent_for: Some(ctx.now.since(seen_at)).filter(|_| is_silent),
        };
        ctx.say_about(self.path.clone(), message);
    }
}
