//! The release: delete and close, until both are answered.

use std::time::Duration;

use super::progress::{Shown, Wait};
use super::{Context, Effect, End, Input, Next};
use crate::exit::Exit;
use crate::message::Message;
use crate::path::LockPath;
use crate::queue::event::Event;
use crate::run::claim::Claim;
use crate::server_wait::Awaited;
use crate::signal::{self, ends_waiting};
use crate::time::BootTime;

/// The longest wait for servers that don't answer.
const LONGEST: Duration = Duration::from_secs(5);

/// The wait when an attempt to connect is given up.
const NOTHING_TO_LOSE: Duration = Duration::from_millis(500);

/// What is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseKind {
    /// A place in the queue. Nothing ran: a signal ends zklock immediately, and this process stays to delete the nodes.
    PlaceInQueue,
    /// The locks. If a command ran, it has ended, and its exit code must not be lost.
    Locks,
}

/// How zklock ends after the release.
#[derive(Debug, Clone)]
pub(super) struct FinalExit {
    pub(super) exit: Exit,
    /// The lock that the reason is about, if it isn't about the run as a whole.
    pub(super) about: Option<LockPath>,
    /// The reason, if it is reported at the end.
    pub(super) final_message: Option<Message>,
}

/// The release.
#[derive(Debug)]
pub(super) struct Releasing {
    kind: ReleaseKind,
    end: FinalExit,
    since: BootTime,
    until: BootTime,
    step: ReleaseStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReleaseStep {
    /// Delete and close are in flight.
    Closing,
    /// The session ended otherwise than by closing it, and no server has confirmed its end: another session checks for
    /// its nodes.
    Cleaning,
}

impl Releasing {
    pub(super) fn begin(kind: ReleaseKind, end: FinalExit, ctx: &mut Context<'_>) -> (Self, Option<Next>) {
        let claim = &ctx.state.claim;
        let until = ctx.now + answer_limit(claim);
        let mut releasing = Self { kind, end, since: ctx.now, until, step: ReleaseStep::Closing };
        if !claim.has_begun() {
            let next = releasing.done(ctx);
            return (releasing, Some(next));
        }
        ctx.state.progress.place = None;
        ctx.erase_line();
        if ctx.state.monitor_died {
            ctx.emit(Effect::Detach);
        }
        if ctx.state.claim.is_over() {
            let next = releasing.session_over(ctx);
            return (releasing, next);
        }
        ctx.emit(ctx.state.claim.release());
        (releasing, None)
    }

    pub(super) fn on(&mut self, input: Input, ctx: &mut Context<'_>) -> Option<Next> {
        let events = match input {
            Input::Tick if ctx.now >= self.until => return Some(self.unconfirmed(ctx)),
            Input::Tick => {
                self.show(ctx);
                return None;
            }
            Input::Signal(signal) if self.kind == ReleaseKind::PlaceInQueue && ends_waiting(signal) => {
                ctx.erase_line();
                return Some(Next::Finish(End::ExitNow(Exit::Signal(signal), ctx.state.claim.left_behind())));
            }
            Input::MonitorDied => {
                ctx.emit(Effect::Detach);
                return None;
            }
            Input::Cleaned(true) if self.step == ReleaseStep::Cleaning => return Some(self.gone(ctx)),
            Input::Cleaned(false) if self.step == ReleaseStep::Cleaning => {
                return Some(self.unconfirmed(ctx));
            }
            Input::Session(key, change) => ctx.state.claim.session_changed(key, change, ctx.now, ctx.out),
            Input::Reply(key, asker, reply) => ctx.state.claim.replied(key, asker, reply, ctx.now, ctx.out),
            _ => return None,
        };
        if self.step == ReleaseStep::Cleaning {
            return None;
        }
        if events.iter().any(|event| matches!(event, Event::Closed)) {
            let said = match self.kind {
                ReleaseKind::Locks => Message::step("released", "released"),
                ReleaseKind::PlaceInQueue => match self.end.exit {
                    Exit::Signal(signal) => {
                        Message::step("left", format!("left the queue: {}", signal::short_name(signal)))
                    }
                    Exit::Code(_) => Message::step("left", "left the queue"),
                },
            };
            ctx.say_of_own_nodes(&said);
            return Some(self.done(ctx));
        }
        if ctx.state.claim.is_over() { self.session_over(ctx) } else { None }
    }

    fn show(&self, ctx: &mut Context<'_>) {
        let awaited = match self.kind {
            ReleaseKind::Locks => Awaited::Release,
            ReleaseKind::PlaceInQueue => Awaited::Leave,
        };
        // The caller sees zklock as ended when the monitor is dead.
        let shown = if ctx.state.monitor_died { Shown::Nowhere } else { Shown::Everywhere };
        ctx.show(Some(Wait { awaited, since: self.since, until: Some(self.until) }), shown);
    }

    pub(super) fn wake_at(&self) -> BootTime {
        self.until
    }

    /// Handles a session that ended otherwise than by closing it.
    fn session_over(&mut self, ctx: &mut Context<'_>) -> Option<Next> {
        let claim = &ctx.state.claim;
        let leftover = claim.left_behind().filter(|leftover| !claim.is_gone() && !leftover.is_empty());
        let Some(leftover) = leftover else { return Some(self.gone(ctx)) };
        // The limit is that of the whole release.
        self.step = ReleaseStep::Cleaning;
        ctx.emit(Effect::Clean(leftover));
        None
    }

    fn gone(&self, ctx: &mut Context<'_>) -> Next {
        let text = "the session has ended, and the node with it";
        ctx.say_of_own_nodes(&Message::step("session_over", text));
        self.done(ctx)
    }

    fn done(&self, ctx: &mut Context<'_>) -> Next {
        self.say_final_message(ctx);
        Next::Finish(End::Exit(self.end.exit))
    }

    /// Handles servers that don't answer. They may come back while the session is alive.
    fn unconfirmed(&self, ctx: &mut Context<'_>) -> Next {
        let said = match self.kind {
            ReleaseKind::Locks => {
                "no server confirmed the release; the lock is free at the end of the session timeout"
            }
            ReleaseKind::PlaceInQueue => {
                "no server confirmed that zklock left the queue; its place is gone at the end of the session timeout"
            }
        };
        ctx.say_of_own_nodes(&Message::warning("release_unconfirmed", said));
        self.say_final_message(ctx);
        Next::Finish(End::ExitNow(self.end.exit, ctx.state.claim.left_behind()))
    }

    fn say_final_message(&self, ctx: &mut Context<'_>) {
        ctx.erase_line();
        let FinalExit { about, final_message, .. } = self.end.clone();
        if let Some(message) = final_message {
            ctx.say_about(about.unwrap_or_else(|| ctx.plan.first().clone()), message);
        }
    }
}

/// How long to wait for servers at the end: at most the session timeout, because the session's end deletes the nodes.
/// Without a session there are no nodes to wait for.
pub(super) fn answer_limit(claim: &Claim) -> Duration {
    claim.lease().map_or(NOTHING_TO_LOSE, |lease| lease.timeout().min(LONGEST))
}
