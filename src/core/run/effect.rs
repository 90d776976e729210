//! What a run wants done.

use std::time::Duration;

use crate::core::exit::Exit;
use crate::core::message::{Holder, Message};
use crate::core::pair::{Deadline, OwnedNode};
use crate::core::path::LockPath;
use crate::core::protocol::{Asker, Request, ServerTime, SessionKey};
#[cfg(doc)]
use crate::core::run::Input;
use crate::core::run::Remains;
use crate::core::supervisor::Action;
use crate::core::time::BootTime;

/// Something to be done, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Begin a session, in place of the one before if there was one, and give up connecting at this time; `None` is never.
    Connect {
        /// It tells the inputs of this session from those of others.
        key: SessionKey,
        /// When to give up.
        deadline: Option<BootTime>,
    },
    /// Say who this zklock is. The answer is [`Input::Introduced`], at once.
    Introduce,
    /// Find the zklocks that started this one. The answer is [`Input::Ancestors`], at once.
    FindAncestors,
    /// Ask the ensemble over the session.
    Ask(Asker, Request),
    /// Delete these nodes and close the session, all in one flight.
    Release(Vec<String>),
    /// Look at these nodes over a session for that. The answer is [`Input::LookedUp`], in its time.
    LookUp(Vec<String>),
    /// Delete what is left over a session for that. The answer is [`Input::Cleaned`], in its time.
    Clean(Remains),
    /// Show the monitor that a node with this path, but for its number, may come to be.
    Enter(String),
    /// Tell the monitor which nodes are ours.
    Own {
        /// After this long they are gone anyway.
        session_timeout: Duration,
        /// The nodes.
        nodes: Vec<OwnedNode>,
    },
    /// Tell the monitor that the command may run from here on, and start it. The answer is [`Input::Started`], at once.
    StartCommand {
        /// What is added to its environment.
        variables: Vec<(String, String)>,
        /// No later than this.
        latest: Option<BootTime>,
        /// When the monitor has to act.
        deadline: Option<Deadline>,
    },
    /// Carry out what the supervisor decided.
    Job(Action),
    /// Reap orphans, and see what became of the command. The answer is [`Input::Children`], at once.
    LookAtChildren {
        /// Whether to see if any process of the command is left.
        all: bool,
    },
    /// Kill every process of the command. The answer is [`Input::KillRound`], at once.
    Kill {
        /// Until when other zklocks among them may release their locks.
        latest: BootTime,
    },
    /// The command has stopped: take the terminal back from it.
    TakeTerminal,
    /// Have the monitor stop as the command did, by this signal.
    StopWithCommand(i32),
    /// Have the monitor stop while no command runs.
    StopWaiting,
    /// From when on the monitor has to act.
    SetDeadline(Option<Deadline>),
    /// The command is over and reaped, or couldn't be started: zklock exits so, and has this long for the rest.
    CommandIsOver(Exit, Duration),
    /// Say this of this lock.
    Say(LockPath, Message),
    /// Change what the waiting line shows.
    Line(Line),
    /// Wait until what was said is written, but no longer than this. The answer is [`Input::WordsWritten`], at once.
    AwaitWords(Duration),
    /// The same, before somebody else writes.
    AwaitLastWords(Duration),
    /// The monitor is dead: for the caller zklock has ended.
    LetGoOfCaller,
    /// The run is over.
    Finish(End),
}

/// What the waiting line shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Our node was made at this time.
    Queued(ServerTime),
    /// Somebody is ahead.
    Waiting {
        /// The lock.
        path: LockPath,
        /// The contender just ahead.
        nearest: Seen,
        /// How many are ahead.
        ahead: usize,
        /// The node that holds, if it is another than the nearest.
        holder: Option<String>,
    },
    /// What the holder's node says.
    Holder {
        /// The node.
        node: String,
        /// Who it is.
        seen: Seen,
    },
    /// It is off the screen until it is drawn again.
    Clear,
    /// There is nothing to wait for any more.
    End,
}

/// A contender, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// As people know it.
    pub who: String,
    /// When its node was made; zero if that isn't known.
    pub since: ServerTime,
    /// Since when it holds the lock, if it says so.
    pub held_since: Option<ServerTime>,
}

impl Seen {
    /// What there is to say of it as a holder at this time of the servers'.
    pub fn at(&self, now: Option<ServerTime>) -> Holder {
        let since = |moment: ServerTime| now.map(|now| moment.until(now));
        Holder {
            who: self.who.clone(),
            held_for: self.held_since.and_then(since),
            queued_for: Some(self.since).filter(|&at| at != ServerTime(0)).and_then(since),
        }
    }
}

/// How the run ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// zklock exits so.
    Exit(Exit),
    /// The monitor becomes the command, with these variables added: every lock is held around us.
    Become(Vec<(String, String)>),
    /// zklock exits so, and this process goes on deleting what may be left.
    Leave(Exit, Option<Remains>),
}
