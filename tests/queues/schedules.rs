//! Real runs with random schedules. Their tokens show which contender came first, and their history shows which ran.
//!
//! A row has a seed, and the kinds of the jobs: each is for a reader if it has `-s`. When a job begins, fewer than `slots`
//! of the jobs that came before it and that it waits for may be unfinished. So no job overtakes another, and jobs that
//! exclude each other never overlap: one of the two came first.

use super::THIS;
use crate::support::rng::Rng;
use crate::support::{Case, DEADLINE, Running, Section, Version, try_rows};

const JOBS: usize = 24;

/// A seed, how many slots there are, and options of the jobs.
type Row = (u64, usize, &'static [&'static str]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (1, 1, &["-s", "-x", "-s", ""]),
    (2, 1, &["-s", "-x", "-s", ""]),
    (3, 1, &["--naming curator-rw -s", "--naming curator-rw"]),
    (4, 1, &["--naming kazoo -s", "--naming kazoo"]),
    (5, 2, &["--slots 2"]),
    (6, 3, &["--slots 3"]),
    (7, 4, &["--slots 4"]),
];

#[test]
fn nobody_is_overtaken_or_joined_by_one_that_it_excludes() {
    try_schedules(THIS);
}

pub(crate) fn try_schedules(versions: [Version; 2]) {
    try_rows(ROWS.iter().copied(), |row| run(versions, row));
}

/// Runs jobs that come in bursts.
fn run(versions: [Version; 2], (seed, slots, kinds): Row) {
    let case = Case::new("schedule");
    let history = case.history();
    let mut rng = Rng::new(seed);
    let mut running: Vec<Running> = vec![];
    for number in 0..JOBS {
        let options: Vec<&str> = rng.pick(kinds).split_whitespace().collect();
        let kind = if options.contains(&"-s") { "reader" } else { "job" };
        // The more slots there are, the longer each takes, so that the others have to wait.
        let time = rng.millis(0, 60 * slots as u64);
        let job = history.job(&format!("{kind}-{number}"), time.as_secs_f64());
        let zklock = case.lock(&options, ["sh", "-c", &job]);
        running.push(zklock.program(versions[number % 2].program()).spawn());
        // A burst ends when its first job has run, so that the next burst meets a queue in an arbitrary state.
        if rng.chance(15) {
            running.remove(0).wait(DEADLINE).assert_code(0);
        }
    }
    for one in running {
        one.wait(DEADLINE).assert_code(0);
    }
    let sections = history.sections().unwrap();
    assert!(sections.len() == JOBS && sections.iter().all(|section| section.ended), "{sections:#?}");
    let is_reader = |section: &Section| section.name.starts_with("reader");
    for (place, one) in sections.iter().enumerate() {
        let ahead = sections.iter().enumerate().filter(|(other_place, other)| {
            let is_unfinished = *other_place > place || other.outlasts_begin_of(one);
            let is_ahead = *other_place != place && other.token <= one.token;
            is_ahead && is_unfinished && !(is_reader(one) && is_reader(other))
        });
        let ahead: Vec<&Section> = ahead.map(|(_, other)| other).collect();
        assert!(ahead.len() < slots, "{one:?} before {ahead:#?}");
    }
}
