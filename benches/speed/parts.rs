//! Measures the two parts of the least that a hand-off can take: from a delete until another session is notified, and a
//! fork with an exec until the command's first line.

use std::process::{Command, Stdio};
use std::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode};

use crate::environment::{Environment, Servers, Size};
use crate::job::{self, now};
use crate::stats::Sample;
use crate::table::{Table, ms};
use crate::wire;

/// Measures and prints tables.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let rounds = size.pick(50, 500);
    let mut starts = Sample::default();
    let mut notified = [(Servers::One, Sample::default()), (Servers::Three, Sample::default())];
    let paths = notified.each_ref().map(|(servers, _)| {
        let path = format!("/{}", environment.new_name());
        wire::make(environment.hosts(*servers), &path);
        path
    });
    for _ in 0..10 {
        starts.extend((0..rounds / 10).map(|_| start_a_job(environment)));
        for ((servers, sample), path) in notified.iter_mut().zip(&paths) {
            sample.extend(delete_to_notification(environment.hosts(*servers), path, rounds / 10));
        }
    }
    let mut table = Table::new(&["the parts of a hand-off, ms", "median", "p90", "runs"]);
    let [(_, one), (_, three)] = &notified;
    for (what, sample) in [
        ("fork and exec", &starts),
        ("delete to notification, 1 server", one),
        ("the same, 3 servers", three),
    ] {
        let runs = sample.len().to_string();
        table.row([what.to_owned(), ms(sample.median()), ms(sample.p90()), runs]);
    }
    for (label, sample) in [("1 server", one), ("3 servers", three)] {
        let sum = sample.median() + starts.median();
        table.row([format!("sum of the medians, {label}"), ms(sum), String::new(), String::new()]);
    }
    table.print("The parts of a hand-off");
    for (label, servers) in [("one server", Servers::One), ("three servers", Servers::Three)] {
        let rate = checks_a_second(environment.hosts(servers), size.pick(500, 5000));
        println!("\nConfirmations that {label} on this machine carried out in a second: {rate:.0}.");
    }
}

/// From before the fork to the first line of the command's `main`.
fn start_a_job(environment: &Environment) -> f64 {
    let times = environment.dir.join("start.times");
    let words = job::words(&times, Duration::ZERO, None);
    let (program, arguments) = words.split_first().expect("a command");
    let began = now();
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).status().expect("a process");
    assert!(status.success(), "the job ended with {status}");
    let ran = job::read(&times)[0].began;
    std::fs::remove_file(&times).expect("the file of times");
    ran - began
}

/// The times from a delete in one session to the notification in another. Both run on one thread, so that no switch
/// between threads is included.
fn delete_to_notification(hosts: &str, path: &str, rounds: usize) -> Vec<f64> {
    wire::run(async {
        let (one, other) = (wire::connect(hosts).await, wire::connect(hosts).await);
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            took.push(one_notification(&one, &other, path).await);
        }
        wire::close(one).await;
        wire::close(other).await;
        took
    })
}

async fn one_notification(one: &Client, other: &Client, path: &str) -> f64 {
    let prefix = wire::prefix(path);
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let (_, sequence) = one.create(&prefix, wire::DATA, &options).await.expect("a node");
    let node = format!("{prefix}{sequence}");
    // The other session may use another server, which may not have the node yet.
    other.sync(path).await.expect("a sync");
    let (_, _, watch) = other.get_and_watch_data(&node).await.expect("the node");
    let began = now();
    let notification = async {
        watch.changed().await;
        now() - began
    };
    let (answer, took) = futures::join!(one.delete(&node, None), notification);
    answer.expect("a delete");
    took
}

/// How many confirmations the servers carry out per second, with many in flight together.
fn checks_a_second(hosts: &str, count: usize) -> f64 {
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
