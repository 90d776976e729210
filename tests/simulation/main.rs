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
//! | `nesting` | zklocks inside the commands of others |
//! | `door` | ACLs: who is let in |
//! | `aim` | faults that wait for the moment at which they can hurt |
//! | `bare`, `crowd` | a zklock without its monitor, and as many of them as wanted for one lock |
//! | `checks`, `bounds` | what must hold at every step, and at the end; how long things may take |
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

mod aim;
mod bare;
mod bounds;
mod checks;
mod client;
mod command;
mod crowd;
mod door;
mod ensemble;
mod host;
mod nesting;
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
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(exit) = crowd::asked(&words) {
        return exit;
    }
    let options = Options::parse(words.into_iter());
    if options.lists {
        // `cargo test -- --list` asks every test program.
        return ExitCode::SUCCESS;
    }
    #[cfg(planted)]
    {
        if options.plants_all {
            return table(&options);
        }
        ::zklock::core::planted::plant(options.mistake);
    }
    let began = Instant::now();
    let found = search(&options);
    if let Some(violation) = found.violation {
        if !options.tells {
            // The same again, told step by step.
            let mut again = World::new(Scenario::draw(found.seed), true);
            let _ = again.run();
        }
        println!("\nseed {}: {violation}", found.seed);
        println!(
            "found after {} commands; to see it again: scripts/simulate --seed {} --tell",
            found.commands, found.seed
        );
        return ExitCode::FAILURE;
    }
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = found.commands as f64 / seconds;
    println!(
        "{} commands in {} scenarios from seed {} on, {rate:.0} a second: no violation",
        found.commands,
        found.seed - options.seed,
        options.seed
    );
    ExitCode::SUCCESS
}

/// What a search came to.
struct Found {
    commands: u64,
    /// The seed of the violation, or the first that wasn't tried.
    seed: u64,
    violation: Option<String>,
}

/// Runs one scenario after the other, up to a violation or a limit.
fn search(options: &Options) -> Found {
    let began = Instant::now();
    let (mut commands, mut seed) = (0, options.seed);
    while options.goes_on(began.elapsed(), seed - options.seed, commands) {
        let mut world = World::new(Scenario::draw(seed), options.tells);
        let outcome = world.run();
        commands += world.commands();
        if let Err(violation) = outcome {
            return Found { commands, seed, violation: Some(violation) };
        }
        seed += 1;
    }
    Found { commands, seed, violation: None }
}

/// Makes one mistake after the other: each has to be found.
#[cfg(planted)]
fn table(options: &Options) -> ExitCode {
    use clap::ValueEnum;
    use zklock::core::planted::{Mistake, plant};

    println!("{:24} {:>8} {:>6}  violation", "mistake", "commands", "seed");
    let mut missed = 0;
    for mistake in Mistake::value_variants() {
        plant(Some(*mistake));
        let Found { commands, seed, violation } = search(options);
        let name = mistake.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        if let Some(violation) = violation {
            println!("{name:24} {commands:8} {seed:6}  {violation}");
        } else {
            missed += 1;
            println!("{name:24} {commands:8}      -  NOT FOUND");
        }
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
