//! zklock's two processes, monitor and worker. If one is killed or frozen, the other ends the command and deletes the
//! lock node.
//!
//! | module | what happens |
//! |---|---|
//! | [`invisible`], [`memory`], [`process_names`] | nothing: two processes, and the command and the caller see one |
//! | [`killed`], [`worker_killed`] | `kill -9`, or the out-of-memory killer |
//! | [`found_by_name`] | `kill -9` of all that a search by name finds |
//! | [`frozen`], [`hung_loop`] | a process that lives and does nothing, or one of its threads |
//! | [`starved`] | a process that gets little processor time |
//! | [`windows`] | the same at the start and at the end, when one of the two isn't ready |
//! | [`alone`] | a worker that continues without its monitor |
//! | [`nested`], [`unrelated_children`], [`hidden_proc`] | which processes are ended then |

mod alone;
mod found_by_name;
mod frozen;
mod hidden_proc;
mod hung_loop;
mod invisible;
mod killed;
mod memory;
mod nested;
mod orphans;
mod process_names;
mod starved;
mod unrelated_children;
mod windows;
mod worker_killed;

use crate::support::{Running, worker_of};
use nix::sys::signal::{Signal, kill};
use std::time::Duration;

/// The longest time of a hand-off, although the session lives on for 30 s.
const HAND_OFF: Duration = Duration::from_secs(20);

#[track_caller]
fn kill_worker(zklock: &Running) {
    kill(worker_of(zklock.pid()), Signal::SIGKILL).expect("a worker");
}
