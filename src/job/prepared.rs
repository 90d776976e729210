//! What the start of the command needs, made in advance: from the news that the lock is held to the exec, as little as
//! possible is copied, opened or looked up.

use anyhow::Result;

use super::spawn::Launch;
use crate::job::descendants::Children;
use crate::link::WorkerSide;
use crate::plan::Invocation;

/// A command that is ready to be started by [`Job::start`](super::Job::start).
///
/// The dead man's switch isn't part of it: every waiter would hold a pipe, and the kernel limits the pipes of a user.
#[derive(Debug)]
pub struct PreparedLaunch {
    pub(super) launch: Launch,
    pub(super) children: Children,
}

impl PreparedLaunch {
    /// Prepares the start of the command in this worker.
    ///
    /// # Errors
    /// If this process's children can't be listed.
    pub fn new(invocation: &Invocation, worker: &WorkerSide) -> Result<Self> {
        let launch = Launch::new(invocation, worker.inherited);
        Ok(Self { launch, children: Children::of_this_process()? })
    }
}
