//! The machine of the monitor, the process that the user started: what it does for its worker, and in its place.
//!
//! Until every process of the command is ended it asks for nothing that could hold it up.

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

/// One thing that happened.
#[derive(Debug)]
pub enum Input {
    /// A signal was passed on to the worker.
    Relayed(i32),
    /// The worker said something.
    Reported(Report),
    /// What the worker shows, looked at after whatever it said.
    Looked(Shown),
    /// The worker has ended and is reaped. What it said before was taken in.
    WorkerEnded(Death, Shown),
    /// To [`Effect::EndWorker`] and [`Effect::EndEverybody`]: it is done, and what the worker said before was taken in.
    /// With what it showed last, and the path of the node that it may have been creating.
    Ended(Shown, Option<String>),
    /// To [`Effect::EndEverybody`]: somebody is left who doesn't end, and the user wants zklock to.
    GaveUp(Shown),
    /// To [`Effect::Clean`]: whether the nodes are gone for certain.
    Cleaned(bool),
}

/// How the worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// By itself, and all was well.
    Success,
    /// By itself, with an error.
    Failure,
    /// By this signal.
    Killed(i32),
    /// Nobody can say.
    Unknown,
}

/// Something to be done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Stop as the terminal's signal would have it, unless somebody has zklock go on meanwhile.
    Stop {
        /// The terminal's signal.
        signal: i32,
        /// Whether the whole process group is to stop.
        whole_group: bool,
    },
    /// Kill the worker, which may live, and reap it. The answer is [`Input::Ended`].
    EndWorker,
    /// The worker is reaped, and nobody else is to be ended. The answer is [`Input::Ended`].
    EndNobody,
    /// Kill the worker, if it lives, and every process of the command. The answer is [`Input::Ended`] or
    /// [`Input::GaveUp`].
    EndEverybody,
    /// Take the terminal back from the command, if it has it.
    TakeTerminal,
    /// Say this of the first lock. From here on there is time for words.
    Say(Ending),
    /// Delete what is left at the servers. The answer is [`Input::Cleaned`].
    Clean(Remains),
    /// zklock exits so. A worker that lives goes on alone.
    Exit(Exit),
    /// Become the command, whose locks are all held around it, with these variables added.
    Become(Vec<(String, String)>),
}

/// The machine.
#[derive(Debug)]
pub struct Monitor {
    duty: Duty,
    state: State,
    /// Where the worker never said which timeout its session has.
    session_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The worker works.
    Watching,
    /// The worker can't do its work any more.
    SharingItsFate(Cause),
    /// Only the servers are left to be told.
    Cleaning(Exit),
    /// All is done.
    Over,
}

/// Why the worker can't do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Found(Death),
    Needed(Why),
}

impl Monitor {
    /// For a worker that was just made. `session_timeout` is what it will ask for.
    pub fn new(session_timeout: Duration) -> Self {
        Self { duty: Duty::default(), state: State::Watching, session_timeout }
    }

    /// Takes in what happened, which was noticed `now`.
    pub fn on(&mut self, now: BootTime, input: Input) -> Vec<Effect> {
        match (self.state, input) {
            (_, Input::Relayed(signal)) => {
                self.duty.relayed(signal, now);
                vec![]
            }
            (State::Watching, Input::Reported(report)) => match self.duty.take(report) {
                Task::Nothing => vec![],
                Task::Stop { signal, whole_group } => vec![Effect::Stop { signal, whole_group }],
                Task::Leave(exit) => self.exit(exit),
            },
            // What it said before its end counts, but for a stop.
            (_, Input::Reported(report)) => {
                self.duty.take(report);
                vec![]
            }
            (State::Watching, Input::Looked(shown))
                if planted(Mistake::MonitorAsleep) && shown.stage == Stage::Running =>
            {
                vec![]
            }
            (State::Watching, Input::Looked(shown)) => match self.duty.look(shown, now) {
                Some(why) => self.share_its_fate(Cause::Needed(why), shown),
                None => vec![],
            },
            (State::Watching, Input::WorkerEnded(death, shown)) => {
                match self.duty.end().filter(|_| death == Death::Success) {
                    Some(end) => {
                        self.state = State::Over;
                        vec![end]
                    }
                    None => self.share_its_fate(Cause::Found(death), shown),
                }
            }
            (State::SharingItsFate(cause), Input::Ended(shown, entering)) => {
                self.after_the_end(cause, shown, entering)
            }
            (State::SharingItsFate(cause), Input::GaveUp(shown)) => {
                let exit = self.duty.exit(shown, cause.why());
                self.exit(exit)
            }
            (State::Cleaning(exit), Input::Cleaned(gone)) => {
                let mut effects = vec![Effect::Say(Ending::Node { gone })];
                effects.extend(self.exit(exit));
                effects
            }
            _ => vec![],
        }
    }

    /// When to look next, if nothing happens before.
    pub fn wake_at(&self, shown: Shown) -> Option<BootTime> {
        let asleep = planted(Mistake::MonitorAsleep) && shown.stage == Stage::Running;
        self.duty.next_look(shown).filter(|_| self.state == State::Watching && !asleep)
    }

    fn exit(&mut self, exit: Exit) -> Vec<Effect> {
        self.state = State::Over;
        vec![Effect::Exit(exit)]
    }

    /// Ends the worker if it lives, since one that was only frozen might start the command yet; then every process of the
    /// command; then what is left at the servers.
    fn share_its_fate(&mut self, cause: Cause, shown: Shown) -> Vec<Effect> {
        self.state = State::SharingItsFate(cause);
        let lives = cause.why().is_some();
        vec![match shown.stage {
            // A command that has ended by itself may have left somebody, who is left alone also if the worker goes then.
            Stage::Over if lives => Effect::EndWorker,
            Stage::Running if !lives && planted(Mistake::DeadWorkerUnswept) => Effect::EndNobody,
            Stage::Running => Effect::EndEverybody,
            Stage::Waiting if lives => Effect::EndEverybody,
            Stage::Waiting | Stage::Over => Effect::EndNobody,
        }]
    }

    fn after_the_end(&mut self, cause: Cause, shown: Shown, entering: Option<String>) -> Vec<Effect> {
        let exit = self.duty.exit(shown, cause.why());
        let mut effects = vec![
            Effect::TakeTerminal,
            Effect::Say(Ending::Worker { cause: cause.told(), stage: shown.stage }),
        ];
        let (session_timeout, nodes) = self.duty.nodes();
        let session_timeout = session_timeout.unwrap_or(self.session_timeout);
        let remains = Remains { session_timeout, nodes: nodes.to_vec(), entering };
        if remains.is_empty() || planted(Mistake::NodeForgotten) {
            effects.extend(self.exit(exit));
        } else {
            self.state = State::Cleaning(exit);
            effects.push(Effect::Clean(remains));
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

/// What the monitor says once it has acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// What became of the worker and of the command.
    Worker {
        /// Why the worker couldn't do its work.
        cause: WorkersEnd,
        /// How far it was.
        stage: Stage,
    },
    /// What became of the lock node.
    Node {
        /// Whether it is gone for certain.
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
    /// How important it is.
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
