//! Whether the command may start, once zklock is first in every queue.

use std::time::Duration;

use super::Queueing;
use super::events::say_acquired;
use crate::duration;
use crate::exit::Exit;
use crate::lease::latency::{Start, smallest_timeout};
use crate::message::Message;
use crate::protocol::Asker;
use crate::queue::once::OnceDecision;
use crate::run::releasing::{FinalExit, ReleaseKind};
use crate::run::{Context, Next};
use crate::text::{printable, time};

impl Queueing {
    /// Whether all locks are held, over a connection that is fast enough, and under a lease that lasts until the next
    /// answer. A waiter confirms while it waits, so its lease is normally fresh; otherwise the confirmations in flight
    /// renew it.
    pub(super) fn may_start(&mut self, ctx: &mut Context<'_>) -> Result<bool, Box<Message>> {
        let Some(session) = ctx.state.claim.session() else { return Ok(false) };
        if self.node_gone.is_some() || ctx.state.suspended || self.leaving || !session.all_held() {
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
                let text = too_slow(&ctx.plan.hosts, trip, timeout, ctx.plan.kill_after);
                return Err(Box::new(Message::error("slow_line", text)));
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
        ctx.state.claim.held_from(ctx.now);
        say_acquired(&ctx.path_to_show(), ctx);
    }

    /// Starts or skips the command, now that the locks are held. `None`: the answer to `--once-per` is pending.
    pub(super) fn start_or_skip(&mut self, ctx: &mut Context<'_>) -> Option<Next> {
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
                let on = host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
                let (shown, period) = (time(ago), duration::text(once.period()));
                let text = format!(
                    "skipped: the command succeeded {shown} ago{on}, and once per {period} is enough"
                );
                let message = Message::warning("skipped", text).with("host", host).with_span("ago", ago);
                ctx.say(message.with_span("period", once.period()));
                let exit = Exit::Code(ctx.plan.conflict_exit_code);
                Some(Next::Release(ReleaseKind::Locks, FinalExit { exit, about: None, final_message: None }))
            }
        }
    }
}

/// What to do about answers that take `trip`.
fn too_slow(hosts: &str, trip: Duration, timeout: Duration, kill_after: Duration) -> String {
    let remedy = match smallest_timeout(trip, kill_after) {
        Some(enough) if enough <= timeout => "a longer --session-timeout may help".to_owned(),
        Some(enough) => format!("use --session-timeout {} or more", enough.as_secs()),
        None => "no session timeout is long enough for that".to_owned(),
    };
    format!(
        "the connection to {hosts} is too slow: an answer takes {}, and with a session timeout of {} the command would \
         be stopped for lack of answers, so it was not started; {remedy}",
        time(trip),
        time(timeout)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_too_slow_is_told_with_the_timeout_that_helps() {
        let remedy = |trip: u64, timeout: u64| {
            let (trip, timeout) = (Duration::from_millis(trip), Duration::from_secs(timeout));
            let text = too_slow("zk1:2181", trip, timeout, Duration::from_secs(5));
            text.split_once("; ").map(|(_, remedy)| remedy.to_owned()).unwrap_or_default()
        };
        assert_eq!(remedy(100, 1), "use --session-timeout 2 or more");
        assert_eq!(remedy(100, 2), "a longer --session-timeout may help");
        assert_eq!(remedy(3_600_000, 30), "no session timeout is long enough for that");
    }
}
