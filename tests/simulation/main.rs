//! Whole runs of the shipped core under simulated hosts, lines and servers: deterministic from a seed, without a thread, a
//! socket or a clock.
//!
//! | module | what it is about |
//! |---|---|
//! | `world` | time, and what happens next |
//! | `host` | one zklock: its worker and its monitor with the shipped machines, and its host |
//! | `command` | its command: processes that obey, ignore, linger or leave the group |
//! | `ensemble`, `client` | the simulated servers, and what a session does on them; `against_real_servers.rs` compares both with real ones |
//! | `sessions` | which client is whose |
//! | `scenario` | what is drawn from a seed: who contends how, and which faults strike when |
//! | `checks` | what must hold at every step, and at the end |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a simulation that meets something unexpected ends there"
)]
#![allow(clippy::struct_excessive_bools, reason = "what has happened to a process is many small facts")]
#![allow(clippy::print_stdout, reason = "its results go to stdout")]
#![allow(dead_code, unused_imports, reason = "the ensemble can do more than this asks for")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(missing_docs, unreachable_pub, reason = "names and the head of each file are the documentation")]

mod checks;
mod client;
mod command;
mod ensemble;
mod host;
mod options;
mod scenario;
mod sessions;
mod story;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use self::options::Options;
use self::scenario::Scenario;
use self::world::World;

fn main() -> ExitCode {
    let options = Options::parse(std::env::args().skip(1));
    if options.lists {
        // `cargo test -- --list` asks every test program.
        return ExitCode::SUCCESS;
    }
    #[cfg(planted)]
    ::zklock::core::planted::plant(options.mistake);
    let began = Instant::now();
    let (mut commands, mut seeds) = (0, 0);
    let mut seed = options.seed;
    while options.goes_on(began.elapsed(), seeds, commands) {
        let mut world = World::new(Scenario::draw(seed), options.tells);
        let outcome = world.run();
        commands += world.commands();
        seeds += 1;
        if let Err(violation) = outcome {
            if !options.tells {
                // The same again, told step by step.
                let mut again = World::new(Scenario::draw(seed), true);
                let _ = again.run();
            }
            println!("\nseed {seed}: {violation}");
            println!(
                "found after {commands} commands; to see it again: scripts/simulate --seed {seed} --tell"
            );
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = commands as f64 / seconds;
    println!(
        "{commands} commands in {seeds} scenarios from seed {} on, {rate:.0} a second: no violation",
        options.seed
    );
    ExitCode::SUCCESS
}
