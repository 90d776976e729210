//! Starts contenders on three servers, injects faults drawn from a seed, and checks what the commands wrote and how the
//! contenders exited. `scripts/chaos` runs it.
//!
//! | module | content |
//! |---|---|
//! | [`run`], [`final_check`] | the course of a run, and the checks at its end; read them first |
//! | [`job`], [`support::History`], [`support::Checker`] | critical sections: written, read, judged |
//! | [`invocation`], [`contender`], [`harness`], [`exit_check`] | calls of zklock: drawn, made, ended, checked |
//! | [`support::fault`] | every fault by name, also those of the simulation |
//! | [`fault`], [`injector`], [`injection`], [`target`] | faults: drawn, scheduled, injected, aimed |
//! | [`wires`], [`proxies`], [`lan`] | what carries packets and fails: proxies, or machines of their own (`--hosts`) |
//! | [`processes`], [`support::process_fault`] | faults of a single contender and its processes |
//! | [`fault_log`] | the faults that have been injected |
//! | [`calls`] | another course: a system call of a zklock fails or takes long |
//! | [`transaction_log`] | when nodes were deleted, and whether the servers lost any, by their own logs |
//! | [`support::network`] | the servers, and the links between them and their clients |
//! | [`support::lan`], [`support::machine`] | the same on machines of their own |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "an unexpected state ends the checker with a message that says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the checker prints its report")]
#![allow(missing_docs, reason = "the shared test helpers have more than this binary uses")]

mod calls;
mod contender;
mod exit_check;
mod fault;
mod fault_log;
mod final_check;
mod harness;
mod injection;
mod injector;
mod invocation;
mod job;
mod lan;
mod options;
mod processes;
mod proxies;
mod run;
mod target;
mod transaction_log;
mod wires;

use harness::INTERRUPTED;
use options::Options;
use run::Outcome;
use std::process::ExitCode;
use support::Rng;
use testkit as support;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if job::run_job_if_requested(&arguments) {
        return ExitCode::SUCCESS;
    }
    let options = options::parse();
    match () {
        () if options.list_faults => {
            options::list_faults();
            ExitCode::SUCCESS
        }
        () if options.calls.is_some() => calls(&options),
        () => check(&options),
    }
}

/// `--calls`: runs in which a system call fails.
fn calls(options: &Options) -> ExitCode {
    println!("seed {}", options.seed);
    let runs = options.calls.unwrap_or_default();
    let wrong = calls::check(&support::Server::start(), options.seed, runs);
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many runs there are at most. A run with a violation is repeated if the servers broke their own promises in it.
const MAX_RUNS: u64 = 3;

fn check(options: &Options) -> ExitCode {
    let mut runs =
        (0..MAX_RUNS).map(|run| Options { seed: options.seed.wrapping_add(run), ..options.clone() });
    runs.find_map(|run| check_once(&run)).unwrap_or(ExitCode::FAILURE)
}

/// `None`: the servers broke their promises, and the violation may follow from that.
fn check_once(options: &Options) -> Option<ExitCode> {
    let mut rng = Rng::new(options.seed);
    let settings = run::server_settings(&mut rng);
    let minutes = options.duration.as_secs_f64() / 60.0;
    println!("seed {}: {minutes:.1} minutes, {settings:?}", options.seed);
    let dir = tempfile::tempdir().expect("a directory for the run");
    let outcome = run::run(options, settings, &mut rng, dir.path());
    if let Some(violation) = &outcome.violation {
        println!("\nWRONG after {:.1} s: {violation}", outcome.took.as_secs_f64());
        println!("\nthe history (milliseconds, event, contender):\n{}", outcome.excerpt);
        println!("\nthe last faults (milliseconds):\n{}", outcome.last_faults);
    }
    print_summary(&outcome);
    if outcome.broken_servers.is_some() && outcome.violation.as_ref().is_some_and(|why| why != INTERRUPTED) {
        println!("VOID: the violation may follow from that, so this run proves nothing\n");
        return None;
    }
    Some(tell_result(options, outcome.violation.is_some()))
}

/// Prints the result. The exit code is 0 if there is no violation.
fn tell_result(options: &Options, found: bool) -> ExitCode {
    if found {
        println!("to repeat the run: scripts/chaos{}", options.repeat_arguments());
    } else {
        println!("no violation");
    }
    ExitCode::from(u8::from(found))
}

fn print_summary(outcome: &Outcome) {
    let completed = outcome.sections.iter().filter(|section| section.ended).count();
    println!("{} sections ({completed} completed), {} faults", outcome.sections.len(), outcome.faults);
    if let Some(what) = &outcome.broken_servers {
        println!("the servers broke their promises: {what}");
    }
}
