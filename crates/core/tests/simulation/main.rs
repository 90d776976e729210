//! Simulates whole runs of the shipped core, with simulated hosts, lines and servers. The simulation is deterministic
//! for a seed and uses no threads, sockets or clocks.
//!
//! What is checked. If a check has an exception, its reason stands beside it.
//!
//! | property | where |
//! |---|---|
//! | No two commands run whose locks exclude each other: at a start, when one continues, after a host's sleep; tokens grow in the order of the queue | `checker`; `checks`: `commands_are_alive` |
//! | A command ends before its session, whatever happens to follower, line, clock and host | `explore::lease` |
//! | A command starts only if zklock's node was in its last list and zklock is neither stopped nor told to end; with `--once-per` not too soon | `checks`: `check_start`, `check_once` |
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
//! | `explore` | a few zklocks under every schedule within a bound |
//! | `checker` | the judge of exclusion and order, also that of `scripts/chaos` |
//! | `checks`, `bounds` | the other checks, and the excuses |
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

mod bounds;
mod checks;
mod command;
mod explore;
mod host;
mod options;
mod scenario;
mod sessions;
mod trace;
mod world;

use std::process::ExitCode;

use clap::Parser;
use testkit::simulated::{client, ensemble};
use testkit::{checker, fault};

use self::options::Options;
use self::scenario::Scenario;
use self::world::World;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.lists {
        return ExitCode::SUCCESS;
    }
    let is_good = match options.seed {
        _ if options.explores => explore::all(&options.scene),
        Some(seed) => print(seed),
        None => find_none(&options),
    };
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs scenarios in sequence until a violation or the limit. Returns whether there was no violation.
fn find_none(options: &Options) -> bool {
    let (mut commands, mut seed) = (0, options.from);
    while commands < options.commands {
        let mut world = World::new(Scenario::draw(seed), false);
        let outcome = world.run();
        commands += world.commands();
        if let Err(violation) = outcome {
            print(seed);
            println!("found after {commands} commands; to see it again: scripts/simulate --seed {seed}");
            println!("seed {seed}: {violation}");
            return false;
        }
        seed += 1;
    }
    println!(
        "{commands} commands in {} scenarios from seed {} on: no violation",
        seed - options.from,
        options.from
    );
    true
}

/// Runs one scenario and prints each step. Returns whether there was no violation.
fn print(seed: u64) -> bool {
    let outcome = World::new(Scenario::draw(seed), true).run();
    outcome.inspect_err(|violation| println!("seed {seed}: {violation}")).is_ok()
}
