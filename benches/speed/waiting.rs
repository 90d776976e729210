//! Measures a thousand waiters: their cost while they wait, and how they run one after the other.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::contestant::{Contestant, Lock};
use crate::counters::packets_received;
use crate::environment::{Environment, Servers, Size};
use crate::job::{self, Times, now};
use crate::process::{families, proportional, spent};
use crate::queue;
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};
use crate::wire;

/// Measures and prints the results, also those of a build before, with the ratios to it.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let builds = Contestant::builds(environment, Servers::One);
    let values: Vec<_> = builds.iter().map(|build| measure_one(environment, size, *build)).collect();
    let mut head = vec!["of each waiter"];
    let names: Vec<String> = builds.iter().map(|build| build.name()).collect();
    head.extend(names.iter().map(String::as_str));
    head.extend((builds.len() > 1).then_some("to the build before"));
    let mut table = Table::new(&head);
    let labels = [
        "memory (proportional set size), MiB",
        "requests a second",
        "processor time in a second, ms",
        "`zklock -n` behind the holder, ms",
        "`zklock -n` behind all, ms",
    ];
    for (index, label) in labels.into_iter().enumerate() {
        let mut cells = vec![label.to_owned()];
        cells.extend(values.iter().map(|values| ms(values[index])));
        cells.extend((values.len() > 1).then(|| ratio(values[0][index], values[1][index])));
        table.row(cells);
    }
    table.print("Waiting");
    let rate = confirmations_a_second(&environment.three, size.pick(500, 5000));
    println!("\nThree servers on this machine carry out {rate:.0} confirmations in a second.");
}

/// The values of the table for one build. Prints what is no cost of a single waiter.
fn measure_one(environment: &Environment, size: Size, contestant: Contestant) -> [f64; 5] {
    let (count, watched) = size.pick((50, Duration::from_secs(12)), (1000, Duration::from_mins(1)));
    let (lock, times, gate) =
        (contestant.new_lock(environment), environment.dir.join("times"), environment.dir.join("gate"));
    let start =
        |words: &[OsString]| contestant.command(environment, &lock, words).spawn().expect("a contender");
    let mut all = vec![start(&job::words(&times, Duration::ZERO, Some(&gate)))];
    queue::wait_for(environment, contestant, &lock, 1);
    let behind_one = look(environment, contestant, &lock);
    let (began, words) = (Instant::now(), job::words(&times, Duration::ZERO, None));
    while all.len() <= count {
        all.push(start(&words));
        if all.len() % 20 == 0 {
            queue::wait_for(environment, contestant, &lock, all.len());
        }
    }
    queue::wait_for(environment, contestant, &lock, count + 1);
    println!("\n{}: {count} waiters arrived in {:.1} s.", contestant.name(), began.elapsed().as_secs_f64());
    queue::settle(count);

    // Each waiter has a worker, which is its only child.
    let families = families();
    let waiters: Vec<[u32; 2]> = all[1..].iter().map(|one| [one.id(), families[&one.id()][0]]).collect();
    let mut memory = Sample::default();
    memory.extend(waiters.iter().map(|pids| pids.iter().map(|pid| proportional(*pid)).sum()));
    let behind_all = look(environment, contestant, &lock);
    let processor = || waiters.iter().flatten().map(|pid| spent(*pid)).sum::<f64>();
    let (began, before, used) = (Instant::now(), packets_received(&environment.one), processor());
    sleep(watched);
    let (lasted, after) = (began.elapsed().as_secs_f64(), packets_received(&environment.one));
    let used = processor() - used;
    let requests = (after - before) / lasted / count as f64;
    run_all(environment, contestant, &mut all, &times, &gate);
    [memory.median(), requests, used / lasted / count as f64, behind_one, behind_all]
}

/// How long a whole `zklock -n` takes that finds the lock busy.
fn look(environment: &Environment, contestant: Contestant, lock: &Lock) -> f64 {
    let mut took = Sample::default();
    for _ in 0..20 {
        let mut command = Command::new(contestant.zklock(environment));
        command.args(["-q", "-n", "-z", &environment.one, &lock.name, "true"]).stderr(environment.errors());
        let began = now();
        let status = command.status().expect("a process");
        took.add(now() - began);
        assert_eq!(status.code(), Some(124), "the lock is busy:\n{}", environment.last_errors());
    }
    took.median()
}

/// Ends the holder, and lets the waiters run one after the other.
fn run_all(environment: &Environment, contestant: Contestant, all: &mut [Child], times: &Path, gate: &Path) {
    let began = Instant::now();
    fs::write(gate, "").expect("an open gate");
    for contender in &mut *all {
        contestant.must_succeed(environment, contender.wait().expect("an end"));
    }
    let took = began.elapsed().as_secs_f64();
    let runs = job::read(times);
    fs::remove_file(times).expect("the file of times");
    fs::remove_file(gate).expect("the gate");
    let in_order = runs.windows(2).all(|pair| pair[0].sequence < pair[1].sequence);
    let apart = runs.windows(2).all(|pair: &[Times]| pair[0].ended <= pair[1].began);
    assert!(in_order && apart && runs.len() == all.len(), "each runs once, alone, in the order of the queue");
    println!("When the holder ended, {} commands ran in order in {took:.1} s.", runs.len());
}

/// How many confirmations the servers carry out in a second, with many in flight together.
fn confirmations_a_second(hosts: &str, count: usize) -> f64 {
    wire::run(async {
        let client = wire::connect(hosts).await;
        let mut took = Sample::default();
        for _ in 0..5 {
            let checks = (0..count).map(|_| {
                let mut check = client.new_multi_writer();
                check.add_check_version("/", -1).expect("a check");
                check.commit()
            });
            let checks: Vec<_> = checks.collect();
            let began = now();
            for answer in futures::future::join_all(checks).await {
                answer.expect("a confirmation");
            }
            took.add(now() - began);
        }
        wire::close(client).await;
        count as f64 / took.median() * 1e3
    })
}
