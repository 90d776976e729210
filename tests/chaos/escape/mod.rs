//! Processes under the lock leave their zklock in every possible way, and a fault hits that zklock at a random moment.
//! None of them may give a sign of life after the first one of the next holder. `scripts/chaos --escape` makes many such
//! trials on one server.

mod table;
mod trial;

use crate::options::Options;
use crate::support::{Fault, Observer, Rng, Server};
use crate::tell_result;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use table::Table;
use trial::{Beat, Crowd, Environment};

/// At most this many draws are made for each run that is wanted. A fault that comes too early or too late hits nothing.
const DRAWS: usize = 3;
/// After this many runs with violations, a fault is no longer tested.
const GIVE_UP: usize = 10;

pub(crate) fn check(options: &Options) -> ExitCode {
    let trials = &options.trials;
    let server = Server::start();
    let observer = Observer::new(&server.connect_string());
    observer.mkdirs("/escape");
    let beat = Beat::build();
    let environment = Environment {
        program: trials.program.clone(),
        server: &server,
        observer: &observer,
        beat: &beat,
        session: trials.session,
    };
    println!("seed {}; kinds: {}", options.seed, beat.kinds().join(", "));
    let crowds = [
        (trials.idle > 0).then(|| Crowd::idle(&beat, trials.idle)),
        trials.load.then(|| Crowd::busy(&beat, 2)),
    ];
    let mut table = Mutex::new(Table::new(&options.faults));
    for &fault in &options.faults {
        try_fault(options, &environment, fault, &table);
        let table = table.get_mut().expect("no lane has failed");
        // Printed after each fault, because a long run may be interrupted.
        println!("\n{table}");
    }
    drop(crowds);
    let wrong = table.into_inner().expect("no lane has failed").wrong();
    if wrong > 0 {
        println!("\n{wrong} runs with VIOLATIONS");
    }
    tell_result(options, wrong > 0)
}

/// Makes all runs with one fault, in parallel lanes.
fn try_fault(options: &Options, environment: &Environment<'_>, fault: Fault, table: &Mutex<Table>) {
    let (drawn, met, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let runs = options.trials.runs;
    let lane = || {
        while !stop.load(Ordering::SeqCst) && met.load(Ordering::SeqCst) < runs {
            let index = drawn.fetch_add(1, Ordering::SeqCst);
            if index >= runs * DRAWS {
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
                println!("\nWRONG: {fault}, run {index}: {}", report.wrong.join("\n  "));
                println!("{}", report.story);
            }
            stop.fetch_or(table.take(fault, report) >= GIVE_UP, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| (0..options.trials.lanes).for_each(|_| drop(scope.spawn(lane))));
}
