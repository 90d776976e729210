//! Measures a thousand waiters: their cost while they wait, and how they run one after the other.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::contestant::Contestant;
use crate::counters::{Packets, packets};
use crate::environment::{Environment, Servers, Size};
use crate::job::{self, Times};
use crate::process::{available, families, proportional, sleeps, spent, threads};
use crate::queue;
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};

/// The cost of waiting for some time.
struct Rest {
    lasted: f64,
    monitor: Sample,
    worker: Sample,
    processor: f64,
    packets: Packets,
}

/// Measures and prints the results.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let mut before = None;
    // The build before comes first, because the table of this build has the ratios to it.
    for build in Contestant::builds(environment, Servers::One).into_iter().rev() {
        before = Some(measure_one(environment, size, build, before.as_deref()));
    }
}

/// Prints a table, with the ratios to the medians of the build before if there are any. Returns the medians.
fn measure_one(
    environment: &Environment,
    size: Size,
    contestant: Contestant,
    before: Option<&[f64]>,
) -> Vec<f64> {
    let (count, watched) = size.pick((50, Duration::from_secs(12)), (1000, Duration::from_mins(1)));
    let (lock, times, gate) =
        (contestant.new_lock(environment), environment.dir.join("times"), environment.dir.join("gate"));
    let start =
        |words: &[OsString]| contestant.command(environment, &lock, words).spawn().expect("a contender");
    let memory = available();
    let mut holder = start(&job::words(&times, Duration::ZERO, Some(&gate)));
    queue::wait_for(environment, contestant, &lock, 1);
    let mut waiters = Vec::with_capacity(count);
    let (began, words) = (Instant::now(), job::words(&times, Duration::ZERO, None));
    while waiters.len() < count {
        waiters.push(start(&words));
        if waiters.len() % 20 == 0 {
            queue::wait_for(environment, contestant, &lock, waiters.len());
        }
    }
    queue::wait_for(environment, contestant, &lock, count + 1);
    let arrived = began.elapsed();
    queue::settle(count);

    let workers = workers(&waiters);
    let taken = (memory - available()) / count as f64;
    let title = format!("{count} waiters: {}", contestant.name());
    let mut head = vec![title.as_str(), "median", "most"];
    head.extend(before.map(|_| "to the build before"));
    let (mut table, mut medians) = (Table::new(&head), Vec::new());
    let mut add_row = |what: &str, sample: &Sample| {
        let to_before = before.map(|before| ratio(sample.median(), before[medians.len()]));
        let cells = [what.to_owned(), ms(sample.median()), ms(sample.most())];
        table.row(cells.into_iter().chain(to_before));
        medians.push(sample.median());
    };
    let memory = |pid: &u32| proportional(*pid) / 1024.0;
    let ids: Vec<u32> = waiters.iter().map(Child::id).collect();
    add_row("proportional set size of the monitor, MiB", &sample(&ids, memory));
    add_row("the same of the worker, MiB", &sample(&workers, memory));
    let both = ids.iter().zip(&workers).map(|(own, worker)| memory(own) + memory(worker));
    let mut sum = Sample::default();
    sum.extend(both);
    add_row("**both together, MiB**", &sum);
    add_row("threads of the monitor", &sample(&ids, |pid| threads(*pid)));
    add_row("**threads of the worker**", &sample(&workers, |pid| threads(*pid)));
    let rest = rest(environment, &ids, &workers, watched);
    add_row("wake-ups of the monitor in a minute", &rest.monitor);
    add_row("wake-ups of the worker in a minute", &rest.worker);
    table.print("Waiting");
    let requests = rest.packets.received / rest.lasted / count as f64;
    println!(
        "\nAll had arrived after {:.1} s. The machine's free memory shrank by {:.2} MiB for each,",
        arrived.as_secs_f64(),
        taken / 1024.0
    );
    println!("the server's share included. At rest each sent {requests:.3} requests a second");
    println!("and used {:.2} ms of processor time in a second.", rest.processor);
    run_all(environment, &mut holder, &mut waiters, &times, &gate, rest.packets.received / rest.lasted);
    medians
}

/// The worker of each waiter, which is the waiter's only child.
fn workers(waiters: &[Child]) -> Vec<u32> {
    let families = families();
    waiters.iter().map(|waiter| families[&waiter.id()][0]).collect()
}

fn sample(ids: &[u32], value: impl Fn(&u32) -> f64) -> Sample {
    let mut sample = Sample::default();
    sample.extend(ids.iter().map(value));
    sample
}

/// Observes the waiters for some time, in which nothing happens.
fn rest(environment: &Environment, ids: &[u32], workers: &[u32], watched: Duration) -> Rest {
    let counts = |ids: &[u32]| -> Vec<f64> { ids.iter().map(|pid| sleeps(*pid)).collect() };
    let (began, packets_before) = (Instant::now(), packets(&environment.one));
    let (monitors_before, workers_before) = (counts(ids), counts(workers));
    let processor = |ids: &[u32]| ids.iter().map(|pid| spent(*pid)).sum::<f64>();
    let used = processor(ids) + processor(workers);
    sleep(watched);
    let used = processor(ids) + processor(workers) - used;
    let a_minute = |before: &[f64], after: &[f64]| {
        let mut sample = Sample::default();
        let grown = before.iter().zip(after).map(|(before, after)| after - before);
        sample.extend(grown.map(|grown| grown * 60.0 / watched.as_secs_f64()));
        sample
    };
    let monitor = a_minute(&monitors_before, &counts(ids));
    let worker = a_minute(&workers_before, &counts(workers));
    let (lasted, after) = (began.elapsed().as_secs_f64(), packets(&environment.one));
    let received = after.received - packets_before.received;
    let processor = used / ids.len() as f64 / lasted;
    Rest {
        lasted,
        monitor,
        worker,
        processor,
        packets: Packets { received, sent: after.sent - packets_before.sent },
    }
}

/// Ends the holder, and lets the waiters run one after the other.
fn run_all(
    environment: &Environment,
    holder: &mut Child,
    waiters: &mut [Child],
    times: &Path,
    gate: &Path,
    idle: f64,
) {
    let (began, before) = (Instant::now(), packets(&environment.one));
    fs::write(gate, "").expect("an open gate");
    assert!(holder.wait().expect("an end").success());
    let failed =
        waiters.iter_mut().filter_map(|waiter| waiter.wait().ok()).filter(|end| !end.success()).count();
    let (took, after) = (began.elapsed().as_secs_f64(), packets(&environment.one));
    let runs = job::read(times);
    fs::remove_file(times).expect("the file of times");
    fs::remove_file(gate).expect("the gate");
    let in_order = runs.windows(2).all(|pair| pair[0].sequence < pair[1].sequence);
    let apart = runs.windows(2).all(|pair: &[Times]| pair[0].ended <= pair[1].began);
    let (count, commands) = (waiters.len() as f64, runs.len());
    let heartbeats = idle * took / 2.0;
    println!(
        "\nThen the holder ended: {commands} commands ran in {took:.1} s, {:.2} ms from one to the next;",
        took * 1e3 / count
    );
    println!("in the order of the queue: {in_order}; none beside another: {apart}; {failed} failed.");
    println!(
        "Requests for each hand-off: {:.1} received, {:.1} sent; heartbeats taken off, {:.1} received.",
        (after.received - before.received) / count,
        (after.sent - before.sent) / count,
        // A contender that has run sends no more heartbeats, so half of them are subtracted.
        (after.received - before.received - heartbeats) / count
    );
}
