//! The one place where the harness starts processes.

use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

static SPAWNING: Mutex<()> = Mutex::new(());

/// The lock that is held while a process starts and while a terminal is opened. A new pseudo terminal becomes
/// close-on-exec only a moment after it is opened, and a process started in between would keep it open forever.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    SPAWNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts `command`, and panics with the command line if it can't be started.
#[track_caller]
pub fn spawn(command: &mut Command) -> Child {
    let _guard = one_at_a_time();
    command.spawn().unwrap_or_else(|error| panic!("failed to start {command:?}: {error}"))
}
