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

use crate::support::worker_of;
use std::time::Duration;

/// What a hand-off takes at most, although the session lives on for 30 s.
const HAND_OFF: Duration = Duration::from_secs(6);
