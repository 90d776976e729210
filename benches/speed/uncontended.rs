//! Measures whole processes around `true` without other contenders.

use std::process::Command;

use crate::contestant::{Contestant, Lock};
use crate::environment::{Environment, Servers, Size, alternating};
use crate::job::now;
use crate::process::spent_by_children;
use crate::stats::Sample;
use crate::table::{Table, count, ms, ratio};

/// A contestant and its times.
struct Row {
    contestant: Contestant,
    lock: Lock,
    /// The wall-clock time, from before the fork to the end of the process.
    wall: Sample,
    /// The processor time of the process and its descendants.
    processor: Sample,
    /// Their page faults.
    faults: Sample,
}

/// Measures and prints tables.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let available = contestants().into_iter().filter(|contestant| contestant.is_available(environment));
    let row = |contestant: Contestant| Row {
        contestant,
        lock: contestant.new_lock(environment),
        wall: Sample::default(),
        processor: Sample::default(),
        faults: Sample::default(),
    };
    let mut rows: Vec<Row> = available.map(row).collect();
    let (warm_up, rounds) = size.pick((2, 10), (10, 300));
    for round in 0..warm_up + rounds {
        for row in alternating(round, &mut rows) {
            // Java takes a second to start, and Python some time, so fewer runs of these are measured.
            let each = match row.contestant {
                Contestant::Curator(_) => 15,
                Contestant::Kazoo(_) => 3,
                _ => 1,
            };
            if round % each == 0 {
                run(
                    &mut row.contestant.command(environment, &row.lock, &["true".into()]),
                    row,
                    round >= warm_up,
                );
            }
        }
    }
    print(&rows);
}

fn contestants() -> Vec<Contestant> {
    use Contestant::{Before, Curator, Etcd, Flock, Floor, Kazoo, Limit, Plain, Zklock};
    use Servers::{One, Three};
    let one = [Kazoo(One), Curator(One), Limit(One), Floor(One), Zklock(One), Before(One)];
    let three = [Limit(Three), Floor(Three), Zklock(Three), Before(Three)];
    [Plain, Flock, Etcd].into_iter().chain(one).chain(three).collect()
}

fn run(command: &mut Command, row: &mut Row, counts: bool) {
    let (spent, began) = (spent_by_children(), now());
    let status = command.status().expect("a process");
    let (wall, now_spent) = (now() - began, spent_by_children());
    assert!(status.success(), "{command:?} ended with {status}");
    if counts {
        row.wall.add(wall);
        row.processor.add(now_spent.processor - spent.processor);
        row.faults.add(now_spent.faults - spent.faults);
    }
}

fn print(rows: &[Row]) {
    let find = |wanted| rows.iter().find(|row| row.contestant == wanted);
    let ratio_to = |row: &Row, other: Option<&Row>| {
        other.map_or_else(String::new, |other| ratio(row.wall.ratio_to(&other.wall), 1.0))
    };
    let mut head = vec![
        "around `true`, ms",
        "median",
        "p90",
        "processor",
        "page faults",
        "runs",
        "to the limit",
        "to the floor",
        "to zklock",
    ];
    let has_before = rows.iter().any(|row| matches!(row.contestant, Contestant::Before(_)));
    if has_before {
        head.push("to the build before");
    }
    let mut table = Table::new(&head);
    for row in rows {
        let servers = row.contestant.servers().unwrap_or(Servers::One);
        let mut cells = vec![
            row.contestant.name(),
            ms(row.wall.median()),
            ms(row.wall.p90()),
            ms(row.processor.median()),
            count(row.faults.median()),
            row.wall.len().to_string(),
            ratio_to(row, find(Contestant::Limit(servers))),
            ratio_to(row, find(Contestant::Floor(servers))),
            ratio_to(row, find(Contestant::Zklock(servers))),
        ];
        if has_before {
            cells.push(ratio_to(row, find(Contestant::Before(servers))));
        }
        table.row(cells);
    }
    table.print("Uncontended");
}
