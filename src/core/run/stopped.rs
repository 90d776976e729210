//! A waiter that is stopped, for example by Ctrl-Z, and its place in the queue.

use super::{Context, Effect};
use crate::core::message::Message;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::RequestError;

/// Whether zklock is stopped while it waits. The worker isn't stopped, so its session stays alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It isn't stopped.
    Not,
    /// It is stopped, and keeps its place in the queue until it becomes first.
    InQueue,
    /// It became first and is giving up its place, because a stopped contender must not make others wait. It may have
    /// been continued meanwhile.
    Leaving {
        /// Whether it has been continued.
        goes_on: bool,
    },
    /// It has no session. A new one begins when it is continued.
    ConnectFailure,
}

/// The reaction to being continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoOn {
    /// Nothing, at least for now.
    Stay,
    /// Enter the queue again.
    QueueAnew,
}

impl Stop {
    /// zklock is to stop. No command is running yet that could stop with it.
    pub(super) fn suspend(&mut self, ctx: &mut Context<'_>) {
        *self = match *self {
            Self::Not => {
                ctx.state.claim.mark_stopped(true, ctx.now, ctx.out);
                Self::InQueue
            }
            Self::Leaving { .. } => Self::Leaving { goes_on: false },
            other => other,
        };
        ctx.emit(Effect::Line(None));
        // The message is written before the shell's prompt.
        ctx.emit(Effect::FlushBeforeStop(ctx.state.claim.time_to_spare()));
        ctx.emit(Effect::StopWaiting);
    }

    /// zklock is continued.
    pub(super) fn go_on(&mut self, ctx: &mut Context<'_>) -> GoOn {
        match *self {
            Self::Not => GoOn::Stay,
            Self::InQueue => {
                *self = Self::Not;
                ctx.state.claim.mark_stopped(false, ctx.now, ctx.out);
                GoOn::Stay
            }
            // zklock queues again once it has left.
            Self::Leaving { .. } => {
                *self = Self::Leaving { goes_on: true };
                GoOn::Stay
            }
            Self::ConnectFailure => {
                if let Some(path) = ctx.current_lock() {
                    ctx.say_about(path, Message::QueueingAgainAfterStop);
                }
                *self = Self::Not;
                GoOn::QueueAnew
            }
        }
    }

    /// Leaves the queue if a stopped waiter became first, so that the others can pass.
    pub(super) fn give_place_up_if_first(&mut self, ctx: &mut Context<'_>) {
        if planted(Mistake::StoppedTakesLock)
            || *self != Self::InQueue
            || !ctx.state.claim.session().is_some_and(|session| session.locks.any_held())
        {
            return;
        }
        if let Some(path) = ctx.current_lock() {
            ctx.say_about(path, Message::LeftTheQueueStopped);
        }
        *self = Self::Leaving { goes_on: false };
        ctx.emit(ctx.state.claim.release());
    }

    /// The session that zklock was leaving has ended.
    pub(super) fn left(&mut self, ctx: &mut Context<'_>) -> GoOn {
        let goes_on = *self == Self::Leaving { goes_on: true };
        *self = Self::ConnectFailure;
        if goes_on { self.go_on(ctx) } else { GoOn::Stay }
    }

    pub(super) fn is_leaving(self) -> bool {
        matches!(self, Self::Leaving { .. })
    }

    /// Whether it has no place in the queue.
    pub(super) fn has_left(self) -> bool {
        matches!(self, Self::Leaving { .. } | Self::ConnectFailure)
    }
}

/// Whether a session's end has a cause in the client, so that it would happen again.
pub(super) fn is_hopeless(failure: &RequestError) -> bool {
    matches!(failure, RequestError::AuthFailed | RequestError::Other(_))
}
