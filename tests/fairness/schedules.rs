//! Real runs with random schedules. Their tokens show which contender came first, and their history shows which ran.

use crate::support::{Case, DEADLINE, Running, Section};

/// Each seed determines a schedule.
const SEEDS: [u64; 3] = [1, 0x5eed, 0xfeed_beef];
const JOBS: usize = 24;

/// Marsaglia's xorshift: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Runs `JOBS` jobs that come in bursts. Each has one of these kinds, and takes from 0 to 60 ms.
fn run(seed: u64, kinds: &[(&str, &[&str])]) -> Vec<Section> {
    let case = Case::new("schedule");
    let history = case.history();
    let mut random = Random(seed);
    let mut running: Vec<Running> = Vec::new();
    for number in 0..JOBS {
        let kind = usize::try_from(random.below(kinds.len() as u64)).unwrap();
        let (name, options) = kinds[kind];
        let seconds = f64::from(u32::try_from(random.below(60)).unwrap()) / 1000.0;
        let job = history.job(&format!("{name}{number}"), seconds);
        running.push(case.lock(options, ["sh", "-c", &job]).spawn());
        // A burst ends when its first job has run, so that the next burst meets a queue in an arbitrary state.
        if random.below(6) == 0 {
            running.remove(0).wait(DEADLINE).assert_code(0);
        }
    }
    for one in running {
        one.wait(DEADLINE).assert_code(0);
    }
    let sections = history.sections().unwrap();
    assert_eq!(sections.len(), JOBS, "seed {seed}");
    assert!(sections.iter().all(|section| section.ended));
    sections
}

/// For each section, the sections that queued before it and had not ended when it began.
fn overtaken(sections: &[Section]) -> impl Iterator<Item = (&Section, Vec<&Section>)> {
    sections.iter().enumerate().map(|(place, one)| {
        let unfinished = sections.iter().enumerate().filter(move |(other_place, other)| {
            other.token < one.token && (*other_place > place || other.overlaps(one))
        });
        (one, unfinished.map(|(_, other)| other).collect())
    })
}

#[test]
fn neither_writers_nor_readers_are_overtaken_by_those_they_exclude() {
    for seed in SEEDS {
        let sections =
            run(seed, &[("reader", &["-s"]), ("writer", &["-x"]), ("reader", &["-s"]), ("plain", &[])]);
        for (one, unfinished) in overtaken(&sections) {
            let is_reader = |section: &Section| section.name.starts_with("reader");
            for other in unfinished {
                assert!(is_reader(one) && is_reader(other), "seed {seed}: {one:?} before {other:?}");
            }
        }
    }
}

#[test]
fn slots_go_to_those_that_came_first() {
    for (seed, slots) in SEEDS.into_iter().zip(2..) {
        let count = slots.to_string();
        let sections = run(seed, &[("slot", &["--slots", &count])]);
        for (one, unfinished) in overtaken(&sections) {
            assert!(unfinished.len() < slots, "seed {seed}: {one:?} before {unfinished:?}");
        }
    }
}

#[test]
fn readers_and_writers_of_curator_s_naming_keep_their_order() {
    let kinds: &[(&str, &[&str])] =
        &[("reader", &["--naming", "curator-rw", "-s"]), ("writer", &["--naming", "curator-rw"])];
    for (one, unfinished) in overtaken(&run(SEEDS[0], kinds)) {
        let readers = unfinished.iter().all(|other| other.name.starts_with("reader"));
        assert!(unfinished.is_empty() || readers && one.name.starts_with("reader"), "{one:?} {unfinished:?}");
    }
}
