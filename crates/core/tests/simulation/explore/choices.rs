//! Explores every schedule with a few departures from the plain one.
//!
//! At each point a run asks which of several ways to go; 0 is the plain one. The search tries the plain run first, then
//! each run with one departure, then each with two, and so on. A run is deterministic for given departures, so it can
//! be repeated from its start and nothing has to be copied.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The point of a departure, and the way taken there.
pub(crate) type Departure = (u32, u8);

/// The choices of one run.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    given: Vec<Departure>,
    taken: usize,
    /// How many ways there were at each point.
    directions: Vec<u8>,
    /// Whether the run prints each step.
    pub(crate) prints: bool,
}

impl Choices {
    pub(crate) fn choose(&mut self, directions: usize) -> usize {
        let point = u32::try_from(self.directions.len()).unwrap();
        self.directions.push(u8::try_from(directions).unwrap());
        match self.given.get(self.taken) {
            Some(&(at, direction)) if at == point => {
                self.taken += 1;
                usize::from(direction)
            }
            _ => 0,
        }
    }

    /// How many departures the run has taken so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    pub(crate) fn tell(&self, now: u64, what: impl FnOnce() -> String) {
        if self.prints {
            #[allow(clippy::cast_precision_loss, reason = "for people")]
            let milliseconds = now as f64 / 1e6;
            println!("{milliseconds:12.4} ms  {}", what());
        }
    }
}

/// The result of one run.
pub(crate) type Outcome = Result<(), String>;

/// Tries every schedule with at most `most` departures. Returns how many those are, and the first violation.
fn search(
    most: usize,
    run: impl Fn(&mut Choices) -> Outcome + Sync,
) -> (usize, Option<(Vec<Departure>, String)>) {
    let mut level = vec![vec![]];
    let mut runs = 0;
    for departures in 0..=most {
        runs += level.len();
        let (next, state) = (AtomicUsize::new(0), Mutex::new((vec![], None)));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(given) = level.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut choices = Choices { given: given.clone(), ..Choices::default() };
                        let outcome = run(&mut choices);
                        let mut state = state.lock().unwrap();
                        let (deeper, violation) = &mut *state;
                        if let Err(what) = outcome {
                            violation.get_or_insert((given.clone(), what));
                            next.store(level.len(), Ordering::Relaxed);
                        }
                        if departures < most {
                            deeper.extend(departing(given, &choices.directions));
                        }
                    }
                });
            }
        });
        let (deeper, violation) = state.into_inner().unwrap();
        if violation.is_some() {
            return (runs, violation);
        }
        level = deeper;
    }
    (runs, None)
}

/// Extends a schedule by one departure that comes after all others, in every possible way.
fn departing(given: &[Departure], directions: &[u8]) -> Vec<Vec<Departure>> {
    let first = given.last().map_or(0, |&(at, _)| at as usize + 1);
    let points = directions.iter().enumerate().skip(first);
    let departures =
        points.flat_map(|(at, &directions)| (1..directions).map(move |direction| (at as u32, direction)));
    departures.map(|departure| [given, &[departure]].concat()).collect()
}

/// Prints the result of a search, and each step of a run with a violation. Returns whether nothing was violated.
pub(crate) fn report(name: &str, most: usize, run: impl Fn(&mut Choices) -> Outcome + Sync) -> bool {
    let (runs, violation) = search(most, &run);
    println!("explore: {name}: {runs} schedules, at most {most} departures");
    if let Some((given, violation)) = &violation {
        let _ = run(&mut Choices { given: given.clone(), prints: true, ..Choices::default() });
        println!("explore: {name}: {violation}, after {given:?}");
    }
    violation.is_none()
}
