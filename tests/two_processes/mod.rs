//! zklock's two processes, monitor and worker. If one is killed or frozen, the other ends the command and deletes the
//! lock node.
//!
//! | module | what happens |
//! |---|---|
//! | [`invisible`], [`names`], [`orphans`] | nothing: two processes, and the command and the caller see one |
//! | [`killed_or_frozen`], [`hidden_proc`] | one of them, or a process of the command, is killed or frozen |
//! | [`frozen`], [`starved`] | the worker is frozen and continues, or gets little processor time |
//! | [`alone`] | a worker continues without its monitor |

mod alone;
mod frozen;
mod hidden_proc;
mod invisible;
mod killed_or_frozen;
mod names;
mod orphans;
mod starved;

use crate::support::worker_of;
use std::time::Duration;

/// The longest time of a hand-off, although the session lives on for 30 s.
const HAND_OFF: Duration = Duration::from_secs(20);
