//! The end of a wait without the lock: out of time, or busy with `-n`.

use std::time::Duration;

use super::events::who;
use super::{Queueing, SeenBusy};
use crate::exit::Exit;
use crate::message::{LeftStopped, Message};
use crate::path::LockPath;
use crate::run::{Context, Next, Plan};
use crate::time::BootTime;

/// How long the client may take after its deadline to report why there is no session.
const REPORT_GRACE: Duration = Duration::from_secs(3);

impl Queueing {
    /// The client has its own deadline for connecting, at which it reports what is wrong. zklock waits only a moment
    /// longer for that report: servers can keep the client too busy to notice the time.
    pub(super) fn give_up_at(&self, plan: &Plan) -> Option<BootTime> {
        if self.connected {
            return plan.try_until();
        }
        self.connect_by.map(|deadline| deadline + REPORT_GRACE)
    }

    pub(super) fn out_of_time(&self, ctx: &mut Context<'_>) -> Next {
        let (plan, claim, now) = (ctx.plan, &ctx.state.claim, ctx.now);
        let waited = now.since(plan.began);
        let hosts = plan.hosts.clone();
        let Some(session) = claim.session().filter(|_| self.connected) else {
            return Next::fail(Message::KeptBusy { hosts, waited });
        };
        let seen_busy = claim.seen_busy();
        if let Some((first_on, left)) = self.stop.was_first_on() {
            let message = Message::GaveUpStopped { left, waited, seen_busy };
            let waited_for = self.waiting_for.as_ref().map(|(path, _)| path);
            let path = waited_for.filter(|_| left == LeftStopped::WasFirst).unwrap_or(first_on).clone();
            return if seen_busy { busy(path, message, ctx) } else { Next::fail_at(Some(path), message) };
        }
        if session.locks.all_held() {
            return Next::fail(Message::NotConfirmed { waited });
        }
        if !seen_busy {
            return Next::fail_at(ctx.current_lock(), Message::NoAnswer { hosts, waited });
        }
        let (path, ahead) = self.seen_ahead(session.locks.busy(), plan);
        let holder = ctx.state.progress.known_holder(&path);
        if let Some(silence) = session.silent_for(now) {
            return Next::fail_at(Some(path), Message::LastSeenBusy { waited, silence, holder, ahead });
        }
        busy(path, Message::GaveUp { waited, holder, ahead }, ctx)
    }

    /// The lock that was seen busy last, and who was ahead there. `busy_now` is the lock that zklock is waiting for, if it
    /// was seen busy; its predecessor may not have been read yet.
    fn seen_ahead(&self, busy_now: Option<&LockPath>, plan: &Plan) -> (LockPath, String) {
        let read = self.waiting_for.clone().filter(|(path, _)| busy_now.is_none_or(|busy| busy == path));
        let path = || busy_now.unwrap_or(&plan.first).clone();
        read.unwrap_or_else(|| (path(), "another contender".to_owned()))
    }

    /// With `-n`: leaves, after a check whether the holder is an ancestor. Such a lock would never become free.
    pub(super) fn leave_busy(&mut self, ctx: &mut Context<'_>) -> Option<Next> {
        let SeenBusy { path, holder, data } = self.busy.take()?;
        if let Some(why) = self.lineage.waits_for_itself(&data, ctx) {
            return Some(Next::fail_at(Some(path), why));
        }
        let holder = who(&holder, &data, ctx);
        ctx.say_about(path, Message::Busy { holder });
        Some(Next::leave(Exit::Code(ctx.plan.conflict_exit_code)))
    }
}

/// Leaves because another contender holds this lock.
fn busy(path: LockPath, message: Message, ctx: &mut Context<'_>) -> Next {
    ctx.say_about(path, message);
    Next::leave(Exit::Code(ctx.plan.conflict_exit_code))
}
