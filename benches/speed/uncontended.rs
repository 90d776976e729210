//! The whole process around `true`, with nobody else at the lock.

use std::process::Command;

use crate::arena::{Arena, Servers, Size};
use crate::contestant::Contestant;
use crate::job::now;
use crate::stats::Sample;
use crate::table::{Table, ms, ratio};

/// Measures it and says it.
pub(crate) fn measure(arena: &Arena, size: Size) {
    let mut rows = Vec::new();
    for contestant in contestants().into_iter().filter(|contestant| contestant.is_there(arena)) {
        let lock = contestant.new_lock(arena);
        rows.push((contestant, lock, Sample::default()));
    }
    let (warm_up, rounds) = size.pick((2, 10), (10, 200));
    for round in 0..warm_up + rounds {
        for (contestant, lock, sample) in &mut rows {
            // Java takes a second to start; a few of them tell enough.
            let is_java = matches!(contestant, Contestant::Curator(_));
            if is_java && round % 10 != 0 {
                continue;
            }
            let took = time(&mut contestant.command(arena, lock, &["true".into()]));
            if round >= warm_up {
                sample.add(took);
            }
        }
    }
    tell(&rows.into_iter().map(|(contestant, _, sample)| (contestant, sample)).collect::<Vec<_>>());
}

fn contestants() -> Vec<Contestant> {
    use Contestant::{Curator, Etcd, Flock, Floor, Kazoo, Other, Plain, Zklock};
    use Servers::{One, Three};
    let one = [Kazoo(One), Curator(One), Floor(One), Zklock(One), Other(One)];
    [Plain, Flock, Etcd].into_iter().chain(one).chain([Floor(Three), Zklock(Three), Other(Three)]).collect()
}

/// From before the fork to the end of the process.
fn time(command: &mut Command) -> f64 {
    let began = now();
    let status = command.status().expect("a process");
    assert!(status.success(), "{command:?} ended with {status}");
    now() - began
}

fn tell(rows: &[(Contestant, Sample)]) {
    let median = |wanted| rows.iter().find(|(who, _)| *who == wanted).map_or(f64::NAN, |(_, s)| s.median());
    let mut table = Table::new(&["around `true`, ms", "median", "p90", "runs", "to the floor", "to zklock"]);
    for (who, sample) in rows {
        let servers = who.servers().unwrap_or(Servers::One);
        let (floor, zklock) = (median(Contestant::Floor(servers)), median(Contestant::Zklock(servers)));
        table.row([
            who.name(),
            ms(sample.median()),
            ms(sample.p90()),
            sample.len().to_string(),
            ratio(sample.median(), floor),
            ratio(sample.median(), zklock),
        ]);
    }
    table.print("Uncontended");
}
