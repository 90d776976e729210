//! Measures zklock, other lock programs and the floor as whole processes on real servers. `scripts/bench` starts the
//! servers and runs this program.
//!
//! | module | content |
//! |---|---|
//! | [`uncontended`], [`phases`] | one contender: the time of a whole run, and of its phases |
//! | [`handoff`], [`parts`] | hand-offs, and the least that they could take |
//! | [`waiting`] | the cost of a thousand waiters |
//! | [`growth`], [`drawing`] | the cost of longer and longer queues |
//! | [`contestant`], [`arena`], [`queue`] | the programs that are measured, their environment, and the length of their queue |
//! | [`crowd`], [`waiter`] | nodes without processes; a zklock whose messages are timed |
//! | [`floor`] | zklock's requests without the rest of zklock |
//! | [`job`] | the command, which records when it began and ended |
//! | [`wire`], [`relay`], [`counters`] | sessions; a relay that records the traffic; the servers' counters |
//! | [`process`], [`stats`], [`table`] | the kernel's figures of a process; medians; tables |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that fails must end, and say where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the results go to stdout")]
#![allow(clippy::cast_precision_loss, reason = "what is counted here is far below 2^52")]

mod arena;
mod contestant;
mod counters;
mod crowd;
mod drawing;
mod floor;
mod growth;
mod handoff;
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
        "handoff" => handoff::measure(&arena, size),
        "parts" => parts::measure(&arena, size),
        "waiting" => waiting::measure(&arena, size),
        "growth" => growth::measure(&arena, size),
        _ => panic!("there is nothing called {what} to measure"),
    }
}
