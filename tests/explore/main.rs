//! Runs the shipped core on the simulated ensemble, under every schedule with a few departures from the plain one.
//!
//! | module | topic |
//! |---|---|
//! | `choices` | which schedules there are, and the search through them |
//! | `recipe` | the queue: messages held up, connections lost, zklocks killed, nodes deleted |
//! | `lease` | time: a slow follower, a cut line, a slow clock |
//! | `scenes` | the contenders, and how much is explored |
//! | `bare`, `client`, `ensemble` | shared with `tests/simulation` |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a search that meets something unexpected ends there"
)]
#![allow(clippy::struct_excessive_bools, reason = "what has happened to a process is many small facts")]
#![allow(clippy::print_stdout, reason = "its results go to stdout")]
#![allow(dead_code, unused_imports, reason = "the ensemble can do more than this asks for")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(missing_docs, unreachable_pub, reason = "names and the head of each file are the documentation")]

#[path = "../simulation/bare.rs"]
mod bare;
mod choices;
#[path = "../simulation/client/mod.rs"]
mod client;
#[path = "../simulation/ensemble/mod.rs"]
mod ensemble;
mod lease;
mod recipe;
mod scenes;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1).map(String::as_str)
    };
    if words.iter().any(|word| word == "--list") {
        // `cargo test -- --list` runs every test program with this option.
        return ExitCode::SUCCESS;
    }
    #[cfg(planted)]
    if let Some(name) = value("--planted") {
        return scenes::planted(name, value("--scene").unwrap_or(""));
    }
    let is_whole = words.iter().any(|word| word == "--whole");
    if scenes::all(value("--scene").unwrap_or(""), is_whole) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
