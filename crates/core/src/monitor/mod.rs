//! The state machine of the monitor, the process that the user started: what it does for its worker, and in its
//! worker's place.
//!
//! Until every process of the command has ended, it requests nothing that could block it.

mod drive;
mod message;

use std::collections::VecDeque;
use std::time::Duration;

pub use self::drive::{MonitorDriver, MonitorSources, MonitorTurn};
pub use self::message::MonitorMessage;
use super::exit::{self, Exit};
use super::leftover_nodes::LeftoverNodes;
use super::pair::{Report, Stage};
use super::protocol::LockNode;
use super::signal::{SIGCONT, SIGKILL, ends_waiting};
use super::time::BootTime;

/// How long a worker that is only waiting may take to notice a signal that ends it.
const REACTION_TIME: Duration = Duration::from_secs(2);

/// How long it may take to leave the queue then: twice the time that servers get to answer (`releasing`), and a
/// reserve.
const LEAVING: Duration = Duration::from_secs(15);

/// An event.
#[derive(Debug)]
pub enum MonitorInput {
    /// A signal was relayed to the worker.
    Relayed(i32),
    /// The worker sent a report.
    Reported(Report),
    /// The worker has ended and is reaped. The reports that it sent before come next.
    WorkerDied(Death),
    /// The worker's state in the shared page, read after all its reports.
    Looked(WorkerState),
    /// The monitor can't wait for events, read signals or reports, or observe the worker, for this reason.
    CannotWatch(String),
    /// Answer to [`MonitorEffect::EndWorker`], [`MonitorEffect::EndNobody`] and [`MonitorEffect::EndEverybody`]: done,
    /// and all of the worker's reports have been taken in. Carries the worker's last state in the page, and the path of
    /// a node that it may have been creating.
    Ended(WorkerState, Option<String>),
    /// Answer to [`MonitorEffect::EndEverybody`]: a process doesn't end, and the user wants zklock to end.
    GaveUp(WorkerState),
    /// Answer to [`MonitorEffect::Clean`]: whether the nodes are certainly gone.
    Cleaned(bool),
}

/// The worker's state in the shared page, which needs no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerState {
    /// The worker's stage.
    pub stage: Stage,
    /// When the monitor must act.
    pub deadline: Option<BootTime>,
    /// How many of the relayed signals the worker has taken in.
    pub taken: u64,
}

/// How the worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// It exited successfully.
    Success,
    /// It exited with an error.
    Failure,
    /// This signal killed it.
    Killed(i32),
    /// The reason is unknown.
    Unknown,
}

/// Why the worker can't do its work any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerFailure {
    /// It is hung or stopped: the lease is nearly over, and the command hasn't ended.
    Frozen,
    /// It is hung or stopped while it waits: it didn't take in a signal that ends it, or did and didn't end.
    IgnoresSignal(i32),
    /// It ended without a result, and is reaped.
    Dead(Death),
    /// The monitor can't watch over it any more, for this reason.
    Unwatched(String),
}

/// An action for the monitor's loop, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MonitorEffect {
    /// Stop by this signal of the terminal, unless zklock is continued meanwhile.
    Suspend(i32),
    /// Kill the worker, which may be alive, and reap it. The answer is [`MonitorInput::Ended`].
    EndWorker,
    /// The worker is reaped, and no other process is to be ended. The answer is [`MonitorInput::Ended`].
    EndNobody,
    /// Kill the worker, if it is alive, and every process of the command. The answer is [`MonitorInput::Ended`] or
    /// [`MonitorInput::GaveUp`].
    EndEverybody,
    /// Tell the service manager that the end takes this long.
    ExtendTimeout(Duration),
    /// Delete what is left on the servers. The answer is [`MonitorInput::Cleaned`].
    Clean(LeftoverNodes),
    /// Write this message about the first lock. Comes after everything else but the end.
    Say(MonitorMessage),
    /// The monitor's work is done. A worker that is still alive continues alone.
    Finish(Exit),
}

/// The state machine.
#[derive(Debug)]
pub struct Monitor {
    state: MonitorState,
    /// How many signals were relayed, and how many of them continued zklock.
    relayed: u64,
    continued: u64,
    /// Signals that end a waiter: each one's number among the relayed signals, the signal, and when it was relayed.
    unanswered: VecDeque<(u64, i32, BootTime)>,
    /// The first of them, and when it was relayed.
    told_to_end: Option<(i32, BootTime)>,
    /// How the worker ended, once it has.
    death: Option<Death>,
    /// Why the worker can't be watched any more.
    unwatched: Option<String>,
    /// How the worker said that zklock is to exit.
    reported_exit: Option<Exit>,
    /// The worker's session timeout: the one that it requests until it reports another.
    session_timeout: Duration,
    /// Whether the worker records a success.
    records: bool,
    /// The worker's nodes.
    nodes: Vec<LockNode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MonitorState {
    /// The worker is doing its work.
    Watching,
    /// The worker can't do its work any more, and the monitor does the rest.
    TakingOver(WorkerFailure),
    /// Only the nodes on the servers are left to be deleted. Then the monitor says what happened, and exits.
    Cleaning(MonitorMessage, Exit),
    /// Everything is done.
    Over,
}

impl Monitor {
    /// The machine for a new worker. `session_timeout` is the one that the worker will request.
    pub fn new(session_timeout: Duration, records: bool) -> Self {
        Self {
            state: MonitorState::Watching,
            relayed: 0,
            continued: 0,
            unanswered: VecDeque::new(),
            told_to_end: None,
            death: None,
            unwatched: None,
            reported_exit: None,
            session_timeout,
            records,
            nodes: vec![],
        }
    }

    /// Takes in an event that was noticed `now`.
    pub fn on(&mut self, now: BootTime, input: MonitorInput) -> Vec<MonitorEffect> {
        match (&self.state, input) {
            (_, MonitorInput::Relayed(signal)) => {
                self.relayed(signal, now);
                vec![]
            }
            (_, MonitorInput::Reported(report)) => self.reported(report),
            (MonitorState::Watching, MonitorInput::WorkerDied(death)) => {
                self.death = Some(death);
                vec![]
            }
            (MonitorState::Watching, MonitorInput::Looked(worker)) => self.judge(worker, now),
            (MonitorState::Watching, MonitorInput::CannotWatch(why)) => {
                self.unwatched = Some(why);
                vec![]
            }
            (MonitorState::TakingOver(failure), MonitorInput::Ended(worker, pending_create)) => {
                self.after_the_end(failure.clone(), worker, pending_create)
            }
            (MonitorState::TakingOver(failure), MonitorInput::GaveUp(worker)) => {
                self.finish(self.exit(failure, worker))
            }
            (MonitorState::Cleaning(message, exit), MonitorInput::Cleaned(gone)) => {
                let messages = [message.clone(), MonitorMessage::Node { gone }];
                let exit = *exit;
                self.say_and_finish(messages, exit)
            }
            _ => vec![],
        }
    }

    /// Whether the worker still counts as alive.
    fn is_watching(&self) -> bool {
        self.state == MonitorState::Watching && self.death.is_none()
    }

    /// Whether the worker has done its work, or the monitor must do it. A dead worker can't be frozen, so its death
    /// comes first.
    fn judge(&mut self, worker: WorkerState, now: BootTime) -> Vec<MonitorEffect> {
        match (self.death, self.reported_exit) {
            (Some(Death::Success), Some(exit)) => self.finish(exit),
            // By its own timer, while nothing ran: the machine slept, or both processes were frozen.
            (Some(Death::Killed(SIGKILL)), None)
                if worker.deadline.is_some_and(|deadline| deadline <= now) =>
            {
                self.take_over(WorkerFailure::Frozen, worker)
            }
            (Some(death), _) => self.take_over(WorkerFailure::Dead(death), worker),
            (None, _) => match self.failure(worker, now) {
                Some(failure) => self.take_over(failure, worker),
                None => vec![],
            },
        }
    }

    /// When to look next if nothing happens before.
    pub fn wake_at(&self, worker: WorkerState) -> Option<BootTime> {
        self.limits(worker).map(|(at, _)| at).min().filter(|_| self.state == MonitorState::Watching)
    }

    fn relayed(&mut self, signal: i32, now: BootTime) {
        self.relayed += 1;
        match signal {
            SIGCONT => self.continued += 1,
            signal if ends_waiting(signal) => {
                self.unanswered.push_back((self.relayed, signal, now));
                self.told_to_end.get_or_insert((signal, now));
            }
            _ => {}
        }
    }

    /// Takes in a report. A report of a dead worker counts, but zklock doesn't stop because of it, and exits only after
    /// all reports: something may be left to be cleaned up.
    fn reported(&mut self, report: Report) -> Vec<MonitorEffect> {
        let is_watching = self.is_watching();
        match report {
            Report::Nodes { session_timeout, nodes } => {
                (self.session_timeout, self.nodes) = (Duration::from_millis(session_timeout), nodes);
            }
            // A stop with an old count is outdated: the worker hadn't yet learned that zklock is continued.
            Report::Suspend { signal, continued } if is_watching && continued == self.continued => {
                return vec![MonitorEffect::Suspend(signal)];
            }
            // `DeadlineChanged` needs no effect, since the monitor reads the page next.
            Report::DeadlineChanged | Report::Suspend { .. } => {}
            Report::ExitNow(exit) if is_watching => return self.finish(exit),
            Report::Exit(exit) | Report::ExitNow(exit) => self.reported_exit = Some(exit),
        }
        vec![]
    }

    /// Why the worker must be ended `now`, if it must.
    fn failure(&mut self, worker: WorkerState, now: BootTime) -> Option<WorkerFailure> {
        if let Some(why) = self.unwatched.take() {
            return Some(WorkerFailure::Unwatched(why));
        }
        self.unanswered.retain(|&(number, ..)| number > worker.taken);
        self.limits(worker).find(|&(at, _)| at <= now).map(|(_, failure)| failure)
    }

    /// The times from which the worker counts as failed if its state stays as it is.
    fn limits(&self, worker: WorkerState) -> impl Iterator<Item = (BootTime, WorkerFailure)> {
        let frozen = worker.deadline.map(|at| (at, WorkerFailure::Frozen));
        let reaction = self.unanswered.front().map(|&(_, signal, at)| (at + REACTION_TIME, signal));
        let leaving = self.told_to_end.map(|(signal, at)| (at + LEAVING, signal));
        let told_to_end = reaction.into_iter().chain(leaving).filter(move |_| worker.stage == Stage::Waiting);
        frozen.into_iter().chain(told_to_end.map(|(at, signal)| (at, WorkerFailure::IgnoresSignal(signal))))
    }

    /// Ends the worker if it is alive, because a frozen worker could still start the command; then every process of the
    /// command; then deletes what is left on the servers.
    fn take_over(&mut self, failure: WorkerFailure, worker: WorkerState) -> Vec<MonitorEffect> {
        let lives = failure.leaves_it_alive();
        self.state = MonitorState::TakingOver(failure);
        vec![match worker.stage {
            // A command that ended by itself may have left descendants; they are left alone if the worker ends later,
            // too.
            Stage::Over if lives => MonitorEffect::EndWorker,
            Stage::Running => MonitorEffect::EndEverybody,
            Stage::Waiting if lives => MonitorEffect::EndEverybody,
            Stage::Waiting | Stage::Over => MonitorEffect::EndNobody,
        }]
    }

    fn after_the_end(
        &mut self,
        failure: WorkerFailure,
        worker: WorkerState,
        pending_create: Option<String>,
    ) -> Vec<MonitorEffect> {
        let exit = self.exit(&failure, worker);
        let message = MonitorMessage::Worker { failure, stage: worker.stage };
        let leftover = LeftoverNodes {
            session_timeout: self.session_timeout,
            nodes: self.nodes.clone(),
            pending_create,
        };
        if leftover.is_empty() {
            return self.say_and_finish([message], exit);
        }
        self.state = MonitorState::Cleaning(message, exit);
        // Until the nodes are gone by themselves.
        let longer = MonitorEffect::ExtendTimeout(self.session_timeout + LEAVING);
        vec![longer, MonitorEffect::Clean(leftover)]
    }

    /// zklock's exit after a failure of the worker.
    fn exit(&self, failure: &WorkerFailure, worker: WorkerState) -> Exit {
        match (self.reported_exit, worker.stage, failure) {
            // The command's own exit code, or that of a decision already made.
            (Some(exit), ..) => exit,
            (_, Stage::Running, _) => Exit::Code(exit::LOST),
            (_, Stage::Waiting, &WorkerFailure::IgnoresSignal(signal)) => Exit::Signal(signal),
            (_, Stage::Waiting | Stage::Over, _) => Exit::Code(exit::FAILURE),
        }
    }

    /// Messages come last: nothing that happens to a writer may keep the monitor from its work.
    fn say_and_finish(
        &mut self,
        messages: impl IntoIterator<Item = MonitorMessage>,
        exit: Exit,
    ) -> Vec<MonitorEffect> {
        // The command had succeeded, and whether the worker had also recorded that isn't known.
        let is_uncertain = self.records && exit == Exit::Code(0);
        let messages = messages.into_iter().chain(is_uncertain.then_some(MonitorMessage::RecordUncertain));
        let says = messages.map(MonitorEffect::Say);
        says.chain(self.finish(exit)).collect()
    }

    fn finish(&mut self, exit: Exit) -> Vec<MonitorEffect> {
        self.state = MonitorState::Over;
        vec![MonitorEffect::Finish(exit)]
    }
}

impl WorkerFailure {
    fn leaves_it_alive(&self) -> bool {
        !matches!(self, Self::Dead(_))
    }
}

#[cfg(test)]
mod tests;
