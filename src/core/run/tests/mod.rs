//! Whole runs, told line by line: each event with the phase after it, and what the run wants done.
//!
//! What a run has to do is checked by the simulation. These stories hold how it does that, word by word: `ZKLOCK_TELL=1
//! cargo test --lib run::tests` writes them anew, for a change that was meant.

mod ends;
mod running;
mod script;
mod signals;
mod waiting;
