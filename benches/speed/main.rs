//! Measures zklock, other lock programs and the floor as whole processes on real servers. `scripts/bench` starts the
//! servers and runs this program.
//!
//! | module | content |
//! |---|---|
//! | [`uncontended`] | one contender |
//! | [`handoff`] | hand-offs |
//! | [`waiting`] | the cost of a thousand waiters |
//! | [`contestant`], [`queue`] | the programs that are measured, and the length of their queue |
//! | [`environment`] | the servers and programs that `scripts/bench` provides |
//! | [`floor`] | zklock's requests without the rest of zklock |
//! | [`job`] | the command, which records when it began and ended |
//! | [`wire`], [`counters`] | sessions; the servers' counters |
//! | [`process`], [`stats`], [`table`] | the kernel's figures of a process; medians; tables |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that fails must end, and say where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the results go to stdout")]
#![allow(clippy::cast_precision_loss, reason = "what is counted here is far below 2^52")]

mod contestant;
mod counters;
mod environment;
mod floor;
mod handoff;
mod job;
mod process;
mod queue;
mod stats;
mod table;
mod uncontended;
mod waiting;
mod wire;

use std::process::ExitCode;

use environment::{Environment, Size};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["job", times, rest @ ..] => job::run(times.as_ref(), rest),
        ["floor", hosts, path, command @ ..] => return floor::contend(hosts, path, command),
        ["measure", size, what] => measure(what, Size::parse(size)),
        // `cargo bench` runs every benchmark there is, and this one needs servers.
        _ => println!("scripts/bench runs this comparison of zklock with other lock programs"),
    }
    ExitCode::SUCCESS
}

fn measure(what: &str, size: Size) {
    let environment = Environment::from_environment();
    match what {
        "uncontended" => uncontended::measure(&environment, size),
        "handoff" => handoff::measure(&environment, size),
        "waiting" => waiting::measure(&environment, size),
        _ => panic!("unknown measurement: {what}"),
    }
}
