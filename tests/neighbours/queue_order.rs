//! zklocks and neighbours in one queue acquire the lock in the order in which they came.

use super::{CURATOR, KAZOO, RW_WRITE, end, runs, start_zklock, take_neighbour_lock, wait_until_it_runs};
use crate::support::Case;

#[track_caller]
fn alternate(kind: &str, options: &[&str]) {
    let case = Case::new("alternating");
    let mut queue = Vec::new();
    for round in 0..3 {
        let zklock = start_zklock(&case, options);
        case.wait_for_contenders(2 * round + 1);
        let neighbour = take_neighbour_lock(&case, kind);
        case.wait_for_contenders(2 * round + 2);
        queue.push((zklock, neighbour));
    }
    for round in 0..3 {
        let (zklock, neighbour) = queue.remove(0);
        wait_until_it_runs(&zklock);
        assert!(!neighbour.is_held(), "{kind}, round {round}");
        end(zklock);
        neighbour.wait_held();
        assert!(queue.first().is_none_or(|(next, _)| !runs(next)), "{kind}, round {round}");
        neighbour.give();
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
