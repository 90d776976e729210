//! The simulated servers alone, under storms of faults.
//!
//! `tests/scenes` of the program compares them with real ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(clippy::print_stdout, reason = "it tells what it has seen")]
#![allow(
    clippy::disallowed_types,
    reason = "maps that are only looked up in have a hash without random state"
)]
#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(dead_code, reason = "the ensemble can do more than these tests ask for")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]

#[path = "../client/mod.rs"]
mod client;
#[path = "../ensemble/mod.rs"]
mod ensemble;
#[path = "../rng.rs"]
mod rng;
mod storm;
