//! Whole runs, line by line: each event, the phase after it, and the effects that the run requests.
//!
//! The simulation checks what a run must do. These transcripts record how it does so, word for word. After an intended
//! change, `ZKLOCK_RECORD=1 cargo test -p zklock-core run::tests` rewrites them.

mod drive;
mod ends;
mod notices;
mod running;
pub(super) mod script;
mod signals;
mod waiting;
