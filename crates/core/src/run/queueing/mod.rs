//! Acquiring the locks: connect, queue and wait, until zklock holds them or must give up.

mod events;
mod start;

use std::time::Duration;

use super::progress::{Shown, Wait};
use super::{Context, Effect, Input, Introduction, Next, Plan, RunState};
use crate::exit::Exit;
use crate::message::{self, Message};
use crate::path::LockPath;
use crate::queue::contender::ContenderConfig;
use crate::queue::once::Once;
use crate::queue::record::Record;
use crate::run::claim::Session;
use crate::server_wait::Awaited;
use crate::signal::{self, SIGCONT, SIGKILL, SIGTSTP, ends_waiting};
use crate::time::BootTime;

/// How long the client may take after its deadline to report why there is no session: it reports at its deadline what is
/// wrong, but servers can keep it too busy to notice the time.
const REPORT_GRACE: Duration = Duration::from_secs(3);

/// The wait.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Queueing {
    /// With `--once-per`: whether the command is to run at all.
    once: Option<Once>,
    pub(super) connected: bool,
    /// When the client began to connect.
    connects_since: BootTime,
    /// When the client is to give up connecting.
    connect_by: Option<BootTime>,
    /// Since when zklock is first in every queue without a lease that lasts long enough.
    awaits_lease_since: Option<BootTime>,
    /// Whether a message has said that the last lock is acquired.
    acquired: bool,
    /// Whether the messages were waited for, before the command writes.
    flushed: bool,
    /// zklock's node on this lock is gone; a confirmation will show whether the session ended or another client deleted
    /// the node.
    node_gone: Option<LockPath>,
    /// zklock was stopped, and is leaving the queue: a stopped contender must not make others wait. It queues again once it
    /// has left and is continued.
    leaving: bool,
}

impl Queueing {
    pub(super) fn begin(ctx: &mut Context<'_>) -> Self {
        let plan = ctx.plan;
        let connect_by = Some(plan.connect_by());
        let connect = ctx.state.claim.connect(connect_by);
        ctx.emit(connect);
        ctx.emit(Effect::Introduce);
        Self {
            once: plan.once_per.map(|period| Once::new(plan.first(), period)),
            connected: false,
            connects_since: ctx.now,
            connect_by,
            awaits_lease_since: None,
            acquired: false,
            flushed: false,
            node_gone: None,
            leaving: false,
        }
    }

    pub(super) fn on(&mut self, input: Input, ctx: &mut Context<'_>) -> Option<Next> {
        match input {
            Input::Tick => return self.tick(ctx),
            Input::Introduced(introduction) => introduce(introduction, ctx),
            Input::Signal(signal) if ends_waiting(signal) => return Some(Next::leave(Exit::Signal(signal))),
            // The caller has already seen zklock die.
            Input::MonitorDied => return Some(Next::leave(Exit::Signal(SIGKILL))),
            Input::Signal(SIGTSTP) => self.suspend(ctx),
            Input::Signal(SIGCONT) => self.go_on(ctx),
            Input::Signal(signal) => {
                let name = signal::name(signal);
                let text = format!("{name} is ignored: no command is running yet");
                ctx.say(Message::debug("signal_ignored", text).with("signal", name));
            }
            Input::Session(key, change) => {
                let events = ctx.state.claim.session_changed(key, change, ctx.now, ctx.out);
                return self.on_events(events, ctx);
            }
            Input::Reply(key, asker, reply) => {
                let events = ctx.state.claim.replied(key, asker, reply, ctx.now, ctx.out);
                return self.on_events(events, ctx);
            }
            _ => {}
        }
        None
    }

    /// When there is something to do if nothing happens before.
    pub(super) fn wake_at(&self, plan: &Plan, state: &RunState) -> Option<BootTime> {
        [self.give_up_at(plan, state.suspended), state.claim.due()].into_iter().flatten().min()
    }

    fn give_up_at(&self, plan: &Plan, suspended: bool) -> Option<BootTime> {
        if self.connected || suspended {
            return plan.try_until();
        }
        self.connect_by.map(|deadline| deadline + REPORT_GRACE)
    }

    /// Handles the passing of time, and everything that waits until no other event is pending.
    fn tick(&mut self, ctx: &mut Context<'_>) -> Option<Next> {
        let now = ctx.now;
        ctx.state.claim.revive_lease(now);
        ctx.state.claim.confirm_if_due(now, ctx.out);
        let may_start = match self.may_start(ctx) {
            Ok(may_start) => may_start,
            Err(why) => return Some(Next::fail(*why)),
        };
        let is_shown = !ctx.state.suspended && !self.leaving;
        ctx.show(self.wait(ctx), if is_shown { Shown::Everywhere } else { Shown::Nowhere });
        if may_start {
            self.say_acquired(ctx);
            if let Some(next) = self.start_or_skip(ctx) {
                ctx.erase_line();
                if matches!(next, Next::Start) && !std::mem::replace(&mut self.flushed, true) {
                    // Messages should be on the screen, and the live line gone, before the command writes. Another tick
                    // follows: a signal that has come meanwhile is first, and the lease is checked again.
                    ctx.emit(Effect::FlushOutput(ctx.state.claim.time_to_spare()));
                    return None;
                }
                return Some(next);
            }
        }
        self.give_up_at(ctx.plan, ctx.state.suspended)
            .is_some_and(|at| at <= now)
            .then(|| self.out_of_time(ctx))
    }

    /// What zklock waits for now, unless it is other contenders.
    fn wait(&self, ctx: &Context<'_>) -> Option<Wait> {
        let session = ctx.state.claim.session().filter(|_| self.connected);
        let Some(session) = session else {
            let (since, until) = (self.connects_since, self.connect_by);
            return Some(Wait { awaited: Awaited::Session, since, until });
        };
        let is_entering = ctx.state.progress.place.is_none() && !session.all_held();
        let (awaited, since) = match (self.awaits_lease_since, session.awaited()) {
            (Some(since), _) => (Awaited::Lease, since),
            (None, None) if is_entering => (Awaited::Answer, session.heard()),
            (None, awaited) => awaited?,
        };
        Some(Wait { awaited, since, until: ctx.plan.try_until() })
    }

    /// Stops zklock, and leaves the queue. No command is running yet that could stop with it.
    fn suspend(&mut self, ctx: &mut Context<'_>) {
        ctx.state.suspended = true;
        let claim = &ctx.state.claim;
        if claim.has_begun() && !claim.is_over() && !self.leaving {
            self.leaving = true;
            let text = "stopped: left the queue; fg or bg queues again at the end";
            ctx.say_of_own_nodes(&Message::warning("left", text).with("reason", "suspended"));
            ctx.emit(ctx.state.claim.release());
        }
        ctx.erase_line();
        // The message is written before the shell's prompt.
        ctx.emit(Effect::FlushOutput(ctx.state.claim.time_to_spare()));
        ctx.emit(Effect::Suspend(SIGTSTP));
    }

    /// zklock was continued, or couldn't stop.
    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if std::mem::take(&mut ctx.state.suspended) {
            let text = "continued: queueing again at the end";
            ctx.say_of_current(Message::step("requeued", text).with("reason", "suspended"));
            if !self.leaving {
                self.queue_again(ctx);
            }
        }
    }

    /// Connects with a new session, and queues again at the end.
    fn queue_again(&mut self, ctx: &mut Context<'_>) {
        (self.connected, self.connect_by) = (false, ctx.plan.try_until());
        self.connects_since = ctx.now;
        (self.awaits_lease_since, self.acquired, self.flushed) = (None, false, false);
        self.node_gone = None;
        ctx.state.progress.place = None;
        self.once.iter_mut().for_each(Once::begin_again);
        let connect = ctx.state.claim.connect(self.connect_by);
        ctx.emit(connect);
    }

    /// The wait has run out. The lock counts as busy only if it was seen so, and servers have answered lately.
    fn out_of_time(&self, ctx: &mut Context<'_>) -> Next {
        let (now, claim) = (ctx.now, &ctx.state.claim);
        let waited = now.since(ctx.plan.began);
        let session = claim.session().filter(|_| self.connected);
        let is_busy = claim.seen_busy()
            && (ctx.state.suspended
                || session.is_some_and(|session| !session.all_held() && session.silent_for(now).is_none()));
        let progress = &ctx.state.progress;
        let state = if ctx.state.suspended {
            Some("stopped".to_owned())
        } else if is_busy {
            progress.place.as_ref().map(|_| progress.sentence(None, ctx))
        } else {
            let since = session.map_or(self.connects_since, Session::heard);
            let silence = Wait { awaited: Awaited::Answer, since, until: None };
            Some(progress.sentence(Some(self.wait(ctx).unwrap_or(silence)), ctx))
        };
        let path = ctx.path_to_show();
        let place = ctx.state.progress.place.as_ref();
        let predecessor = place.map(|place| place.predecessor.clone());
        let held_since = place.filter(|_| !ctx.state.suspended).and_then(|place| place.held_since);
        if !is_busy {
            let text = message::gave_up(waited, state.as_deref());
            return Next::fail_at(Some(path), Message::error("no_answer", text));
        }
        let predecessor = predecessor.as_deref();
        let at = ctx.plan.host_time(now);
        ctx.say_about(path, Message::gave_up(waited, state.as_deref(), predecessor, held_since, at));
        Next::leave(Exit::Code(ctx.plan.conflict_exit_code))
    }
}

fn introduce(introduction: Introduction, ctx: &mut Context<'_>) {
    let Introduction { record, ids } = introduction;
    let plan = ctx.plan;
    let with_slot = Record { has_slot: true, ..record.clone() };
    let config = |(path, ids): (&LockPath, _)| ContenderConfig {
        path: path.clone(),
        family: plan.family,
        mode: plan.mode,
        data: record.to_bytes(),
        data_with_slot: with_slot.to_bytes(),
        nonblock: plan.nonblock,
        ids,
    };
    let configs = plan.not_held().zip(ids).map(config).collect();
    ctx.state.claim.introduce(configs);
    ctx.state.record = Some(record);
}
