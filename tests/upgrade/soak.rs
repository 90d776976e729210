//! Many short commands of two versions, with a history of who ran when.

use super::{in_both_orders, lock};
use crate::support::{Case, Section, Version};
use std::thread;

/// Contenders at the same time, and commands of each. Both versions run in each of them, one after the other.
const HOSTS: usize = 5;
const ROUNDS: usize = 9;

/// Runs all commands, each with the options that `options` gives for its number. Two of a `reader` may overlap, and `most` in all.
fn run(
    versions: [Version; 2],
    most: usize,
    options: impl Fn(usize) -> (&'static str, &'static [&'static str]) + Sync,
) {
    let case = Case::new("upgrade-soak");
    let history = case.history();
    thread::scope(|scope| {
        for host in 0..HOSTS {
            let (case, history, options) = (&case, &history, &options);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let number = host + round;
                    let (kind, options) = options(number);
                    let script = history.job(&format!("{kind}-{host}-{round}"), 0.01);
                    lock(versions[number % 2], case, options, &script).run().assert_code(0);
                }
            });
        }
    });
    let sections = history.sections().unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(sections.len(), HOSTS * ROUNDS);
    assert!(sections.iter().all(|section| section.ended));
    assert!(history.most_at_once() <= most, "{sections:#?}");
    let is_writer = |section: &Section| section.name.starts_with("writer");
    for (index, later) in sections.iter().enumerate() {
        for earlier in sections[..index].iter().filter(|earlier| earlier.overlaps(later)) {
            assert!(!is_writer(earlier) && !is_writer(later), "{earlier:?} and {later:?}");
        }
    }
}

#[test]
fn two_versions_never_hold_what_only_one_may_hold() {
    in_both_orders(|versions| {
        run(versions, HOSTS, |number| if number % 3 == 0 { ("reader", &["-s"]) } else { ("writer", &[]) });
        run(versions, 2, |_| ("slot", &["--slots", "2"]));
    });
}
