//! What zklock shows of a long wait: a live line on a terminal, or a message now and then with `--progress`.
//!
//! It costs the servers one read per report, or per wake-up for the line, and only if the holder isn't the predecessor.
//! Times are computed locally, from the moment at which the server created zklock's own node.

use std::time::Duration;

use super::{Context, Effect, Plan, Seen, WaitingLine};
use crate::core::message::Message;
use crate::core::path::{LockPath, NodePath};
use crate::core::protocol::{Asker, Request, ServerTime};
use crate::core::text::whole;
use crate::core::time::BootTime;

const REDRAW: Duration = Duration::from_secs(1);

/// The line says how old its information about the holder is once that is older than this: no watch reports a change.
const FRESH: Duration = Duration::from_secs(5);

/// The state of the wait, and when to show it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When to show it next, while other contenders are ahead.
    at: Option<BootTime>,
    /// This host's clock and the servers' at one moment: when zklock's node was created.
    clocks: Option<(BootTime, ServerTime)>,
    queue: Option<QueueProgress>,
    /// For a message: the holder's node, while it is being read.
    asked: Option<NodePath>,
}

#[derive(Debug)]
struct QueueProgress {
    path: LockPath,
    nearest: Seen,
    ahead: usize,
    /// The holder's node, if the holder isn't the nearest contender.
    holder: Option<NodePath>,
    /// For the line: what was read from it, and when.
    seen: Option<(Seen, BootTime)>,
}

/// The time between two redraws or messages; `None`: neither.
fn interval(plan: &Plan) -> Option<Duration> {
    if plan.shows_line { Some(REDRAW) } else { plan.progress }
}

impl Progress {
    /// Notes that zklock's node was created at this time on the servers' clock.
    pub(super) fn queued(&mut self, created: ServerTime, now: BootTime) {
        self.clocks = Some((now, created));
    }

    /// Notes the contenders `ahead`: the `nearest` one, and the node of the `holder` if that is another one.
    pub(super) fn waiting(
        &mut self,
        path: LockPath,
        nearest: Seen,
        ahead: usize,
        holder: Option<NodePath>,
        ctx: &mut Context<'_>,
    ) {
        let Some(interval) = interval(ctx.plan) else { return };
        if ctx.plan.shows_line {
            self.at = Some(ctx.now);
            if let Some(node) = holder.clone() {
                ctx.emit(Effect::Ask(Asker::WaitingLine, Request::Get(node)));
            }
        } else {
            self.at.get_or_insert(ctx.now + interval);
        }
        self.queue = Some(QueueProgress { path, nearest, ahead, holder, seen: None });
    }

    /// The wait is over.
    pub(super) fn end(&mut self, ctx: &mut Context<'_>) {
        (self.at, self.queue, self.asked) = (None, None, None);
        ctx.emit(Effect::Line(None));
    }

    /// When to show it next.
    pub(super) fn wake_at(&self) -> Option<BootTime> {
        self.at
    }

    /// Shows the wait if it is time, unless zklock `is_stopped`. If the holder isn't the nearest contender, its node is
    /// read before a message: zklock doesn't watch it.
    pub(super) fn look(&mut self, is_stopped: bool, ctx: &mut Context<'_>) {
        let (Some(interval), Some(at), Some(queue)) = (interval(ctx.plan), self.at, &self.queue) else {
            return;
        };
        if ctx.now < at {
            return;
        }
        self.at = Some(ctx.now + interval);
        match &queue.holder {
            _ if is_stopped => {}
            _ if ctx.plan.shows_line => {
                ctx.emit(Effect::Line(Some(self.line(queue, ctx.now, ctx.plan))));
            }
            None => self.say(Some(&queue.nearest), ctx),
            Some(node) if self.asked.is_none() => {
                self.asked = Some(node.clone());
                ctx.emit(Effect::Ask(Asker::WaitingLine, Request::Get(node.clone())));
            }
            // The last read has no answer yet.
            Some(_) => self.say(None, ctx),
        }
    }

    /// The holder's `node` was read. `None`: it is gone, or can't be read.
    pub(super) fn holder(&mut self, node: &NodePath, seen: Option<Seen>, ctx: &mut Context<'_>) {
        if self.asked.as_ref() == Some(node) {
            self.asked = None;
            self.say(seen.as_ref(), ctx);
        } else if ctx.plan.shows_line
            && let Some(queue) = self.queue.as_mut().filter(|queue| queue.holder.as_ref() == Some(node))
            && let Some(seen) = seen
        {
            queue.seen = Some((seen, ctx.now));
            self.at = Some(ctx.now);
        }
    }

    fn servers_now(&self, now: BootTime) -> Option<ServerTime> {
        self.clocks.map(|(host, servers)| {
            let since = i64::try_from(now.since(host).as_millis()).unwrap_or(i64::MAX);
            ServerTime(servers.0.saturating_add(since))
        })
    }

    fn line(&self, queue: &QueueProgress, now: BootTime, plan: &Plan) -> WaitingLine {
        let (seen, rest) = match &queue.seen {
            Some((seen, at)) => {
                let age = now.since(*at);
                let old = if age > FRESH { format!(" (seen {} ago)", whole(age)) } else { String::new() };
                (seen, format!("{old}; behind {}", queue.nearest.who))
            }
            None => (&queue.nearest, String::new()),
        };
        let shown = seen.at(self.servers_now(now));
        WaitingLine {
            path: queue.path.clone(),
            position: queue.ahead + 1,
            waited: now.since(plan.began),
            left: plan.give_up_at.map(|at| now.until(at)),
            is_holder: queue.holder.is_none() || queue.seen.is_some(),
            details: shown.details() + &rest,
            who: shown.who,
        }
    }

    fn say(&self, holder: Option<&Seen>, ctx: &mut Context<'_>) {
        let Some(QueueProgress { path, nearest, ahead, .. }) = &self.queue else { return };
        let holder = holder.map(|seen| seen.at(self.servers_now(ctx.now)));
        let (waited, predecessor) = (ctx.now.since(ctx.plan.began), nearest.who.clone());
        let silent_for = ctx.state.claim.session().and_then(|session| session.silent_for(ctx.now));
        let ahead = *ahead;
        ctx.say_about(path.clone(), Message::StillWaiting { waited, ahead, predecessor, holder, silent_for });
    }
}
