//! zklock beside its peers and beside the floor: what whole processes on real servers take. `scripts/bench`
//! starts the servers, says where they are, and runs this.
//!
//! | module | what it is about |
//! |---|---|
//! | [`uncontended`], [`phases`] | one lock, nobody else: the whole run, and where it goes |
//! | [`handover`], [`parts`] | from one command's end to the start of the next; the least it could take |
//! | [`waiting`] | a thousand that wait: what they cost, and how they leave |
//! | [`growth`], [`drawing`] | a longer and longer queue, measured and drawn |
//! | [`contestant`], [`arena`], [`queue`] | who is measured, where, and how many of them wait |
//! | [`crowd`], [`waiter`] | nodes without processes; a zklock that says when it waits |
//! | [`floor`] | the same requests with no lock around them |
//! | [`job`] | the command that is run: it writes down when it began and ended |
//! | [`wire`], [`relay`], [`counters`] | a session; a relay that counts; what a server counts |
//! | [`process`], [`stats`], [`table`] | what the kernel says of a process; medians; how all is said |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that meets something unexpected is none: it ends there, and says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever started it")]
#![allow(clippy::cast_precision_loss, reason = "what is counted here is far below 2^52")]

mod arena;
mod contestant;
mod counters;
mod crowd;
mod drawing;
mod floor;
mod growth;
mod handover;
mod job;
mod parts;
mod phases;
mod process;
mod queue;
mod relay;
mod stats;
mod table;
mod uncontended;
mod waiter;
mod waiting;
mod wire;

use std::process::ExitCode;

use arena::{Arena, Size};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["job", times, rest @ ..] => job::run(times.as_ref(), rest),
        ["floor", hosts, path, command @ ..] => return floor::contend(hosts, path, command),
        ["measure", size, what] => measure(what, Size::parse(size)),
        // `cargo bench` runs every benchmark there is, and this one needs servers.
        _ => println!("zklock beside its peers is measured by scripts/bench"),
    }
    ExitCode::SUCCESS
}

fn measure(what: &str, size: Size) {
    let arena = Arena::from_environment();
    match what {
        "uncontended" => uncontended::measure(&arena, size),
        "phases" => phases::measure(&arena, size),
        "handover" => handover::measure(&arena, size),
        "parts" => parts::measure(&arena, size),
        "waiting" => waiting::measure(&arena, size),
        "growth" => growth::measure(&arena, size),
        _ => panic!("there is nothing called {what} to measure"),
    }
}
