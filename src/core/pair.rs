//! What the two processes of a zklock tell each other: the monitor, which the user started, and its worker.

use serde::{Deserialize, Serialize};

use super::exit::Exit;
use super::time::BootTime;

/// How far the worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was started yet.
    Waiting,
    /// The command may be running.
    Running,
    /// The command is over and reaped, or could not be started.
    Over,
}

/// What the monitor has to do, and when, for a worker that stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// From here on a worker that hasn't ended the command counts as frozen, and the monitor does it.
    pub act: BootTime,
    /// Up to here other zklocks among the command's processes may release their locks.
    pub latest: BootTime,
}

/// From the worker to the monitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The deadline in the page has become shorter: look at it.
    Shorter,
    /// These lock nodes are ours.
    Nodes {
        /// The session timeout in milliseconds; after as long the nodes are gone anyway.
        session_timeout: u64,
        /// The lock nodes.
        nodes: Vec<OwnedNode>,
    },
    /// The command has stopped, or there is none yet and zklock is to stop: do as it did.
    Stop {
        /// The terminal's signal that did it.
        signal: i32,
        /// Whether the whole process group is to stop: its signal reached nobody else.
        whole_group: bool,
        /// How many times the worker was told to go on up to now. If it is more by now, this is outdated.
        continued: u64,
    },
    /// This is how zklock exits, whatever happens from now on.
    Exit(Exit),
    /// As [`Exit`](Self::Exit), and at once: the worker goes on alone, deleting its nodes.
    Leave(Exit),
    /// Every lock is held by the command that zklock runs in: become the command, with these variables added.
    Become(Vec<(String, String)>),
}

/// A lock node that may be deleted in the worker's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedNode {
    /// Its full path.
    pub path: String,
    /// The transaction that created it: a node of the same name with another isn't ours.
    pub czxid: i64,
}

/// From the monitor to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Somebody sent zklock this signal.
    Signal(i32),
    /// zklock was to stop, and the kernel didn't do it: nobody could continue it.
    NotStopped,
}
