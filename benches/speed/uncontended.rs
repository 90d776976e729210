//! Measures whole processes around `true` without other contenders.

use crate::contestant::{Contestant, Lock};
use crate::environment::{Environment, Servers, Size, alternating};
use crate::job::now;
use crate::process::spent_by_children;
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};

/// A contestant and its times.
struct Row {
    contestant: Contestant,
    lock: Lock,
    /// The wall-clock time, from before the fork to the end of the process.
    wall: Sample,
    /// The processor time of the process and its descendants.
    processor: Sample,
}

/// Measures and prints tables.
pub(crate) fn measure(environment: &Environment, size: Size) {
    let available = contestants().into_iter().filter(|contestant| contestant.is_available(environment));
    let row = |contestant: Contestant| Row {
        contestant,
        lock: contestant.new_lock(environment),
        wall: Sample::default(),
        processor: Sample::default(),
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
                run(environment, row, round >= warm_up);
            }
        }
    }
    print(&rows);
}

fn contestants() -> Vec<Contestant> {
    use Contestant::{Before, Curator, Etcd, Flock, Floor, Kazoo, Plain, Zklock};
    use Servers::{One, Three};
    let one = [Floor(One), Zklock(One), Before(One), Kazoo(One), Curator(One)];
    let three = [Floor(Three), Zklock(Three), Before(Three)];
    [Plain, Flock, Etcd].into_iter().chain(one).chain(three).collect()
}

fn run(environment: &Environment, row: &mut Row, counts: bool) {
    let mut command = row.contestant.command(environment, &row.lock, &["true".into()]);
    let (spent, began) = (spent_by_children(), now());
    let status = command.status().expect("a process");
    let (wall, processor) = (now() - began, spent_by_children() - spent);
    row.contestant.must_succeed(environment, status);
    if counts {
        row.wall.add(wall);
        row.processor.add(processor);
    }
}

fn print(rows: &[Row]) {
    let ratio_to = |row: &Row, other: fn(Servers) -> Contestant| {
        let other = row.contestant.servers().map(other);
        let other = rows.iter().find(|row| Some(row.contestant) == other);
        other.map_or_else(String::new, |other| ratio(row.wall.ratio_to(&other.wall), 1.0))
    };
    let mut head = vec!["around `true`, ms", "median", "p90", "processor time", "to the floor"];
    let has_before = rows.iter().any(|row| matches!(row.contestant, Contestant::Before(_)));
    head.extend(has_before.then_some("to the build before"));
    let mut table = Table::new(&head);
    for row in rows {
        let mut cells = vec![
            row.contestant.name(),
            ms(row.wall.median()),
            ms(row.wall.p90()),
            ms(row.processor.median()),
            ratio_to(row, Contestant::Floor),
        ];
        cells.extend(has_before.then(|| ratio_to(row, Contestant::Before)));
        table.row(cells);
    }
    table.print("One command without contention");
}
