//! Contenders come and go on three servers while faults are drawn from a seed; a checker reads what their jobs
//! wrote, and how they ended. `scripts/chaos` runs it.
//!
//! | module | what it is about |
//! |---|---|
//! | [`run`], [`calm`] | the story of a run, and its end; read them first |
//! | [`job`], [`watch`], [`checker`], [`section`] | the critical sections: written, read, judged |
//! | [`wish`], [`contender`], [`arena`], [`story`] | calls of zklock: drawn, made, ended, judged |
//! | [`fault`], [`storm`], [`strike`], [`ambush`], [`prey`], [`fault_log`] | faults: drawn, lasting, done, remembered |
//! | [`hit`], [`processes`] | what is done to a contender's processes |
//! | [`slack`], [`txn_log`] | what lost locks had to spare, by the servers' own logs |
//! | [`support::network`] | the servers, and all that lies between them and their clients |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a checker that meets something unexpected ends there, and says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever started it")]
#![allow(missing_docs, unused_imports, reason = "the harness has more than this needs")]

mod ambush;
mod arena;
mod calm;
mod checker;
mod clock;
mod contender;
mod fault;
mod fault_log;
mod hit;
mod job;
mod options;
mod prey;
mod processes;
mod rng;
mod run;
mod section;
mod slack;
mod storm;
mod story;
mod strike;
#[path = "../support/mod.rs"]
mod support;
mod txn_log;
mod watch;
mod wish;

use arena::INTERRUPTED;
use options::Options;
use rng::Rng;
use run::{FAILED, Outcome};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if job::run_as_told(&words) {
        return ExitCode::SUCCESS;
    }
    match Options::parse(words.into_iter()) {
        Ok(options) => check(&options),
        Err(why) => {
            eprintln!("chaos: {why}");
            ExitCode::from(2)
        }
    }
}

fn check(options: &Options) -> ExitCode {
    let mut rng = Rng::new(options.seed);
    let ensemble = run::ensemble(&mut rng, options.aim);
    let minutes = options.lasts.as_secs_f64() / 60.0;
    println!("seed {}: {minutes:.1} minutes, {ensemble:?}", options.seed);
    let dir = tempfile::tempdir().expect("a directory for the run");
    let outcome = run::run(options, ensemble, &mut rng, dir.path());
    if let Some(wrong) = &outcome.wrong {
        println!("\nWRONG after {:.1} s: {wrong}", outcome.took.as_secs_f64());
        println!("\nthe history (milliseconds, what, who):\n{}", outcome.excerpt);
        println!("\nthe last faults (milliseconds):\n{}", outcome.last_faults);
    }
    tell(&outcome);
    // A checker that fails or is interrupted has found nothing.
    let proves = |wrong: &String| ![INTERRUPTED, FAILED].contains(&wrong.as_str());
    let found = outcome.wrong.as_ref().is_some_and(|wrong| !options.expect_violation || proves(wrong));
    match (found, options.expect_violation) {
        (false, false) => println!("no violation"),
        (true, true) => println!("found, as it should be, after {:.1} s", outcome.took.as_secs_f64()),
        (false, true) => println!("NOT FOUND: a lock that is broken on purpose passed"),
        (true, false) => println!("to repeat it: scripts/chaos{}", options.again()),
    }
    ExitCode::from(u8::from(found != options.expect_violation))
}

fn tell(outcome: &Outcome) {
    let numbers = &outcome.numbers;
    let pause = numbers.longest_pause.end.saturating_sub(numbers.longest_pause.start);
    println!(
        "{} sections ({} to their end), {} hand-offs, {} faults, longest pause {:.1} s",
        numbers.sections,
        numbers.ended,
        numbers.handoffs,
        outcome.faults,
        pause.as_secs_f64()
    );
    if numbers.forgotten > 0 {
        println!("the servers forgot {} nodes that they had confirmed", numbers.forgotten);
    }
    println!("in that pause: {}", outcome.pause_faults);
    println!("faults: {}", outcome.fault_summary);
    println!("ends of contenders: {}", outcome.ends);
    println!("locks that were lost, and the time from a command's last sign of life to its node's end:");
    println!("{}", outcome.losses);
}
