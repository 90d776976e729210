//! What the tests of zklock share, in every package and program of tests.
//!
//! | module | topic |
//! |---|---|
//! | [`real`] | real servers, proxies, processes and terminals, and the program under test; all its names are here, too |
//! | [`simulated`] | the simulated servers, and a session on them |
//! | [`checker`] | what no correct lock does |
//! | [`fault`] | every fault by name, real and simulated |
//! | [`rng`] | random numbers from a seed |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(
    clippy::missing_panics_doc,
    clippy::return_self_not_must_use,
    reason = "as above; and only tests call it"
)]
#![allow(unreachable_pub, reason = "what has a name in `real` is public, and nothing else")]

pub mod checker;
pub mod fault;
#[cfg(feature = "real")]
pub mod real;
pub mod rng;
pub mod simulated;

#[cfg(feature = "real")]
pub use real::*;
