//! zklock is two processes, and to everybody else it is one.

mod broken;
mod core;
mod frozen;
mod inherited;
mod killed;
mod names;
mod nested;
mod unrecorded;
mod unseen;

use crate::support::{Case, Running, SOON, try_for, worker_of};
use std::time::Duration;

/// What a hand-over takes at most, although the session lives on for 30 s.
const HAND_OVER: Duration = Duration::from_secs(6);

/// A zklock that holds the lock, and whose command is a bash script that says `ready`.
#[track_caller]
fn start(case: &Case, options: &[&str], script: &str) -> Running {
    let running = case.lock(options, ["bash", "-c", script]).spawn();
    running.wait_for_stdout("ready", SOON);
    running
}

/// Lets so much time pass.
fn pass_time(time: Duration) {
    assert!(try_for(time, || None::<()>).is_none());
}
