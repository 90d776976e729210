//! zklock is killed by what nobody can catch, or frozen: its guard answers for the job and for the lock node.

mod invisible;
mod killed;
mod windows;

use crate::support::{Case, Running, SOON};

/// A zklock that holds the lock, and whose command is a bash script that says `ready`.
#[track_caller]
fn start(case: &Case, options: &[&str], script: &str) -> Running {
    let running = case.lock(options, ["bash", "-c", script]).spawn();
    running.wait_for_stdout("ready", SOON);
    running
}
