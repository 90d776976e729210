//! The two processes of zklock end together: if one of them is killed by a signal that can't be caught, or the worker
//! is frozen, the other ends the job and deletes the lock node.

mod alone;
mod invisible;
mod killed;
mod windows;

use crate::support::{Running, worker_of};
use nix::sys::signal::{Signal, kill};

#[track_caller]
fn kill_worker(zklock: &Running) {
    kill(worker_of(zklock.pid()), Signal::SIGKILL).expect("a worker");
}
