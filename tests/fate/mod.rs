//! Two processes with one fate: if either half of zklock is killed by what nobody can catch, or the worker is frozen,
//! the other ends the job and deletes the lock node.

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
