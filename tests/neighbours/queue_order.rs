//! zklocks and neighbours in one queue acquire the lock in the order in which they came.

use super::{CURATOR, KAZOO, RW_WRITE, end, ours, runs, theirs, wait_until_it_runs};
use crate::support::Case;

#[track_caller]
fn alternate(kind: &str, options: &[&str]) {
    let case = Case::new("alternating");
    let mut queue = Vec::new();
    for round in 0..3 {
        let ours = ours(&case, options);
        case.wait_for_contenders(2 * round + 1);
        let theirs = theirs(&case, kind);
        case.wait_for_contenders(2 * round + 2);
        queue.push((ours, theirs));
    }
    for round in 0..3 {
        let (ours, theirs) = queue.remove(0);
        wait_until_it_runs(&ours);
        assert!(!theirs.is_held(), "{kind}, round {round}");
        end(ours);
        theirs.wait_held();
        assert!(queue.first().is_none_or(|(next, _)| !runs(next)), "{kind}, round {round}");
        theirs.give();
    }
}

#[test]
fn zklocks_and_curator_s_mutexes_alternate() {
    alternate("mutex", CURATOR);
}

#[test]
fn zklocks_and_curator_s_writers_alternate() {
    alternate("write", RW_WRITE);
}

#[test]
fn zklocks_and_kazoo_s_locks_alternate() {
    alternate("kazoo lock", KAZOO);
}
