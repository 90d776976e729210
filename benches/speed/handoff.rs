//! Measures hand-offs: from the end of one command to the start of the next.

use std::fs;
use std::process::Child;
use std::time::Duration;

use crate::contestant::Contestant;
use crate::environment::{Environment, Servers, Size, alternating};
use crate::job;
use crate::queue;
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};

/// How long each command runs: long enough for the previous contender to have exited.
const JOB_DURATION: Duration = Duration::from_millis(10);
/// How many hand-offs each round measures: short chains are repeated.
const HANDOFFS_PER_ROUND: usize = 30;

/// Measures and prints tables.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let lengths: &[usize] = size.pick(&[2, 10], &[2, 10, 50, 100, 500]);
    let available = contestants().into_iter().filter(|(contestant, _)| contestant.is_available(environment));
    let mut rows: Vec<_> = available
        .map(|(contestant, most)| (contestant, most, vec![Sample::default(); lengths.len()]))
        .collect();
    for round in 0..size.pick(1, 2) {
        for (index, &length) in lengths.iter().enumerate() {
            for (contestant, most, samples) in alternating(round, &mut rows) {
                if length <= *most {
                    let chains = (HANDOFFS_PER_ROUND / (length - 1)).max(1);
                    (0..chains).for_each(|_| samples[index].extend(chain(environment, *contestant, length)));
                }
            }
        }
    }
    for (title, value) in [("median", Sample::median as fn(&Sample) -> f64), ("p90", Sample::p90)] {
        print(lengths, &rows, title, value);
    }
}

/// The contestants, each with the longest queue that a machine has room for.
fn contestants() -> Vec<(Contestant, usize)> {
    use Contestant::{Before, Curator, Etcd, Flock, Floor, Kazoo, Zklock};
    use Servers::{One, Three};
    vec![
        (Flock, 500),
        (Etcd, 100),
        (Kazoo(One), 50),
        (Curator(One), 10),
        (Floor(One), 500),
        (Zklock(One), 500),
        (Before(One), 500),
        (Floor(Three), 500),
        (Zklock(Three), 500),
        (Before(Three), 500),
    ]
}

/// Starts contenders, lets them run one after the other once all are queued, and returns the gaps between the commands.
fn chain(environment: &Environment, contestant: Contestant, length: usize) -> Vec<f64> {
    let (lock, name) = (contestant.new_lock(environment), environment.new_name());
    let (times, gate) =
        (environment.dir.join(format!("{name}.times")), environment.dir.join(format!("{name}.gate")));
    let start = |gate| -> Child {
        contestant
            .command(environment, &lock, &job::words(&times, JOB_DURATION, gate))
            .spawn()
            .expect("a contender")
    };
    let mut contenders = vec![start(Some(&gate))];
    queue::wait_for(environment, contestant, &lock, 1);
    for count in 1..length {
        // Started in groups, because a machine is overloaded for minutes if hundreds start at the same time.
        if count % 25 == 0 {
            queue::wait_for(environment, contestant, &lock, count);
        }
        contenders.push(start(None));
    }
    queue::wait_for(environment, contestant, &lock, length);
    queue::settle(length);
    fs::write(&gate, "").expect("an open gate");
    for contender in &mut contenders {
        contestant.must_succeed(environment, contender.wait().expect("an end"));
    }
    let runs = job::read(&times);
    assert_eq!(runs.len(), length, "{}: each runs once", contestant.name());
    fs::remove_file(times).expect("the file of times");
    fs::remove_file(gate).expect("the gate");
    runs.windows(2).map(|pair| pair[1].began - pair[0].ended).collect()
}

type Row = (Contestant, usize, Vec<Sample>);

fn print(lengths: &[usize], rows: &[Row], title: &str, value: fn(&Sample) -> f64) {
    let head: Vec<String> = lengths.iter().map(|length| format!("{length} contenders")).collect();
    let mut columns = vec!["end to start, ms"];
    columns.extend(head.iter().map(String::as_str));
    let mut table = Table::new(&columns);
    for (contestant, _, samples) in rows {
        let cells = samples.iter().map(|sample| ms(value(sample)));
        table.row([contestant.name()].into_iter().chain(cells));
    }
    for servers in [Servers::One, Servers::Three] {
        let find =
            |wanted| rows.iter().find(|(contestant, ..)| *contestant == wanted).map(|(.., samples)| samples);
        let label = if servers == Servers::One { "1 server" } else { "3 servers" };
        for (name, other) in
            [("floor", Contestant::Floor(servers)), ("build before", Contestant::Before(servers))]
        {
            let (Some(other), Some(zklock)) = (find(other), find(Contestant::Zklock(servers))) else {
                continue;
            };
            let cells = zklock.iter().zip(other).map(|(zklock, other)| ratio(value(zklock), value(other)));
            table.row([format!("zklock to the {name}, {label}")].into_iter().chain(cells));
        }
    }
    table.print(&format!("Hand-off, {title}"));
}
