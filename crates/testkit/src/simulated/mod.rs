//! Simulated servers, and a session on them. `tests/scenes` compares both with real ones.
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]

pub mod client;
pub mod ensemble;
