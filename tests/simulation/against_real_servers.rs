//! The simulated ensemble and its client, compared with real servers: the same scenes, told to both.
//!
//! | module | what it is about |
//! |---|---|
//! | [`ensemble`] | servers that keep ZooKeeper's rules, on a virtual clock; faults |
//! | [`client`] | what a session of `zklock::runtime::zk` does, on that ensemble |
//! | [`scenes`] | short stories that are told to the simulation and to real servers alike, and must end alike |
//! | [`storm`] | faults drawn from a seed, and what must hold all the same |
//! | [`speed`] | how fast it is |
//!
//! Virtual time is a number of nanoseconds, and belongs to the ensemble. A host reads a clock of its own
//! ([`client::HostClock`]), which may run at another rate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever started it")]
#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(dead_code, unused_imports, reason = "the ensemble can do more than the scenes ask for")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]

mod client;
mod ensemble;
mod scenes;
mod speed;
mod storm;
#[path = "../support/mod.rs"]
mod support;
