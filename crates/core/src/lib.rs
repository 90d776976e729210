//! zklock's decisions, and nothing else: no clock, no input or output, no client library, no randomness.
//!
//! [`run`] is the state machine of the worker process, [`monitor`] that of the monitor process. Both take in an event
//! and the time when it was noticed, and return what to do about it. `clippy.toml` keeps out what acts, by path.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read the files of transcripts, and time themselves"
    )
)]

pub mod acl;
pub mod connecting;
pub mod duration;
pub mod environment;
pub mod exit;
pub mod hosts;
pub mod lease;
pub mod leftover_nodes;
pub mod loss;
pub mod message;
pub mod monitor;
pub mod pair;
pub mod path;
pub mod protocol;
pub mod queue;
pub mod request;
pub mod run;
pub mod server_wait;
pub mod signal;
pub mod text;
pub mod time;
