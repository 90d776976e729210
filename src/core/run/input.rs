//! What happens to a run.

use crate::core::exit::Exit;
use crate::core::lock::contender::Ids;
#[cfg(doc)]
use crate::core::lock::record::Process;
use crate::core::lock::record::Record;
use crate::core::protocol::{Asker, Node, Reply, SessionChange, SessionKey};
use crate::core::supervisor::Foreground;
use crate::core::time::BootTime;
#[cfg(doc)]
use crate::core::{run::Effect, supervisor::Action};

/// One thing that happened.
#[derive(Debug)]
pub enum Input {
    /// Nothing else is left to be looked at for now. Only then is a command started: whatever came before wins.
    Tick,
    /// Somebody sent zklock this signal.
    Signal(i32),
    /// zklock was to stop, and the kernel didn't do it: nobody could continue it.
    NotStopped,
    /// The monitor is dead.
    MonitorDied,
    /// At least one child changed its state.
    Child,
    /// The session with the ensemble came, went, or is in doubt.
    Session(SessionKey, SessionChange),
    /// The answer to a request, or a watch that fired.
    Reply(SessionKey, Asker, Reply),
    /// To [`Effect::Introduce`].
    Introduced(Introduction),
    /// To [`Effect::FindAncestors`]: from the nearest on.
    Ancestors(Vec<Ancestor>),
    /// To [`Effect::LookUp`].
    LookedUp(LookUp),
    /// To [`Effect::AwaitWords`].
    WordsWritten,
    /// To [`Effect::StartCommand`]: it runs, or why it doesn't and what zklock's exit code for that is.
    Started(Result<(), (u8, String)>),
    /// To [`Effect::LookAtChildren`].
    Children {
        /// What is new about the command's first process.
        leader: Option<LeaderChange>,
        /// Whether no process of the command is left but for that one. Only if it was asked.
        none_left: bool,
    },
    /// To [`Effect::Kill`].
    KillRound(KillRound),
    /// To [`Action::Reap`]: how the command ended.
    Reaped(Option<Exit>),
    /// To [`Effect::Clean`]: whether the nodes are gone for certain.
    Cleaned(bool),
}

/// Who this zklock is.
#[derive(Debug, Clone)]
pub struct Introduction {
    /// What its lock nodes say of it.
    pub record: Record,
    /// Where the uuids of its nodes are counted from, for one lock after the other.
    pub ids: Vec<Ids>,
}

/// A zklock that started this one, or started what started it. It runs under the same kernel and in the same PID namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// Its number.
    pub pid: u32,
    /// When it was started: see [`Process::started`].
    pub started: u64,
}

/// What was seen of the nodes of locks that are said to be held around us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUp {
    /// Each of them, in the order of the question; `None` is gone.
    Seen(Vec<Option<Node>>),
    /// The session for it was lost: worth another try.
    SessionLost,
    /// There was no session in time; what each server said.
    Unreachable(Vec<String>),
    /// Nothing is known.
    NoAnswer,
}

/// What is new about the command's first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaderChange {
    /// It is dead, and not reaped.
    Died,
    /// It was stopped.
    Stopped {
        /// By this signal.
        signal: i32,
        /// Who has the terminal.
        terminal: Foreground,
    },
}

/// How killing went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillRound {
    /// Whether nobody is left, but for the leader that waits to be reaped.
    pub gone: bool,
    /// When to kill again.
    pub next: Option<BootTime>,
    /// Whether something is left that may never go.
    pub stuck: bool,
    /// What is left for long, told once.
    pub left: Vec<String>,
}
