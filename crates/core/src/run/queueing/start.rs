//! Whether the command may start, once zklock is first in every queue.

use super::Queueing;
use super::events::say_acquired;
use crate::exit::Exit;
use crate::lease::latency::Start;
use crate::message::Message;
use crate::protocol::Asker;
use crate::queue::once::OnceDecision;
use crate::run::releasing::{FinalExit, ReleaseKind};
use crate::run::{Context, Next};
use crate::text::printable;

impl Queueing {
    /// Whether all locks are held, over a connection that is fast enough, and under a lease that lasts until the next
    /// answer. A waiter confirms while it waits, so its lease is normally fresh; otherwise the confirmations in flight
    /// renew it.
    pub(super) fn may_start(&mut self, ctx: &mut Context<'_>) -> Result<bool, Box<Message>> {
        let Some(session) = ctx.state.claim.session() else { return Ok(false) };
        if self.node_gone.is_some() || ctx.state.stopped || self.leaving || !session.all_held() {
            return Ok(false);
        }
        // Another client's write to zklock's node may revoke the lock; the node is being read.
        if session.any_unread() {
            return Ok(false);
        }
        match ctx.state.claim.start(ctx.plan.kill_after, ctx.now) {
            Start::Now => {
                self.awaits_lease_since = None;
                return Ok(true);
            }
            Start::NotYet => {}
            Start::Never { trip, timeout } => {
                let (hosts, kill_after) = (ctx.plan.hosts.clone(), ctx.plan.kill_after);
                return Err(Box::new(Message::ConnectionTooSlow { hosts, trip, timeout, kill_after }));
            }
        }
        self.awaits_lease_since.get_or_insert(ctx.now);
        Ok(false)
    }

    /// Says that the last lock is acquired, unless that was said.
    pub(super) fn say_acquired(&mut self, ctx: &mut Context<'_>) {
        if std::mem::replace(&mut self.acquired, true) {
            return;
        }
        ctx.state.claim.is_acquired(ctx.now);
        say_acquired(&ctx.path_to_show(), ctx);
    }

    /// Whether the command is to run now that the locks are held. `None`: the answer is pending.
    pub(super) fn is_due(&mut self, ctx: &mut Context<'_>) -> Option<Next> {
        let Some(once) = &mut self.once else { return Some(Next::Start) };
        let (node, data) = ctx.state.claim.session()?.first()?;
        if !once.has_begun() {
            let asked = once.begin(node, &data);
            ctx.request(Asker::Once, asked);
        }
        match once.decision()? {
            OnceDecision::Due => Some(Next::Start),
            OnceDecision::Recent { ago, by } => {
                let host = by.map(|last| printable(&last.by.host));
                ctx.say(Message::Skipped { ago, host, period: once.period() });
                let exit = Exit::Code(ctx.plan.conflict_exit_code);
                Some(Next::Release(ReleaseKind::Locks, FinalExit { exit, about: None, final_message: None }))
            }
        }
    }
}
