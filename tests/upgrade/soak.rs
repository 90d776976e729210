//! Many short commands of two versions, with a history of who ran when.

use super::{Version, in_both_orders};
use crate::support::{Case, History, Section};
use std::thread;

/// Contenders at the same time, and commands of each. Both versions run in each of them, one after the other.
const HOSTS: usize = 5;
const ROUNDS: usize = 9;

/// Runs all commands on the case's path; `options` gives those of a command, and its kind, a letter.
fn run(
    case: &Case,
    history: &History,
    versions: [Version; 2],
    options: impl Fn(usize) -> (&'static str, &'static [&'static str]) + Sync,
) -> Vec<Section> {
    thread::scope(|scope| {
        for host in 0..HOSTS {
            let options = &options;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let number = host + round;
                    let (kind, options) = options(number);
                    let script = history.job(&format!("{kind}-{host}-{round}"), 0.01);
                    versions[number % 2].lock(case, options, &script).run().assert_code(0);
                }
            });
        }
    });
    let sections = history.sections().unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(sections.len(), HOSTS * ROUNDS);
    assert!(sections.iter().all(|section| section.ended));
    sections
}

#[test]
fn no_two_versions_ever_hold_what_only_one_may_hold() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-soak");
        let history = case.history();
        let sections = run(&case, &history, [first, second], |number| match number % 3 {
            0 => ("reader", &["-s"]),
            _ => ("writer", &[]),
        });
        for (index, later) in sections.iter().enumerate() {
            for earlier in &sections[..index] {
                let both_read = [later, earlier].iter().all(|section| section.name.starts_with("reader"));
                assert!(both_read || !earlier.overlaps(later), "{earlier:?} and {later:?}");
            }
        }
    });
}

#[test]
fn no_more_slots_are_held_than_there_are() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-soak-slots");
        let history = case.history();
        run(&case, &history, [first, second], |_| ("slot", &["--slots", "2"]));
        let most = history.most_at_once();
        assert!((1..=2).contains(&most), "{most}");
    });
}
