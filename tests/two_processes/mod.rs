//! zklock's two processes, monitor and worker, when one is killed, frozen or signalled.

mod both_killed;
mod found_by_name;
mod frozen;
mod hidden_proc;
mod killed;
mod memory;
mod nested;
mod poll_failure;
mod process_names;
mod unrelated_children;

use crate::support::worker_of;
use std::time::Duration;

/// The longest time of a hand-off, although the session lives on for 30 s.
const HAND_OFF: Duration = Duration::from_secs(6);
