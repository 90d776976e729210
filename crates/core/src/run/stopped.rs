//! A waiter that is stopped, for example by Ctrl-Z, and its place in the queue.

use super::progress::Progress;
use super::{Context, Effect};
use crate::message::{LeftStopped, Message};
use crate::path::LockPath;
use crate::protocol::RequestError;

/// Whether zklock is stopped while it waits. The worker isn't stopped, so its session stays alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// It isn't stopped.
    Not,
    /// It is stopped, and keeps its place in the queue until it becomes first.
    InQueue,
    /// It is first on a lock and is giving up its place, because a stopped contender must not make others wait. It may
    /// have been continued meanwhile.
    Leaving {
        /// The lock.
        first_on: LockPath,
        /// Since when it is first there.
        left: LeftStopped,
        /// Whether it has been continued.
        goes_on: bool,
    },
    /// It has left, and has no session. A new one begins when it is continued.
    Left {
        /// The lock on which it was first.
        first_on: LockPath,
        /// Since when it was first there.
        left: LeftStopped,
    },
}

/// The reaction to being continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoOn {
    /// Stay where it is.
    Stay,
    /// Enter the queue again.
    QueueAnew,
}

impl Stop {
    /// zklock is to stop. No command is running yet that could stop with it.
    pub(super) fn suspend(&mut self, ctx: &mut Context<'_>) {
        match self {
            Self::Not => {
                *self = Self::InQueue;
                let session = ctx.state.claim.session();
                match session.and_then(|session| session.locks.last_held()).cloned() {
                    Some(path) => {
                        self.give_place_up(path, LeftStopped::WasFirst, ctx);
                    }
                    _ => ctx.state.claim.mark_stopped(true, ctx.now, ctx.out),
                }
            }
            Self::Leaving { goes_on, .. } => *goes_on = false,
            Self::InQueue | Self::Left { .. } => {}
        }
        ctx.progress(Progress::erase);
        // The message is written before the shell's prompt.
        ctx.emit(Effect::FlushBeforeStop(ctx.state.claim.time_to_spare()));
        ctx.emit(Effect::StopWaiting);
    }

    /// zklock is continued.
    pub(super) fn go_on(&mut self, ctx: &mut Context<'_>) -> GoOn {
        match self {
            Self::Not => GoOn::Stay,
            Self::InQueue => {
                *self = Self::Not;
                ctx.state.claim.mark_stopped(false, ctx.now, ctx.out);
                GoOn::Stay
            }
            // zklock queues again once it has left.
            Self::Leaving { goes_on, .. } => {
                *goes_on = true;
                GoOn::Stay
            }
            Self::Left { first_on, left } => {
                ctx.say_about(first_on.clone(), Message::QueueingAgainAfterStop(*left));
                *self = Self::Not;
                GoOn::QueueAnew
            }
        }
    }

    /// Leaves the queue of every lock, because a stopped waiter is first on this one: others can pass.
    pub(super) fn give_place_up(&mut self, first_on: LockPath, left: LeftStopped, ctx: &mut Context<'_>) {
        ctx.say_about(first_on.clone(), Message::LeftTheQueueStopped(left));
        *self = Self::Leaving { first_on, left, goes_on: false };
        ctx.emit(ctx.state.claim.release());
    }

    /// The session that zklock was leaving has ended.
    pub(super) fn left(&mut self, ctx: &mut Context<'_>) -> GoOn {
        let Self::Leaving { first_on, left, goes_on } = self.clone() else { return GoOn::Stay };
        *self = Self::Left { first_on, left };
        if goes_on { self.go_on(ctx) } else { GoOn::Stay }
    }

    /// The lock on which it was first while stopped, if it has no place in any queue because of that.
    pub(super) fn was_first_on(&self) -> Option<(&LockPath, LeftStopped)> {
        match self {
            Self::Leaving { first_on, left, .. } | Self::Left { first_on, left } => Some((first_on, *left)),
            Self::Not | Self::InQueue => None,
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self, Self::Leaving { .. })
    }
}

/// Whether a session's end has a cause in the client, so that it would happen again.
pub(super) fn is_hopeless(failure: &RequestError) -> bool {
    matches!(failure, RequestError::AuthFailed | RequestError::Other(_))
}
