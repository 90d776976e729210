//! Measures the phases of an uncontended run, from the traffic at a relay and the times that the command records.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::contestant::{Contestant, Lock};
use crate::environment::{Environment, Servers, Size};
use crate::job::{self, now};
use crate::relay::{Passage, Relay, Side};
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};
use crate::wire;

const PHASES: [&str; 10] = [
    "the program starts, until it connects",
    "connect request, until the session is there",
    "a ping that the client library sends first, and its answer",
    "until create and list are on the wire",
    "until the create is answered",
    "until the list is answered",
    "fork and exec, until the command's first line",
    "the command, which does nothing",
    "until the delete is on the wire",
    "until the last answer",
];

/// Measures and prints tables.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let relay = Relay::to(&environment.one);
    let through = Environment::at(relay.hosts());
    let builds = Contestant::builds(environment, Servers::One);
    let mut columns: Vec<_> = [Contestant::Floor(Servers::One)]
        .into_iter()
        .chain(builds)
        .map(|contestant| (contestant, vec![Sample::default(); PHASES.len() + 5]))
        .collect();
    let lock = Lock { name: format!("/{}-phases", environment.new_name()) };
    wire::make(&environment.one, &lock.name);
    let (warm_up, rounds) = size.pick((2, 10), (10, 200));
    for round in 0..warm_up + rounds {
        for (contestant, samples) in &mut columns {
            let values = one_run(&through, *contestant, &lock, &relay);
            if round >= warm_up {
                samples.iter_mut().zip(values).for_each(|(sample, value)| sample.add(value));
            }
        }
    }
    print(&columns);
}

fn one_run(environment: &Environment, contestant: Contestant, lock: &Lock, relay: &Relay) -> Vec<f64> {
    let times = environment.dir.join("phases.times");
    let mut command: Command =
        contestant.command(environment, lock, &job::words(&times, Duration::ZERO, None));
    relay.take();
    let began = now();
    let status = command.stderr(Stdio::inherit()).status().expect("a process");
    let ended = now();
    assert!(status.success(), "{} ended with {status}", contestant.name());
    let ran = job::read(&times)[0];
    std::fs::remove_file(&times).expect("the file of times");
    let passages = relay.take();
    let after = |time: f64, by: Side| {
        let found =
            passages.iter().find(|passage| passage.by == by && passage.bytes > 0 && passage.at > time);
        found.map_or(f64::NAN, |passage| passage.at)
    };
    let connected = passages.first().map_or(f64::NAN, |passage| passage.at);
    let session = after(connected, Side::Server);
    let pinged = after(after(session, Side::Client), Side::Server);
    let create = after(pinged, Side::Client);
    let created = after(create, Side::Server);
    let listed = Some(after(created, Side::Server)).filter(|at| *at < ran.began).unwrap_or(created);
    let delete = after(ran.ended, Side::Client);
    let last = passages.iter().rev().find(|p| p.by == Side::Server).map_or(f64::NAN, |passage| passage.at);
    let marks = [
        began, connected, session, pinged, create, created, listed, ran.began, ran.ended, delete, last, ended,
    ];
    let mut values: Vec<f64> = marks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    values.push(ended - began);
    values.extend(totals(&passages));
    values
}

/// The writes of the client, the writes of the server, and the bytes of both.
fn totals(passages: &[Passage]) -> [f64; 3] {
    let of = |side| passages.iter().filter(move |passage| passage.by == side && passage.bytes > 0);
    let bytes: usize = passages.iter().map(|passage| passage.bytes).sum();
    [of(Side::Client).count() as f64, of(Side::Server).count() as f64, bytes as f64]
}

fn print(columns: &[(Contestant, Vec<Sample>)]) {
    let names: Vec<String> = columns.iter().map(|(contestant, _)| contestant.name()).collect();
    let find = |wanted| columns.iter().find(|(contestant, _)| *contestant == wanted).map(|(_, found)| found);
    let before = find(Contestant::Zklock(Servers::One)).zip(find(Contestant::Before(Servers::One)));
    let mut head: Vec<&str> = ["medians, ms"].into_iter().chain(names.iter().map(String::as_str)).collect();
    head.extend(before.map(|_| "to the build before"));
    let mut table = Table::new(&head);
    let labels = PHASES.into_iter().chain([
        "until the process has ended",
        "**all of it, through the relay**",
        "writes of the client",
        "writes of the server",
        "bytes, both ways",
    ]);
    for (index, label) in labels.enumerate() {
        let cells = columns.iter().map(|(_, samples)| ms(samples[index].median()));
        let to_before = before.map(|(zklock, before)| ratio(zklock[index].median(), before[index].median()));
        table.row([label.to_owned()].into_iter().chain(cells).chain(to_before));
    }
    table.print("Where an uncontended run's time goes");
}
