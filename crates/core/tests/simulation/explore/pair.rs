//! Explores the monitor's loop: what the worker writes to the page and reports, its death and a signal come in every
//! order, each between any two observations of the monitor.
//!
//! | in reality | here |
//! |---|---|
//! | the monitor's loop and machine | the shipped `MonitorDriver` |
//! | page, socket, signals, death | acts of a script, which become visible one by one |
//! | the end of all processes, cleaning up | immediate |

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use zklock_core::exit::{Exit, FAILURE, LOST};
use zklock_core::monitor::{
    Death, MonitorDriver, MonitorEffect, MonitorInput, MonitorSources, MonitorTurn, WorkerState,
};
use zklock_core::pair::{Report, Stage};
use zklock_core::protocol::LockNode;
use zklock_core::signal::{SIGCONT, SIGINT, SIGTSTP};
use zklock_core::time::BootTime;

use super::choices::{self, Choices};

/// Something that the worker does, or that happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    Writes(Stage),
    /// It writes when the monitor must act, in seconds.
    Deadline(u64),
    Reports(Report),
    Dies(Death),
}

use Act::{Deadline, Dies, Reports, Writes};

/// A worker's acts in their order, and the signals that zklock gets meanwhile.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    worker: Vec<Act>,
    signals: Vec<i32>,
}

impl Scene {
    /// How many departures reach every order.
    fn acts(&self) -> usize {
        self.worker.len() + self.signals.len()
    }
}

const LEFT: Exit = Exit::Signal(SIGINT);
const TIMEOUT: Duration = Duration::from_secs(9);

/// The scenes: name, largest number of departures, acts.
pub(super) fn scenes() -> Vec<(&'static str, usize, Scene)> {
    let nodes = || {
        let nodes = vec![LockNode { path: "/l/a/n".into(), czxid: 5 }];
        Reports(Report::Nodes { session_timeout: 4_000, nodes })
    };
    let leaves = || Reports(Report::ExitNow(LEFT));
    let exits = || Reports(Report::Exit(Exit::Code(7)));
    let stops = || Reports(Report::Suspend { signal: SIGTSTP, continued: 0 });
    let ended = Dies(Death::Success);
    let killed = Dies(Death::Killed(9));
    let (runs, is_over) = (Writes(Stage::Running), Writes(Stage::Over));
    let of = |name, worker: Vec<Act>, signal: i32| {
        let scene = Scene { worker, signals: vec![signal] };
        (name, scene.acts(), scene)
    };
    vec![
        of("monitor: a waiter leaves", vec![nodes(), leaves(), ended.clone()], SIGINT),
        of("monitor: a waiter leaves and is killed", vec![nodes(), leaves(), killed.clone()], SIGINT),
        of("monitor: a waiter is killed", vec![nodes(), killed.clone()], SIGINT),
        of("monitor: a waiter hangs", vec![nodes()], SIGINT),
        of("monitor: a waiter stops", vec![nodes(), stops(), leaves(), ended.clone()], SIGCONT),
        of("monitor: a command ends", vec![runs.clone(), is_over.clone(), exits(), ended.clone()], SIGINT),
        of("monitor: a holder is killed", vec![nodes(), runs.clone(), killed.clone()], SIGINT),
        of("monitor: a holder is killed at its end", vec![nodes(), runs.clone(), exits(), killed], SIGCONT),
        of("monitor: a holder hangs", vec![nodes(), Deadline(5), runs], SIGINT),
        of("monitor: a release hangs", vec![nodes(), Deadline(5), is_over, exits()], SIGINT),
    ]
}

/// What the monitor observes.
struct Pair<'a>(RefCell<State<'a>>);

struct State<'a> {
    choices: &'a mut Choices,
    /// The acts that are still to come.
    worker: VecDeque<Act>,
    signals: VecDeque<i32>,
    now: Duration,
    page: WorkerState,
    /// Signals that arrived, and reports, that the monitor hasn't read.
    arrived: VecDeque<i32>,
    reports: VecDeque<Report>,
    death: Option<Death>,
    /// The signal that announces the death is pending.
    is_announced: bool,
    is_reaped: bool,
    /// It has read something since the last wait that something ended.
    has_read: bool,
    nodes: Vec<LockNode>,
    said: Option<Exit>,
}

impl State<'_> {
    /// Lets acts take place before an observation: none in the plain schedule.
    fn observed(&mut self) {
        while let Some(actor) = self.choices.choose(1 + self.actors()).checked_sub(1) {
            self.acts(actor);
        }
    }

    /// How many have something left to do: the worker first, then who sends signals.
    fn actors(&self) -> usize {
        usize::from(!self.worker.is_empty()) + usize::from(!self.signals.is_empty())
    }

    fn acts(&mut self, actor: usize) {
        let now = u64::try_from(self.now.as_nanos()).unwrap_or(u64::MAX);
        let act = if actor == 0 { self.worker.pop_front() } else { None };
        let Some(act) = act else {
            let signal = self.signals.pop_front();
            self.choices.tell(now, || format!("signal {signal:?} arrives"));
            self.arrived.extend(signal);
            return;
        };
        self.choices.tell(now, || format!("the worker: {act:?}"));
        match act {
            Writes(stage) => self.page.stage = stage,
            Deadline(second) => self.page.deadline = Some(BootTime::from_start(Duration::from_secs(second))),
            Reports(report) => self.sent(report),
            Dies(death) => (self.death, self.is_announced) = (Some(death), true),
        }
    }

    fn sent(&mut self, report: Report) {
        match &report {
            Report::Nodes { nodes, .. } => self.nodes.clone_from(nodes),
            Report::Exit(exit) | Report::ExitNow(exit) => self.said = Some(*exit),
            _ => {}
        }
        self.reports.push_back(report);
    }

    /// Waits for something new, or until then. Returns `false` if nothing ends the wait.
    fn waits(&mut self, until: Option<BootTime>) -> bool {
        if self.is_announced || !self.arrived.is_empty() || !self.reports.is_empty() {
            // A monitor that doesn't read what wakes it would wait in vain again and again.
            return std::mem::take(&mut self.has_read);
        }
        self.has_read = true;
        if self.actors() > 0 {
            let actor = self.choices.choose(self.actors());
            self.acts(actor);
            return true;
        }
        let Some(until) = until.map(BootTime::since_start) else { return false };
        let passes = until > self.now;
        self.now = until;
        passes
    }

    /// How the monitor has to end: which processes it ends, whether it cleans up, and the outcome.
    fn expected(&self) -> (Option<MonitorEffect>, bool, Exit) {
        let cleans = !self.nodes.is_empty();
        let exit = Exit::Code;
        let said = self.said;
        let is_left = said.as_ref().filter(|_| !self.is_reaped && self.page.deadline.is_none());
        match (self.death.filter(|_| self.is_reaped), self.page.stage) {
            (None, _) if is_left.is_some() => (None, false, said.unwrap_or(LEFT)),
            (Some(Death::Success), _) => (None, false, said.unwrap_or(exit(FAILURE))),
            (_, Stage::Running) => (Some(MonitorEffect::EndEverybody), cleans, said.unwrap_or(exit(LOST))),
            (Some(_), _) => (Some(MonitorEffect::EndNobody), cleans, said.unwrap_or(exit(FAILURE))),
            (None, Stage::Over) => (Some(MonitorEffect::EndWorker), cleans, said.unwrap_or(exit(FAILURE))),
            // It hangs while it waits: it doesn't react to the signal, or its time is over.
            (None, Stage::Waiting) => (Some(MonitorEffect::EndEverybody), cleans, said.unwrap_or(LEFT)),
        }
    }
}

impl MonitorSources for Pair<'_> {
    fn now(&self) -> BootTime {
        BootTime::from_start(self.0.borrow().now)
    }

    fn relayed(&mut self) -> Option<i32> {
        let state = self.0.get_mut();
        state.observed();
        state.has_read |= std::mem::take(&mut state.is_announced) || !state.arrived.is_empty();
        state.arrived.pop_front()
    }

    fn death(&mut self) -> Option<Death> {
        let state = self.0.get_mut();
        state.observed();
        state.is_reaped = state.death.is_some();
        state.has_read |= state.is_reaped;
        state.death
    }

    fn report(&mut self) -> Option<Report> {
        let state = self.0.get_mut();
        state.observed();
        state.has_read |= !state.reports.is_empty();
        state.reports.pop_front()
    }

    fn worker(&self) -> WorkerState {
        let mut state = self.0.borrow_mut();
        state.observed();
        state.page
    }
}

/// Runs a scene.
pub(super) fn run(scene: &Scene, choices: &mut Choices) -> choices::Outcome {
    let mut driver = MonitorDriver::new(TIMEOUT, false);
    let mut pair = Pair(RefCell::new(State {
        choices,
        worker: scene.worker.clone().into(),
        signals: scene.signals.clone().into(),
        now: Duration::ZERO,
        page: WorkerState { stage: Stage::Waiting, deadline: None, taken: 0 },
        arrived: VecDeque::new(),
        reports: VecDeque::new(),
        death: None,
        is_announced: false,
        is_reaped: false,
        has_read: true,
        nodes: vec![],
        said: None,
    }));
    let (mut ends, mut cleans) = (None, false);
    loop {
        let effect = match driver.next(&mut pair) {
            MonitorTurn::CarryOut(effect) => effect,
            MonitorTurn::Wait(until) if pair.0.get_mut().waits(until) => continue,
            MonitorTurn::Wait(_) => return Err("the monitor waits for ever".to_owned()),
        };
        let state = pair.0.get_mut();
        state.choices.tell(0, || format!("the monitor: {effect:?}"));
        match effect {
            MonitorEffect::Finish(outcome) => return judge(state, ends, cleans, outcome),
            MonitorEffect::EndWorker | MonitorEffect::EndNobody | MonitorEffect::EndEverybody => {
                // What the worker would have done no longer happens.
                state.worker.clear();
                driver.answer(MonitorInput::Ended(state.page, None));
                if ends.replace(effect).is_some() {
                    return Err("the monitor ends the processes twice".to_owned());
                }
            }
            MonitorEffect::Clean(leftover) => {
                if ends.is_none() {
                    return Err("the monitor cleans up before the processes have ended".to_owned());
                }
                cleans = !leftover.nodes.is_empty();
                driver.answer(MonitorInput::Cleaned(true));
            }
            MonitorEffect::Suspend(_) if state.is_reaped => {
                return Err("the monitor stops for a dead worker".to_owned());
            }
            MonitorEffect::Suspend(_) | MonitorEffect::ExtendTimeout(_) | MonitorEffect::Say(_) => {}
        }
    }
}

fn judge(state: &State<'_>, ends: Option<MonitorEffect>, cleans: bool, outcome: Exit) -> choices::Outcome {
    let (found, expected) = ((ends, cleans, outcome), state.expected());
    if found == expected { Ok(()) } else { Err(format!("the monitor did {found:?} instead of {expected:?}")) }
}
