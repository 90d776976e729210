//! The state machine of the monitor, the process that the user started: what it does for its worker, and in its
//! worker's place.
//!
//! Until every process of the command has ended, it requests nothing that could block it.

mod duty;

use std::fmt;
use std::time::Duration;

use self::duty::Duty;
pub use self::duty::{Shown, Task, Why};
use super::exit::Exit;
use super::message::Level;
use super::pair::{Report, Stage};
use super::planted::{Mistake, planted};
use super::run::Remains;
use super::signal;
use super::time::BootTime;

/// An event.
#[derive(Debug)]
pub enum MonitorInput {
    /// A signal was relayed to the worker.
    Relayed(i32),
    /// The worker sent a report.
    Reported(Report),
    /// The worker's state in the shared page, read after all its reports.
    Looked(Shown),
    /// The worker has ended and is reaped. All its reports have been taken in.
    WorkerEnded(Death, Shown),
    /// Answer to [`MonitorEffect::EndWorker`] and [`MonitorEffect::EndEverybody`]: done, and all of the worker's
    /// reports have been taken in. Carries the worker's last state in the page, and the path of a node that it may have
    /// been creating.
    Ended(Shown, Option<String>),
    /// Answer to [`MonitorEffect::EndEverybody`]: a process doesn't end, and the user wants zklock to end.
    GaveUp(Shown),
    /// Answer to [`MonitorEffect::Clean`]: whether the nodes are certainly gone.
    Cleaned(bool),
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

/// An action for the runtime, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MonitorEffect {
    /// Stop as the terminal's signal would have done, unless zklock is continued meanwhile.
    Stop {
        /// The terminal's signal.
        signal: i32,
        /// Whether the whole process group is to stop.
        whole_group: bool,
    },
    /// Kill the worker, which may be alive, and reap it. The answer is [`MonitorInput::Ended`].
    EndWorker,
    /// The worker is reaped, and no other process is to be ended. The answer is [`MonitorInput::Ended`].
    EndNobody,
    /// Kill the worker, if it is alive, and every process of the command. The answer is [`MonitorInput::Ended`] or
    /// [`MonitorInput::GaveUp`].
    EndEverybody,
    /// Take the terminal back from the command, if the command has it.
    TakeTerminal,
    /// Write this message about the first lock. From here on the monitor may wait for its output.
    Say(Ending),
    /// Delete what is left on the servers. The answer is [`MonitorInput::Cleaned`].
    Clean(Remains),
    /// Exit this way. A worker that is still alive continues alone.
    Exit(Exit),
    /// Become the command, whose locks are all held around it, with these variables added.
    Become(Vec<(String, String)>),
}

/// The state machine.
#[derive(Debug)]
pub struct Monitor {
    duty: Duty,
    state: MonitorState,
    /// Used if the worker never reported its session timeout.
    session_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MonitorState {
    /// The worker is doing its work.
    Watching,
    /// The worker can't do its work any more.
    SharingItsFate(Cause),
    /// Only the nodes on the servers are left to be deleted.
    Cleaning(Exit),
    /// Everything is done.
    Over,
}

/// Why the worker can't do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Found(Death),
    Needed(Why),
}

impl Monitor {
    /// The machine for a new worker. `session_timeout` is the one that the worker will request.
    pub fn new(session_timeout: Duration) -> Self {
        Self { duty: Duty::default(), state: MonitorState::Watching, session_timeout }
    }

    /// Takes in an event that was noticed `now`.
    pub fn on(&mut self, now: BootTime, input: MonitorInput) -> Vec<MonitorEffect> {
        match (self.state, input) {
            (_, MonitorInput::Relayed(signal)) => {
                self.duty.relayed(signal, now);
                vec![]
            }
            (MonitorState::Watching, MonitorInput::Reported(report)) => match self.duty.take(report) {
                Task::Nothing => vec![],
                Task::Stop { signal, whole_group } => vec![MonitorEffect::Stop { signal, whole_group }],
                Task::Leave(exit) => self.exit(exit),
            },
            // Reports that it sent before its end count, except for a stop.
            (_, MonitorInput::Reported(report)) => {
                self.duty.take(report);
                vec![]
            }
            (MonitorState::Watching, MonitorInput::Looked(shown))
                if planted(Mistake::MonitorAsleep) && shown.stage == Stage::Running =>
            {
                vec![]
            }
            (MonitorState::Watching, MonitorInput::Looked(shown)) => match self.duty.look(shown, now) {
                Some(why) => self.share_its_fate(Cause::Needed(why), shown),
                None => vec![],
            },
            (MonitorState::Watching, MonitorInput::WorkerEnded(death, shown)) => {
                match self.duty.end().filter(|_| death == Death::Success) {
                    Some(end) => {
                        self.state = MonitorState::Over;
                        vec![end]
                    }
                    None => self.share_its_fate(Cause::Found(death), shown),
                }
            }
            (MonitorState::SharingItsFate(cause), MonitorInput::Ended(shown, entering)) => {
                self.after_the_end(cause, shown, entering)
            }
            (MonitorState::SharingItsFate(cause), MonitorInput::GaveUp(shown)) => {
                let exit = self.duty.exit(shown, cause.why());
                self.exit(exit)
            }
            (MonitorState::Cleaning(exit), MonitorInput::Cleaned(gone)) => {
                let mut effects = vec![MonitorEffect::Say(Ending::Node { gone })];
                effects.extend(self.exit(exit));
                effects
            }
            _ => vec![],
        }
    }

    /// When to look next if nothing happens before.
    pub fn wake_at(&self, shown: Shown) -> Option<BootTime> {
        let asleep = planted(Mistake::MonitorAsleep) && shown.stage == Stage::Running;
        self.duty.next_look(shown).filter(|_| self.state == MonitorState::Watching && !asleep)
    }

    fn exit(&mut self, exit: Exit) -> Vec<MonitorEffect> {
        self.state = MonitorState::Over;
        vec![MonitorEffect::Exit(exit)]
    }

    /// Ends the worker if it is alive, because a frozen worker could still start the command; then every process of the
    /// command; then deletes what is left on the servers.
    fn share_its_fate(&mut self, cause: Cause, shown: Shown) -> Vec<MonitorEffect> {
        self.state = MonitorState::SharingItsFate(cause);
        let lives = cause.why().is_some();
        vec![match shown.stage {
            // A command that ended by itself may have left descendants; they are left alone if the worker ends later,
            // too.
            Stage::Over if lives => MonitorEffect::EndWorker,
            Stage::Running if !lives && planted(Mistake::DeadWorkerUnswept) => MonitorEffect::EndNobody,
            Stage::Running => MonitorEffect::EndEverybody,
            Stage::Waiting if lives => MonitorEffect::EndEverybody,
            Stage::Waiting | Stage::Over => MonitorEffect::EndNobody,
        }]
    }

    fn after_the_end(&mut self, cause: Cause, shown: Shown, entering: Option<String>) -> Vec<MonitorEffect> {
        let exit = self.duty.exit(shown, cause.why());
        let mut effects = vec![
            MonitorEffect::TakeTerminal,
            MonitorEffect::Say(Ending::Worker { cause: cause.told(), stage: shown.stage }),
        ];
        let (session_timeout, nodes) = self.duty.nodes();
        let session_timeout = session_timeout.unwrap_or(self.session_timeout);
        let remains = Remains { session_timeout, nodes: nodes.to_vec(), entering };
        if remains.is_empty() || planted(Mistake::NodeForgotten) {
            effects.extend(self.exit(exit));
        } else {
            self.state = MonitorState::Cleaning(exit);
            effects.push(MonitorEffect::Clean(remains));
        }
        effects
    }
}

impl Cause {
    fn why(self) -> Option<Why> {
        match self {
            Self::Needed(why) => Some(why),
            Self::Found(_) => None,
        }
    }

    fn told(self) -> WorkersEnd {
        match self {
            Self::Needed(why) => WorkersEnd::StoodStill(why),
            Self::Found(death) => WorkersEnd::Found(death),
        }
    }
}

/// A message of the monitor after it has acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// What happened to the worker and to the command.
    Worker {
        /// Why the worker couldn't do its work.
        cause: WorkersEnd,
        /// The worker's stage.
        stage: Stage,
    },
    /// What happened to the lock node.
    Node {
        /// Whether it is certainly gone.
        gone: bool,
    },
}

/// Why the worker couldn't do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkersEnd {
    /// It stood still.
    StoodStill(Why),
    /// It was found dead.
    Found(Death),
}

impl Ending {
    /// How important the message is.
    pub fn level(&self) -> Level {
        match self {
            Self::Worker { .. } => Level::Error,
            Self::Node { .. } => Level::Warning,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cause, stage) = match self {
            Self::Node { gone: true } => return f.write_str("the lock node is gone"),
            Self::Node { gone: false } => {
                return f.write_str("the lock node is deleted when its session times out");
            }
            Self::Worker { cause, stage } => (*cause, *stage),
        };
        match cause {
            WorkersEnd::StoodStill(Why::Frozen) if stage == Stage::Over => {
                f.write_str("the worker process stood still during the release")
            }
            WorkersEnd::StoodStill(Why::Frozen) => {
                f.write_str("the worker process stood still until the lease was nearly over")
            }
            WorkersEnd::StoodStill(Why::Deaf(number)) => {
                write!(f, "the worker process stood still and didn't react to {}", signal::name(number))
            }
            WorkersEnd::Found(Death::Killed(signal)) => {
                write!(f, "the worker process was killed by signal {signal}")
            }
            WorkersEnd::Found(Death::Success | Death::Failure) => f.write_str("the worker process failed"),
            WorkersEnd::Found(Death::Unknown) => f.write_str("the worker process is gone"),
        }?;
        f.write_str(match stage {
            Stage::Waiting => "; the command was not started",
            Stage::Running => "; the command was stopped with all its processes",
            Stage::Over => "; the command had ended before",
        })
    }
}

#[cfg(test)]
mod tests;
