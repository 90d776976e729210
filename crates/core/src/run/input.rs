//! Events of a run.

use crate::exit::Exit;
use crate::protocol::{Asker, Reply, SessionChange, SessionKey};
use crate::queue::contender::AttemptIds;
use crate::queue::record::Record;
#[cfg(doc)]
use crate::run::Effect;
use crate::run::Reach;
use crate::time::BootTime;

/// An event.
#[derive(Debug)]
pub enum Input {
    /// No other event is pending. The command is started only on this input, so that every earlier event comes first.
    Tick,
    /// Another process sent zklock this signal, or the terminal while no command could get it.
    Signal(i32),
    /// The terminal sent this signal to zklock's process group, and so to the running command.
    Key(i32),
    MonitorDied,
    /// At least one child changed its state.
    Child,
    Session(SessionKey, SessionChange),
    /// A reply to a request, or a watch that fired.
    Reply(SessionKey, Asker, Reply),
    /// Answer to [`Effect::Introduce`].
    Introduced(Introduction),
    /// Answer to [`Effect::StartCommand`]: the command runs, or zklock's exit code and the reason why it doesn't.
    Started(Result<(), (u8, String)>),
    /// Answer to [`JobEffect::LookAtChildren`](super::JobEffect::LookAtChildren).
    Children {
        /// A change of the command's first process.
        leader: Option<LeaderChange>,
        /// Of whom no other process is left, if that was requested and is so.
        none_left: Option<Reach>,
    },
    /// Answer to [`JobEffect::Kill`](super::JobEffect::Kill).
    KillRound(KillRound),
    /// Answer to [`JobEffect::Reap`](super::JobEffect::Reap): how the command ended.
    Reaped(Option<Exit>),
    /// Answer to [`Effect::Clean`]: whether the nodes are certainly gone.
    Cleaned(bool),
}

/// A description of this zklock.
#[derive(Debug, Clone)]
pub struct Introduction {
    pub record: Record,
    /// The start of the uuids of its nodes, one for each lock.
    pub ids: Vec<AttemptIds>,
}

/// A change of the command's first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaderChange {
    /// It is dead, and not reaped.
    Died {
        /// The signal that killed it, if one did.
        by: Option<i32>,
    },
    /// By this signal.
    Stopped(i32),
    Continued,
}

/// The result of a round of killing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillRound {
    /// Whether no process is left except the leader, which waits to be reaped.
    pub gone: bool,
    /// When to kill again.
    pub next: Option<BootTime>,
    /// Whether a process is left that may never end.
    pub stuck: bool,
    /// Processes that have been left for long, reported once.
    pub left: Vec<String>,
}
