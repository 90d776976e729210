//! Messages between the two processes of a zklock: the monitor, which the user started, and its worker.

use serde::{Deserialize, Serialize};

use super::exit::Exit;
use super::protocol::LockNode;

/// The worker's stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing has been started yet.
    Waiting,
    /// The command may be running.
    Running,
    /// The command has ended and is reaped, or could not be started.
    Over,
}

/// From the worker to the monitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The deadline in the page has moved forward: read it.
    DeadlineChanged,
    /// zklock owns these lock nodes.
    Nodes {
        /// The session timeout in milliseconds; the nodes are gone after that time at the latest.
        session_timeout: u64,
        /// The lock nodes.
        nodes: Vec<LockNode>,
    },
    /// The command has stopped, or zklock is to stop before there is a command: stop the same way.
    Suspend {
        /// The terminal's signal that stopped it.
        signal: i32,
        /// How often the worker had been continued when it sent this. If it is more by now, the report is outdated.
        continued: u64,
    },
    /// zklock exits this way, whatever happens from now on.
    Exit(Exit),
    /// As [`Exit`](Self::Exit), but immediately: the worker continues alone and deletes its nodes.
    ExitNow(Exit),
}

/// From the monitor to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Another process sent zklock this signal, or the terminal while no command could get it.
    Signal(i32),
    /// The terminal sent this signal to zklock's process group, and so to the running command.
    Key(i32),
}

impl Order {
    /// The signal.
    pub fn signal(self) -> i32 {
        let (Self::Signal(signal) | Self::Key(signal)) = self;
        signal
    }
}
