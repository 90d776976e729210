//! A waiter that is stopped, as by Ctrl-Z, and what that means for its place in the queue.

use super::{Effect, Line, Scene};
use crate::core::lock::set::Set;
use crate::core::message::Message;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::Failure;

/// Whether zklock is stopped while it waits. Its process isn't, and so its session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It isn't.
    Not,
    /// It is, and keeps its place until its turn comes.
    InQueue,
    /// Its turn came: the place is being given up, since nobody may wait for somebody who is stopped. Meanwhile zklock may
    /// have been told to go on.
    Leaving {
        /// Whether it was.
        goes_on: bool,
    },
    /// It has no session. Another begins when it goes on.
    Away,
}

/// What to do about the order to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoOn {
    /// Nothing, or nothing yet.
    Stay,
    /// Queue anew.
    QueueAnew,
}

impl Stop {
    /// zklock is to stop. Nothing runs yet that could stop with it.
    pub(super) fn suspend(&mut self, scene: &mut Scene<'_>) {
        *self = match *self {
            Self::Not => {
                scene.state.claim.mark_stopped(true, scene.now, scene.out);
                Self::InQueue
            }
            Self::Leaving { .. } => Self::Leaving { goes_on: false },
            other => other,
        };
        scene.does(Effect::Line(Line::Clear));
        // Before the shell's prompt.
        scene.does(Effect::AwaitLastWords(scene.state.claim.time_to_spare()));
        scene.does(Effect::StopWaiting);
    }

    /// zklock is to go on.
    pub(super) fn go_on(&mut self, scene: &mut Scene<'_>) -> GoOn {
        match *self {
            Self::Not => GoOn::Stay,
            Self::InQueue => {
                *self = Self::Not;
                scene.state.claim.mark_stopped(false, scene.now, scene.out);
                GoOn::Stay
            }
            // As soon as that is done.
            Self::Leaving { .. } => {
                *self = Self::Leaving { goes_on: true };
                GoOn::Stay
            }
            Self::Away => {
                if let Some(path) = scene.current_lock() {
                    scene.says_of(path, Message::QueueingAgainAfterStop);
                }
                *self = Self::Not;
                GoOn::QueueAnew
            }
        }
    }

    /// A waiter that is stopped is nobody's turn: it lets the others pass.
    pub(super) fn give_place_up_if_its_turn_came(&mut self, scene: &mut Scene<'_>) {
        if planted(Mistake::StoppedTakesLock)
            || *self != Self::InQueue
            || !scene.state.claim.set().is_some_and(Set::any_held)
        {
            return;
        }
        if let Some(path) = scene.current_lock() {
            scene.says_of(path, Message::LeftTheQueueStopped);
        }
        *self = Self::Leaving { goes_on: false };
        scene.does(Effect::Line(Line::End));
        scene.does(scene.state.claim.release());
    }

    /// The session that is being left is over.
    pub(super) fn left(&mut self, scene: &mut Scene<'_>) -> GoOn {
        let goes_on = *self == Self::Leaving { goes_on: true };
        *self = Self::Away;
        if goes_on { self.go_on(scene) } else { GoOn::Stay }
    }

    pub(super) fn is_leaving(self) -> bool {
        matches!(self, Self::Leaving { .. })
    }

    /// Whether it has no place in the queue.
    pub(super) fn has_left(self) -> bool {
        matches!(self, Self::Leaving { .. } | Self::Away)
    }
}

/// Whether the end of a session is that of the client: it would happen again.
pub(super) fn is_hopeless(failure: &Failure) -> bool {
    matches!(failure, Failure::AuthFailed | Failure::Other(_))
}
