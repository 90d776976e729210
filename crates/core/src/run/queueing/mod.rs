//! Acquiring the locks: connect, queue and wait, until zklock holds them or must give up.

mod events;
mod giving_up;
mod start;

use super::lineage::Lineage;
use super::progress::{Progress, Shown, Wait};
use super::stopped::Stop;
use super::{Context, Effect, Input, Introduction, Next, Plan};
use crate::exit::Exit;
use crate::message::Message;
use crate::path::LockPath;
use crate::queue::contender::ContenderConfig;
use crate::queue::once::Once;
use crate::queue::record::Record;
use crate::run::claim::Claim;
use crate::server_wait::Awaited;
use crate::signal::{SIGCONT, SIGKILL, SIGTSTP, ends_waiting};
use crate::time::BootTime;

/// The wait.
#[derive(Debug)]
pub(super) struct Queueing {
    /// With `--once-per`: whether the command is to run at all.
    once: Option<Once>,
    connected: bool,
    /// When the client began to connect.
    connects_since: BootTime,
    /// When the client is to give up connecting.
    connect_by: Option<BootTime>,
    /// The lock that was busy last, and a description of the predecessor.
    waiting_for: Option<(LockPath, String)>,
    /// The last report of a wait: the lock, the predecessor, and how many were ahead.
    said: Option<(LockPath, String, usize)>,
    /// Since when zklock is first in every queue without a lease that lasts long enough.
    awaits_lease_since: Option<BootTime>,
    /// Whether a message has said that the last lock is acquired.
    acquired: bool,
    start: StartProgress,
    /// zklock's node on this lock is gone; a confirmation will show whether the session ended or another client deleted
    /// the node.
    node_gone: Option<LockPath>,
    stop: Stop,
    lineage: Lineage,
    /// Reported once it is known which zklocks started this one.
    busy: Option<SeenBusy>,
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
enum StartProgress {
    /// Not all locks are held, or nothing has been reported yet.
    None,
    /// There is no fresh lease yet, and a message has said so.
    AwaitsLease,
    /// Waiting for messages to be written.
    AwaitsMessages,
    /// That wait is over.
    MessagesWritten,
}

impl Queueing {
    pub(super) fn begin(ctx: &mut Context<'_>) -> Self {
        let plan = ctx.plan;
        let connect_by = Some(plan.connect_by());
        let connect = ctx.state.claim.connect(connect_by);
        ctx.emit(connect);
        ctx.emit(Effect::Introduce);
        Self {
            once: plan.once_per.map(|period| Once::new(&plan.first, period)),
            connected: false,
            connects_since: ctx.now,
            connect_by,
            waiting_for: None,
            said: None,
            awaits_lease_since: None,
            acquired: false,
            start: StartProgress::None,
            node_gone: None,
            stop: Stop::Not,
            lineage: Lineage::default(),
            busy: None,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(super) fn on(&mut self, input: Input, ctx: &mut Context<'_>) -> Option<Next> {
        match input {
            Input::Tick => self.tick(ctx),
            Input::Introduced(introduction) => introduce(introduction, ctx),
            Input::Ancestors(ancestors) => {
                let next = self.lineage.found(ancestors, ctx);
                next.or_else(|| self.leave_busy(ctx))
            }
            Input::Signal(signal) if ends_waiting(signal) => Some(Next::leave(Exit::Signal(signal))),
            // The caller has already seen zklock die.
            Input::MonitorDied => Some(Next::leave(Exit::Signal(SIGKILL))),
            Input::Signal(SIGTSTP) => {
                self.stop.suspend(ctx);
                None
            }
            Input::Signal(SIGCONT) | Input::NotStopped => {
                let go_on = self.stop.go_on(ctx);
                self.queue_again(go_on, ctx)
            }
            Input::Signal(signal) => {
                ctx.say(Message::SignalIgnored(signal));
                None
            }
            Input::OutputFlushed => {
                if self.start == StartProgress::AwaitsMessages {
                    self.start = StartProgress::MessagesWritten;
                }
                None
            }
            Input::Session(key, change) => self.session_changed(key, change, ctx),
            Input::Reply(key, asker, reply) => {
                let events = ctx.state.claim.replied(key, asker, reply, ctx.now, ctx.out);
                self.on_events(events, ctx)
            }
            _ => None,
        }
    }

    /// When there is something to do if nothing happens before.
    pub(super) fn wake_at(&self, plan: &Plan, claim: &Claim) -> Option<BootTime> {
        [self.give_up_at(plan), claim.next_due()].into_iter().flatten().min()
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
        let shown = if self.stop == Stop::Not { Shown::Everywhere } else { Shown::Nowhere };
        ctx.show(self.wait(ctx), shown);
        if may_start {
            self.say_acquired(ctx);
            if let Some(next) = self.is_due(ctx) {
                ctx.progress(Progress::erase);
                if matches!(next, Next::Start) && self.start != StartProgress::MessagesWritten {
                    // Messages should be on the screen, and the live line gone, before the command writes. The lease
                    // must be checked again afterwards.
                    self.start = StartProgress::AwaitsMessages;
                    ctx.emit(Effect::FlushOutput(ctx.state.claim.time_to_spare()));
                    return None;
                }
                return Some(next);
            }
        }
        self.give_up_at(ctx.plan).is_some_and(|at| at <= now).then(|| self.out_of_time(ctx))
    }
}

impl Queueing {
    /// What to tell while zklock is stopped and has left the queue.
    pub(super) fn has_left(&self) -> Option<String> {
        self.stop.was_first_on().map(|(_, left)| Message::LeftTheQueueStopped(left).to_string())
    }

    /// What zklock waits for now, unless it is other contenders.
    fn wait(&self, ctx: &Context<'_>) -> Option<Wait> {
        let session = ctx.state.claim.session().filter(|_| self.connected);
        let Some(session) = session else {
            return Some(Wait {
                awaited: Awaited::Session,
                since: self.connects_since,
                until: self.connect_by,
            });
        };
        let is_entering = !ctx.state.progress.is_in_queue() && !session.locks.all_held();
        let (awaited, since) = match (self.awaits_lease_since, session.awaited()) {
            (Some(since), _) => (Awaited::Lease, since),
            (None, None) if is_entering => (Awaited::Answer, session.heard()),
            (None, awaited) => awaited?,
        };
        Some(Wait { awaited, since, until: ctx.plan.try_until() })
    }
}

fn introduce(introduction: Introduction, ctx: &mut Context<'_>) -> Option<Next> {
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
    let configs = plan.not_held_in(&ctx.state.held_around).zip(ids).map(config).collect();
    ctx.state.claim.introduce(configs);
    ctx.state.record = Some(record);
    None
}
