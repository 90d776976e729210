//! What decides, and nothing else: no clock, no input or output, no client library, no randomness.
//!
//! [`run`] is the machine of the process that works, [`monitor`] that of the process that watches over it. Both take in
//! what happened, with the moment when it was noticed, and say what is to be done about it.

pub mod claim;
pub mod duration;
pub mod environment;
pub mod event;
pub mod exit;
pub mod lock;
pub mod loss;
pub mod message;
pub mod monitor;
pub mod pair;
pub mod path;
pub mod planted;
pub mod protocol;
pub mod run;
pub mod shell_line;
pub mod signal;
pub mod supervisor;
pub mod time;
pub mod words;
