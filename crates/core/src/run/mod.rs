//! A run of zklock, from the first connection to the release: events in, effects out.
//!
//! Each phase is a file, and its `on` is a single match over the events it handles. A phase never starts another one:
//! it returns what comes next, and [`Run`] takes the step.

pub mod claim;
mod drive;
mod effect;
mod input;
mod nested;
mod plan;
mod progress;
mod queueing;
mod recording;
mod releasing;
mod running;
mod starting;
mod supervisor;
mod variables;

use std::time::Duration;

use self::claim::{Claim, Session};
pub use self::drive::{Driver, Turn};
pub use self::effect::{Effect, End, JobEffect, Notification, Reach};
pub use self::input::{Input, Introduction, KillRound, LeaderChange};
pub use self::nested::Variables;
pub use self::plan::{Plan, Surroundings};
use self::progress::{Progress, Shown, Wait};
use self::queueing::Queueing;
use self::recording::Recording;
use self::releasing::{FinalExit, ReleaseKind, Releasing};
use self::running::Running;
use super::exit::{self, Exit};
use super::message::Message;
use super::path::LockPath;
use super::protocol::{Asker, Request, RequestError, SessionChange};
use super::time::BootTime;
use crate::queue::record::Record;

/// The longest that the rest may take after the command: recording its success, the release, and the last messages.
const LONGEST_REST: Duration = Duration::from_secs(20);

/// The state machine of the worker.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    state: RunState,
    phase: Phase,
}

/// What outlives a phase.
#[derive(Debug)]
struct RunState {
    claim: Claim,
    /// The record in zklock's nodes, once it is known.
    record: Option<Record>,
    monitor_died: bool,
    progress: Progress,
    /// zklock was stopped before there was a command, and hasn't been continued since.
    suspended: bool,
    /// When the next input is due at the latest, and how late this one is.
    wake_at: Option<BootTime>,
    late: Duration,
}

/// The phase of the run: docs/signals.md has a column for the reactions to signals in each.
#[derive(Debug)]
enum Phase {
    /// The run hasn't begun, or is over.
    Done,
    /// Connecting and waiting.
    Queueing(Box<Queueing>),
    /// zklock holds the locks, and the command is being started.
    Starting,
    /// The command runs, or is being stopped.
    Running(Box<Running>),
    /// The command has succeeded, and its success is being recorded.
    Recording(Recording),
    /// The locks or the places in the queue are being released.
    Releasing(Releasing),
}

/// The next step after a phase.
#[derive(Debug)]
enum Next {
    /// Start the command: zklock holds every lock.
    Start,
    /// The command runs.
    Run,
    /// The command ended by itself, this way.
    Ended(Exit),
    /// Release, and end this way.
    Release(ReleaseKind, FinalExit),
    /// The run is over.
    Finish(End),
}

impl Next {
    /// Gives up before the command is started, with this message.
    fn fail(why: Message) -> Self {
        Self::Release(
            ReleaseKind::PlaceInQueue,
            FinalExit { exit: Exit::Code(exit::FAILURE), about: None, final_message: Some(why) },
        )
    }

    /// The same, with a message about one lock of several.
    fn fail_at(path: Option<LockPath>, why: Message) -> Self {
        let exit = FinalExit { exit: Exit::Code(exit::FAILURE), about: path, final_message: Some(why) };
        Self::Release(ReleaseKind::PlaceInQueue, exit)
    }

    /// Gives up before the command is started. Any message has already been written.
    fn leave(exit: Exit) -> Self {
        Self::Release(ReleaseKind::PlaceInQueue, FinalExit { exit, about: None, final_message: None })
    }
}

/// The data that a phase reads and changes, apart from its own.
struct Context<'a> {
    now: BootTime,
    plan: &'a Plan,
    state: &'a mut RunState,
    out: &'a mut Vec<Effect>,
}

impl Context<'_> {
    fn emit(&mut self, effect: Effect) {
        self.out.push(effect);
    }

    fn request(&mut self, asker: Asker, requests: Vec<Request>) {
        self.out.extend(requests.into_iter().map(|request| Effect::Ask(asker, request)));
    }

    /// Writes a message about the run as a whole.
    fn say(&mut self, message: Message) {
        self.say_about(self.plan.first().clone(), message);
    }

    fn say_about(&mut self, path: LockPath, message: Message) {
        self.out.push(Effect::Say(path, message));
    }

    fn say_unconfirmed(&mut self, failure: &RequestError) {
        self.say(Message::debug("confirmation_failed", format!("a confirmation failed: {failure}")));
    }

    /// Writes a message about the lock that zklock waits for or held last, or about the run while there is none.
    fn say_of_current(&mut self, message: Message) {
        self.say_about(self.path_to_show(), message);
    }

    /// The lock that zklock waits for or held last, or the first while there is none.
    fn path_to_show(&self) -> LockPath {
        let current = self.state.claim.session().and_then(|session| session.current());
        current.unwrap_or(self.plan.first()).clone()
    }

    /// Tells the present `wait` for the servers, or the one for other contenders, where that is due.
    fn show(&mut self, wait: Option<Wait>, shown: Shown) {
        let mut progress = std::mem::take(&mut self.state.progress);
        progress.update(wait, shown, self);
        self.state.progress = progress;
    }

    fn erase_line(&mut self) {
        let mut progress = std::mem::take(&mut self.state.progress);
        progress.erase(self);
        self.state.progress = progress;
    }

    /// Writes a message about every lock on which zklock has a node.
    fn say_of_own_nodes(&mut self, message: &Message) {
        let paths: Vec<LockPath> = self.own_locks();
        for path in paths {
            self.say_about(path, message.clone());
        }
    }

    fn own_locks(&self) -> Vec<LockPath> {
        let nodes = self.state.claim.session().into_iter().flat_map(Session::nodes);
        nodes.map(|(path, _)| path.clone()).collect()
    }
}

impl Run {
    /// A run that hasn't begun.
    pub fn new(plan: Plan) -> Self {
        let state = RunState {
            claim: Claim::default(),
            record: None,
            monitor_died: false,
            progress: Progress::default(),
            suspended: false,
            wake_at: None,
            late: Duration::ZERO,
        };
        Self { plan, state, phase: Phase::Done }
    }

    /// Starts the run.
    pub fn begin(&mut self, now: BootTime) -> Vec<Effect> {
        let mut out = vec![];
        let mut ctx = Context { now, plan: &self.plan, state: &mut self.state, out: &mut out };
        self.phase = Phase::Queueing(Box::new(Queueing::begin(&mut ctx)));
        out
    }

    /// Takes in an event that was noticed `now`.
    pub fn on(&mut self, now: BootTime, input: Input) -> Vec<Effect> {
        let mut out = vec![];
        self.state.late = self.state.wake_at.map_or(Duration::ZERO, |at| now.since(at));
        self.state.monitor_died |= matches!(input, Input::MonitorDied);
        if let Input::Session(key, SessionChange::ServersSay(servers)) = input {
            if self.state.claim.is_of(key) {
                self.state.progress.servers_say(servers);
            }
            return out;
        }
        let mut ctx = Context { now, plan: &self.plan, state: &mut self.state, out: &mut out };
        let next = match &mut self.phase {
            Phase::Done => None,
            Phase::Queueing(phase) => phase.on(input, &mut ctx),
            Phase::Starting => starting::on(input, &mut ctx),
            Phase::Running(phase) => phase.on(input, &mut ctx),
            Phase::Recording(phase) => phase.on(input, &mut ctx),
            Phase::Releasing(phase) => phase.on(input, &mut ctx),
        };
        self.go(next, now, &mut out);
        self.state.wake_at = self.wake_at(now);
        out
    }

    /// When to check the time next if nothing happens before.
    pub fn wake_at(&self, now: BootTime) -> Option<BootTime> {
        let claim = &self.state.claim;
        let phase = match &self.phase {
            Phase::Done | Phase::Starting => return None,
            Phase::Queueing(phase) => phase.wake_at(&self.plan, &self.state),
            Phase::Running(phase) => phase.wake_at(&self.plan, claim, now),
            Phase::Recording(phase) => Some(phase.wake_at()),
            Phase::Releasing(phase) => Some(phase.wake_at()),
        };
        [phase, self.state.progress.wake_at()].into_iter().flatten().min()
    }

    /// Whether the command has ended or will not run, and the run ends.
    pub fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Recording(_) | Phase::Releasing(_) | Phase::Done)
    }

    fn go(&mut self, next: Option<Next>, now: BootTime, out: &mut Vec<Effect>) {
        let mut next = next;
        while let Some(step) = next.take() {
            let mut ctx = Context { now, plan: &self.plan, state: &mut self.state, out };
            (self.phase, next) = match step {
                Next::Start => (Phase::Starting, starting::begin(&mut ctx)),
                Next::Run => (Phase::Running(Box::new(Running::begin(&ctx))), None),
                Next::Ended(exit) => match Recording::begin(exit, &mut ctx) {
                    Some(recording) => (Phase::Recording(recording), None),
                    None => (Phase::Done, Some(recording::release(exit))),
                },
                Next::Release(kind, end) => {
                    let (releasing, next) = Releasing::begin(kind, end, &mut ctx);
                    (Phase::Releasing(releasing), next)
                }
                Next::Finish(end) => {
                    ctx.emit(Effect::Finish(end));
                    (Phase::Done, None)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests;
