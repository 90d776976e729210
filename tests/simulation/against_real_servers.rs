//! Compares the simulated ensemble and its client with real servers: the same scenes run on both.
//!
//! | module | topic |
//! |---|---|
//! | [`ensemble`] | servers that follow ZooKeeper's rules, on a virtual clock; faults |
//! | [`client`] | a session of `zklock::ensemble` on that ensemble |
//! | [`scenes`] | short scenes that must end alike on the simulation and on real servers |
//! | [`storm`] | faults drawn from a seed, and what must hold in spite of them |
//! | [`speed`] | the speed of the simulation |
//!
//! The ensemble keeps virtual time, in nanoseconds. Each host has a clock of its own ([`client::HostClock`]), which may
//! run at a different rate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected ends there, and says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever started it")]
#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(dead_code, reason = "the ensemble can do more than the scenes ask for")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]

mod client;
mod ensemble;
mod scenes;
mod speed;
mod storm;
#[path = "../support/mod.rs"]
mod support;

use support::rng;
