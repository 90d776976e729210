//! Actions that a run requests from the worker.

use std::time::Duration;

use crate::exit::Exit;
use crate::leftover_nodes::LeftoverNodes;
use crate::message::Message;
use crate::path::{LockPath, NodePath};
use crate::protocol::{Asker, LockNode, Request, SessionKey};
#[cfg(doc)]
use crate::run::Input;
use crate::time::BootTime;

/// An action for the worker, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start a session, in place of the previous one if any, and give up connecting at this time; `None`: never.
    Connect {
        /// Distinguishes the inputs of this session from those of others.
        key: SessionKey,
        deadline: Option<BootTime>,
    },
    /// Describe this zklock. Answered immediately by [`Input::Introduced`].
    Introduce,
    /// Make a request to the ensemble over the session.
    Ask(Asker, Request),
    /// Delete these nodes and close the session, all in flight together.
    Release(Vec<NodePath>),
    /// Delete what is left over a separate session. Answered later by [`Input::Cleaned`].
    Clean(LeftoverNodes),
    /// Show the monitor that a node with this path, without its number, may come to exist.
    ReportCreate(String),
    /// Tell the monitor which nodes zklock owns.
    ReportNodes {
        /// The nodes are gone after this time at the latest.
        session_timeout: Duration,
        nodes: Vec<LockNode>,
    },
    /// Tell the monitor that the command may run from now on, and start it. Answered immediately by [`Input::Started`].
    StartCommand {
        variables: Vec<(String, String)>,
        /// The latest time to start it.
        latest: Option<BootTime>,
        deadline: Option<BootTime>,
    },
    /// Act on the job. Without one there is nothing to do.
    Job(JobEffect),
    /// Have the monitor stop by this signal, as the command did, or as a command would that isn't started yet.
    Suspend(i32),
    /// The command runs again: continue the monitor, if it is stopped.
    ContinueMonitor,
    /// Set when the monitor must end the command in place of a worker that is hung or stopped. Until then, other zklocks
    /// among the command's processes may release their locks.
    SetDeadline(Option<BootTime>),
    /// The command has ended and is reaped, or couldn't be started: zklock exits this way, and has this long for the
    /// rest.
    CommandIsOver(Exit, Duration),
    /// Write this message about this lock.
    Say(LockPath, Message),
    /// Show this text about a lock below all messages if zklock has the terminal; `None`: erase it.
    Line(Option<(LockPath, String)>),
    /// Send this to the service manager.
    Notify(Notification),
    /// Wait until all messages are written, at most this long: the command, or the caller of a zklock that stops, may write
    /// then.
    FlushOutput(Duration),
    /// The monitor is dead: the caller sees zklock as ended.
    Detach,
    Finish(End),
}

/// An action on the job: the command and all that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEffect {
    /// Send this signal to the command's first process only.
    SignalLeader(i32),
    /// Send this signal to the command's processes in its process group.
    SignalGroup(i32),
    /// Send this signal to every process of the command, including those that left its group.
    SignalAll(i32),
    /// Continue the stopped processes of the command's process group.
    ContinueStopped,
    /// Continue them, if the command's first process is still stopped and hasn't been continued meanwhile.
    Resume,
    /// Reap orphans, and check the command's first process and whether others are left. Answered immediately by
    /// [`Input::Children`].
    LookAtChildren(Reach),
    /// Kill every process of the job. Answered immediately by [`Input::KillRound`].
    Kill {
        /// Until when other zklocks among these processes may release their locks.
        latest: BootTime,
    },
    /// Reap the command's first process; nothing is signalled after this. Answered immediately by [`Input::Reaped`].
    Reap,
}

/// Some of the command's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its first process.
    Leader,
    /// Those in its process group.
    Group,
    /// Every descendant.
    All,
}

impl From<JobEffect> for Effect {
    fn from(effect: JobEffect) -> Self {
        Self::Job(effect)
    }
}

/// What the service manager is told at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The state of zklock in one line; `None`: what the manager shows stays.
    pub status: Option<String>,
    /// How much longer the start or stop of the service may take.
    pub extend: Duration,
}

/// How the run ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Exit(Exit),
    /// zklock exits this way, and this process stays to delete what may be left.
    ExitNow(Exit, Option<LeftoverNodes>),
}
