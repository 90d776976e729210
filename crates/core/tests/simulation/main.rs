//! Simulates whole runs of the shipped core, with simulated hosts, lines and servers. The simulation is deterministic
//! for a seed and uses no threads, sockets or clocks.
//!
//! What is checked. If a check has an exception, its reason stands beside it.
//!
//! | property | where |
//! |---|---|
//! | No two commands run whose locks exclude each other: at a start, when one continues, after a host's sleep | `checks`: `check_exclusion`, `check_resumed` |
//! | A command ends before its session, whatever happens to follower, line, clock and host | `explore::lease` |
//! | A command starts only if zklock's node was in its last list and zklock is neither stopped nor told to end; with a greater fencing token than the one before; with `--once-per` not too soon | `checks`: `check_start`, `check_once` |
//! | The exit code is the command's own, or says what happened | `checks`: `check_exit` |
//! | A zklock that has ended leaves no process and no node | `checks`: `check_exit`, `check_released`, `check_the_end` |
//! | A signal ends a waiter in time; a revoked or deleted lock ends the command in time | `checks`: `check_signal`; `gone_by` in `host::job` |
//! | A zklock that could run its command does; every run ends | `bounds`: `check_what_runs`; `checks`: `check_the_end` |
//! | No lease is lost, no node is said to be deleted and no monitor ends everything without a reason | `bounds`: `check_loss`, `check_deleted`, `check_end` |
//! | The recipe keeps all that in every order of messages with one or two faults | `explore::recipe` |
//! | Worker and monitor end right in every order of reports, death and signals | `explore::pair` |
//!
//! | module | topic |
//! |---|---|
//! | `world` | simulated time and the queue of events |
//! | `host` | one zklock: its worker and monitor with the shipped state machines, and its host |
//! | `command` | its command: processes that obey, ignore, linger or leave the process group |
//! | `ensemble`, `client` | the simulated servers, and what a session does on them; `tests/scenes` of the program compares both with real ones |
//! | `sessions` | the sessions of each zklock |
//! | `scenario` | scenarios drawn from a seed: contenders and faults |
//! | `fault` | every fault by name, also those of `scripts/chaos` |
//! | `aim` | a lost answer or a late server at the moment at which it does the most harm |
//! | `explore` | a few zklocks under every schedule within a bound |
//! | `checks`, `bounds` | the checks |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a simulation that meets something unexpected ends there"
)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures its own time")]
#![allow(clippy::struct_excessive_bools, reason = "what has happened to a process is many small facts")]
#![allow(clippy::print_stdout, reason = "its results go to stdout")]
#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers")]
#![allow(missing_docs, unreachable_pub, reason = "names and the head of each file are the documentation")]

mod aim;
mod bounds;
mod checks;
mod client;
mod command;
mod ensemble;
mod explore;
#[allow(dead_code, reason = "`scripts/chaos` uses more of it")]
mod fault;
mod host;
mod options;
mod rng;
mod scenario;
mod sessions;
mod trace;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use self::options::Options;
use self::scenario::Scenario;
use self::world::World;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.lists {
        return ExitCode::SUCCESS;
    }
    if options.explores {
        return exit(explore::all(&options.scene, options.is_whole));
    }
    exit(find_none(&options))
}

fn exit(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs scenarios, and prints the first violation. Returns whether there was none.
fn find_none(options: &Options) -> bool {
    let began = Instant::now();
    let found = search(options);
    if let Some(violation) = found.violation {
        if !options.prints {
            // Run the same scenario again and print each step.
            let mut again = World::new(Scenario::draw(found.seed), true);
            let _ = again.run();
        }
        println!("\nseed {}: {violation}", found.seed);
        println!(
            "found after {} commands; to see it again: scripts/simulate --seed {} --tell",
            found.commands, found.seed
        );
        return false;
    }
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = found.commands as f64 / seconds;
    println!(
        "{} commands in {} scenarios from seed {} on, {rate:.0} a second: no violation",
        found.commands,
        found.seed - options.first_seed(),
        options.first_seed()
    );
    true
}

/// The result of a search.
struct SearchResult {
    commands: u64,
    /// The seed of the violation, or the first seed that wasn't tried.
    seed: u64,
    violation: Option<String>,
}

/// Runs scenarios in sequence until a violation or a limit.
fn search(options: &Options) -> SearchResult {
    let began = Instant::now();
    let (mut commands, mut seed) = (0, options.first_seed());
    while options.goes_on(began.elapsed(), seed - options.first_seed(), commands) {
        let mut world = World::new(Scenario::draw(seed), options.prints);
        let outcome = world.run();
        commands += world.commands();
        if let Err(violation) = outcome {
            return SearchResult { commands, seed, violation: Some(violation) };
        }
        seed += 1;
    }
    SearchResult { commands, seed, violation: None }
}
