//! Processes under the lock leave their zklock in every possible way, and a fault hits that zklock at a random moment.
//! None of them may give a sign of life after the first one of the next holder. `scripts/escape` runs this.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a checker that meets something unexpected ends there, and says where"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever started it")]
#![allow(missing_docs, unused_imports, reason = "the harness has more than this needs")]

mod options;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod trial;

use options::Options;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use support::{Observer, Server};
use table::Table;
use trial::{Beat, Crowd, Environment, Fault, Rng};

/// At most this many draws are made for each run that is wanted. A fault that comes too early or too late hits nothing.
const DRAWS: usize = 3;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => check(&options),
        Err(why) => {
            eprintln!("escape: {why}");
            ExitCode::from(2)
        }
    }
}

fn check(options: &Options) -> ExitCode {
    let server = Server::start();
    let observer = Observer::new(&server.connect_string());
    observer.mkdirs("/escape");
    let beat = Beat::build();
    let environment = Environment {
        program: options.program.clone(),
        server: &server,
        observer: &observer,
        beat: &beat,
        session: options.session,
    };
    println!("seed {}; kinds: {}", options.seed, beat.kinds().join(", "));
    let crowds = [
        (options.idle > 0).then(|| Crowd::idle(&beat, options.idle)),
        options.load.then(|| Crowd::busy(&beat, 2)),
    ];
    let began = Instant::now();
    let table = Mutex::new(Table::new(&options.faults));
    for &fault in &options.faults {
        try_fault(options, &environment, fault, &table);
        // Printed after each fault, because a long run may be interrupted.
        println!("\n{}", table.lock().expect("no lane has failed"));
    }
    drop(crowds);
    let table = table.into_inner().expect("no lane has failed");
    println!("\n{:.0} s", began.elapsed().as_secs_f64());
    match table.wrong() {
        0 => println!("no violation"),
        wrong => println!("{wrong} runs with VIOLATIONS; to repeat the draws: --seed {}", options.seed),
    }
    ExitCode::from(u8::from(table.wrong() > 0))
}

/// Makes all runs with one fault, in parallel lanes.
fn try_fault(options: &Options, environment: &Environment<'_>, fault: Fault, table: &Mutex<Table>) {
    let (drawn, met, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let lane = || {
        while !stop.load(Ordering::SeqCst) && met.load(Ordering::SeqCst) < options.runs {
            let index = drawn.fetch_add(1, Ordering::SeqCst);
            if index >= options.runs * DRAWS {
                return;
            }
            // The draws of a run don't depend on the other lanes.
            let salt = (fault as u64 + 1) * 1_000_003 + u64::try_from(index).expect("64 bits");
            let report = trial::trial(environment, fault, &mut Rng::new(options.seed ^ (salt << 20)));
            let mut table = table.lock().expect("no lane has failed");
            let Some(report) = report else {
                table.missed(fault);
                continue;
            };
            met.fetch_add(1, Ordering::SeqCst);
            if !report.wrong.is_empty() {
                println!("\nWRONG: {}, run {index}: {}", fault.name(), report.wrong.join("\n  "));
                println!("{}", report.story);
            }
            stop.fetch_or(table.take(fault, report) >= options.give_up, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| (0..options.lanes).for_each(|_| drop(scope.spawn(lane))));
}
