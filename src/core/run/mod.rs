//! A run of zklock, from the first look at the locks around it to the release: what happened goes in, what is to be done
//! comes out.
//!
//! Each phase is a file, and its `on` is one match over what can happen in it. A phase never begins another: it says what
//! comes next, and [`Run`] makes the step.

mod effect;
mod input;
mod lineage;
mod nested;
mod plan;
mod progress;
mod queueing;
mod recording;
mod releasing;
mod remains;
mod running;
mod starting;
mod stopped;
mod variables;

use std::time::Duration;

pub use self::effect::{Effect, End, Line, Seen};
pub use self::input::{Ancestor, Input, Introduction, KillRound, LeaderChange, LookUp};
use self::nested::Nested;
pub use self::plan::Plan;
use self::queueing::Queueing;
use self::recording::Recording;
use self::releasing::{Giving, Releasing, Verdict};
pub use self::remains::Remains;
use self::running::Running;
use super::claim::Claim;
use super::environment::HeldLock;
use super::exit::{self, Exit};
use super::lock::record::Record;
use super::lock::set::Set;
use super::message::Message;
use super::path::LockPath;
use super::planted::{Mistake, planted};
use super::protocol::{Asker, Request};
use super::time::BootTime;

/// What there is to do after the command takes no longer: the record of its success, the release, and some last words.
const LONGEST_END: Duration = Duration::from_secs(20);

/// The machine of the process that works.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    state: State,
    phase: Phase,
}

/// What outlives a phase.
#[derive(Debug)]
struct State {
    claim: Claim,
    /// Those of the locks that the command around us holds.
    held_around: Vec<HeldLock>,
    /// What our nodes say of us, once that is known.
    record: Option<Record>,
    monitor_died: bool,
}

/// How far the run is.
#[derive(Debug)]
enum Phase {
    /// Nothing has begun, or all is over.
    Done,
    /// Are the locks held by the command that zklock runs in?
    Nested(Nested),
    /// Connecting and waiting.
    Queueing(Box<Queueing>),
    /// The locks are ours, and the command is being started.
    Starting,
    /// The command runs, or is being stopped.
    Running(Box<Running>),
    /// The command has succeeded, and that is recorded.
    Recording(Recording),
    /// What is ours is given back.
    Releasing(Releasing),
}

/// The phases as people name them: docs/signals.md has a row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhaseName {
    /// Looking at the locks around.
    Nested,
    /// No session yet.
    Connecting,
    /// In the queue.
    Waiting,
    /// The command is being started.
    Starting,
    /// The command runs.
    Running,
    /// The command is being stopped because the lock is lost or revoked.
    Stopping,
    /// A success is being recorded.
    Recording,
    /// What is ours is given back.
    Releasing,
    /// Nothing has begun, or all is over.
    Done,
}

/// What a phase leads to.
#[derive(Debug)]
enum Next {
    /// Queue for the locks that nobody around us holds.
    Queue,
    /// Start the command: every lock is ours.
    Start,
    /// It runs.
    Run,
    /// It has ended so, by itself.
    Ended(Exit),
    /// Give back what is ours, and end so.
    Release(Giving, Verdict),
    /// All is over.
    Finish(End),
}

impl Next {
    /// Gives up before the command is started, and says why.
    fn fail(why: Message) -> Self {
        Self::Release(Giving::PlaceInQueue, Verdict { exit: Exit::Code(exit::FAILURE), last_word: Some(why) })
    }

    /// Gives up before the command is started. If there is something to be said of it, it was.
    fn leave(exit: Exit) -> Self {
        Self::Release(Giving::PlaceInQueue, Verdict { exit, last_word: None })
    }
}

/// What a phase sees and changes besides itself.
struct Scene<'a> {
    now: BootTime,
    plan: &'a Plan,
    state: &'a mut State,
    out: &'a mut Vec<Effect>,
}

impl Scene<'_> {
    fn does(&mut self, effect: Effect) {
        self.out.push(effect);
    }

    fn asks(&mut self, asker: Asker, requests: Vec<Request>) {
        self.out.extend(requests.into_iter().map(|request| Effect::Ask(asker, request)));
    }

    /// Says something of the run as a whole.
    fn says(&mut self, message: Message) {
        self.says_of(self.plan.first.clone(), message);
    }

    fn says_of(&mut self, path: LockPath, message: Message) {
        self.out.push(Effect::Say(path, message));
    }

    /// Says something of every lock where we have a node.
    fn says_of_our_nodes(&mut self, message: &Message) {
        let paths: Vec<LockPath> = self.our_locks();
        for path in paths {
            self.says_of(path, message.clone());
        }
    }

    fn our_locks(&self) -> Vec<LockPath> {
        let nodes = self.state.claim.set().into_iter().flat_map(Set::nodes);
        nodes.map(|(path, _)| path.clone()).collect()
    }

    /// The path of the lock that is being waited for.
    fn current_lock(&self) -> Option<LockPath> {
        self.state.claim.set().and_then(|set| set.path(set.current())).cloned()
    }
}

impl Run {
    /// A run that hasn't begun.
    pub fn new(plan: Plan) -> Self {
        let state = State { claim: Claim::default(), held_around: vec![], record: None, monitor_died: false };
        Self { plan, state, phase: Phase::Done }
    }

    /// Begins.
    pub fn begin(&mut self, now: BootTime) -> Vec<Effect> {
        let mut out = vec![];
        let mut scene = Scene { now, plan: &self.plan, state: &mut self.state, out: &mut out };
        let (nested, next) = Nested::begin(&mut scene);
        self.phase = Phase::Nested(nested);
        self.go(next, now, &mut out);
        out
    }

    /// Takes in what happened, which was noticed `now`.
    pub fn on(&mut self, now: BootTime, input: Input) -> Vec<Effect> {
        let mut out = vec![];
        if planted(Mistake::OrphanedWorker) && matches!(input, Input::MonitorDied) {
            return out;
        }
        self.state.monitor_died |= matches!(input, Input::MonitorDied);
        let mut scene = Scene { now, plan: &self.plan, state: &mut self.state, out: &mut out };
        let next = match &mut self.phase {
            Phase::Done => None,
            Phase::Nested(phase) => phase.on(input, &mut scene),
            Phase::Queueing(phase) => phase.on(input, &mut scene),
            Phase::Starting => starting::on(input, &mut scene),
            Phase::Running(phase) => phase.on(input, &mut scene),
            Phase::Recording(phase) => phase.on(input, &mut scene),
            Phase::Releasing(phase) => phase.on(input, &mut scene),
        };
        self.go(next, now, &mut out);
        out
    }

    /// When to look at the time again, if nothing happens before.
    pub fn wake_at(&self, now: BootTime) -> Option<BootTime> {
        let claim = &self.state.claim;
        match &self.phase {
            Phase::Done | Phase::Nested(_) | Phase::Starting => None,
            Phase::Queueing(phase) => phase.wake_at(&self.plan, claim),
            Phase::Running(phase) => phase.wake_at(&self.plan, claim, now),
            Phase::Recording(phase) => Some(phase.wake_at()),
            Phase::Releasing(phase) => Some(phase.wake_at()),
        }
    }

    /// How far the run is.
    pub fn phase(&self) -> PhaseName {
        match &self.phase {
            Phase::Done => PhaseName::Done,
            Phase::Nested(_) => PhaseName::Nested,
            Phase::Queueing(phase) if phase.is_connected() => PhaseName::Waiting,
            Phase::Queueing(_) => PhaseName::Connecting,
            Phase::Starting => PhaseName::Starting,
            Phase::Running(phase) if phase.is_stopping() => PhaseName::Stopping,
            Phase::Running(_) => PhaseName::Running,
            Phase::Recording(_) => PhaseName::Recording,
            Phase::Releasing(_) => PhaseName::Releasing,
        }
    }

    fn go(&mut self, next: Option<Next>, now: BootTime, out: &mut Vec<Effect>) {
        let mut next = next;
        while let Some(step) = next.take() {
            let mut scene = Scene { now, plan: &self.plan, state: &mut self.state, out };
            (self.phase, next) = match step {
                Next::Queue => (Phase::Queueing(Box::new(Queueing::begin(&mut scene))), None),
                Next::Start => (Phase::Starting, starting::begin(&mut scene)),
                Next::Run => (Phase::Running(Box::new(Running::begin(&scene))), None),
                Next::Ended(exit) => match Recording::begin(exit, &mut scene) {
                    Some(recording) => (Phase::Recording(recording), None),
                    None => (Phase::Done, Some(recording::release(exit))),
                },
                Next::Release(giving, verdict) => {
                    let (releasing, next) = Releasing::begin(giving, verdict, &mut scene);
                    (Phase::Releasing(releasing), next)
                }
                Next::Finish(end) => {
                    scene.does(Effect::Finish(end));
                    (Phase::Done, None)
                }
            };
        }
    }
}
