//! Two processes with one fate: if either half of zklock is killed by what nobody can catch, or the worker is frozen,
//! the other ends the job and deletes the lock node.

mod alone;
mod invisible;
mod killed;
mod windows;

use crate::support::{Case, Running, SOON, worker_of};
use nix::sys::signal::{Signal, kill};

/// A zklock that holds the lock, and whose command is a bash script that says `ready`.
#[track_caller]
fn start(case: &Case, options: &[&str], script: &str) -> Running {
    let running = case.lock(options, ["bash", "-c", script]).spawn();
    running.wait_for_stdout("ready", SOON);
    running
}

#[track_caller]
fn kill_worker(zklock: &Running) {
    kill(worker_of(zklock.pid()), Signal::SIGKILL).expect("a worker");
}
