//! The release: delete and close, until both are answered.

use std::time::Duration;

use super::{Effect, End, Input, Next, Scene};
use crate::core::exit::Exit;
use crate::core::message::Message;
use crate::core::path::LockPath;
use crate::core::planted::{Mistake, planted};
use crate::core::run::claim::{Claim, Notice};
use crate::core::signal::ends_waiting;
use crate::core::time::BootTime;

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
    pub(super) fn begin(kind: ReleaseKind, end: FinalExit, scene: &mut Scene<'_>) -> (Self, Option<Next>) {
        let claim = &scene.state.claim;
        let until = scene.now + answer_limit(claim);
        let mut releasing = Self { kind, end, until, step: ReleaseStep::Closing };
        if !claim.has_begun() || planted(Mistake::LeavesItsPlace) && kind == ReleaseKind::PlaceInQueue {
            let next = releasing.done(scene);
            return (releasing, Some(next));
        }
        scene.does(Effect::Line(None));
        if scene.state.monitor_died {
            scene.does(Effect::Detach);
        }
        if scene.state.claim.is_over() {
            let next = releasing.session_over(scene);
            return (releasing, next);
        }
        scene.does(scene.state.claim.release());
        (releasing, None)
    }

    pub(super) fn on(&mut self, input: Input, scene: &mut Scene<'_>) -> Option<Next> {
        let notices = match input {
            Input::Tick if scene.now >= self.until => return Some(self.unconfirmed(scene)),
            Input::Signal(signal) if self.kind == ReleaseKind::PlaceInQueue && ends_waiting(signal) => {
                return Some(Next::Finish(End::Leave(Exit::Signal(signal), scene.state.claim.left_behind())));
            }
            Input::MonitorDied => {
                scene.does(Effect::Detach);
                return None;
            }
            Input::Cleaned(true) if self.step == ReleaseStep::Cleaning => return Some(self.gone(scene)),
            Input::Cleaned(false) if self.step == ReleaseStep::Cleaning => {
                return Some(self.unconfirmed(scene));
            }
            Input::Session(key, change) => {
                scene.state.claim.session_changed(key, change, scene.now, scene.out)
            }
            Input::Reply(key, asker, reply) => {
                scene.state.claim.replied(key, asker, reply, scene.now, scene.out)
            }
            _ => return None,
        };
        if self.step == ReleaseStep::Cleaning {
            return None;
        }
        if notices.iter().any(|notice| matches!(notice, Notice::Closed)) {
            let said = match self.kind {
                ReleaseKind::Locks => Message::Released,
                ReleaseKind::PlaceInQueue => Message::LeftTheQueue,
            };
            scene.says_of_own_nodes(&said);
            return Some(self.done(scene));
        }
        if scene.state.claim.is_over() { self.session_over(scene) } else { None }
    }

    pub(super) fn wake_at(&self) -> BootTime {
        self.until
    }

    /// Handles a session that ended otherwise than by closing it.
    fn session_over(&mut self, scene: &mut Scene<'_>) -> Option<Next> {
        let claim = &scene.state.claim;
        let leftover = claim.left_behind().filter(|leftover| !claim.is_gone() && !leftover.is_empty());
        let Some(leftover) = leftover else { return Some(self.gone(scene)) };
        (self.step, self.until) = (ReleaseStep::Cleaning, scene.now + answer_limit(claim));
        scene.does(Effect::Clean(leftover));
        None
    }

    fn gone(&self, scene: &mut Scene<'_>) -> Next {
        scene.says_of_own_nodes(&Message::SessionOver);
        self.done(scene)
    }

    fn done(&self, scene: &mut Scene<'_>) -> Next {
        self.say_final_message(scene);
        Next::Finish(End::Exit(self.end.exit))
    }

    /// Handles servers that don't answer. They may come back while the session is alive.
    fn unconfirmed(&self, scene: &mut Scene<'_>) -> Next {
        scene.says_of_own_nodes(&Message::ReleaseUnconfirmed);
        self.say_final_message(scene);
        Next::Finish(End::Leave(self.end.exit, scene.state.claim.left_behind()))
    }

    fn say_final_message(&self, scene: &mut Scene<'_>) {
        let FinalExit { about, final_message, .. } = self.end.clone();
        if let Some(word) = final_message {
            scene.says_of(about.unwrap_or_else(|| scene.plan.first.clone()), word);
        }
    }
}

/// How long to wait for servers at the end: at most the session timeout, because the session's end deletes the nodes.
/// Without a session there are no nodes to wait for.
pub(super) fn answer_limit(claim: &Claim) -> Duration {
    claim.lease().map_or(NOTHING_TO_LOSE, |lease| lease.timeout().min(LONGEST))
}
