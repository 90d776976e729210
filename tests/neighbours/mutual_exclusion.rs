//! Every kind of neighbour lock with every kind of zklock lock, in both orders.

use super::{
    CURATOR, CURATOR_SHARED, KAZOO, KAZOO_READ, RW_READ, RW_WRITE, end, runs, start_zklock,
    take_neighbour_lock, wait_until_it_runs, wait_until_it_waits, wait_until_the_neighbour_waits_for_zklock,
};
use crate::support::Case;

/// The neighbour holds: zklock waits, is busy with `-n`, and runs as soon as the neighbour releases its lock.
#[track_caller]
fn zklock_waits_for_the_neighbour(kind: &str, options: &[&str]) {
    let case = Case::new("behind-them");
    let holder = take_neighbour_lock(&case, kind);
    holder.wait_held();
    let waiter = start_zklock(&case, options);
    wait_until_it_waits(&waiter);
    let at_once = [&["-n"], options].concat();
    case.lock(&at_once, ["echo", "must not run"]).run().assert_code(124).assert_stderr("busy: held by");
    assert!(!runs(&waiter), "{options:?} beside {kind}");
    holder.give();
    wait_until_it_runs(&waiter);
    end(waiter);
}

/// zklock holds: the neighbour queues behind it, and holds the lock as soon as zklock ends.
#[track_caller]
fn the_neighbour_waits_for_zklock(kind: &str, options: &[&str]) {
    let case = Case::new("before-them");
    let holder = start_zklock(&case, options);
    wait_until_it_runs(&holder);
    let waiter = take_neighbour_lock(&case, kind);
    case.wait_for_contenders(2);
    wait_until_the_neighbour_waits_for_zklock(&case);
    assert!(!waiter.is_held(), "{kind} beside {options:?}");
    end(holder);
    waiter.wait_held();
    waiter.give();
}

/// Both hold at once, in either order.
#[track_caller]
fn both_share(kind: &str, options: &[&str]) {
    let case = Case::new("with-them");
    let holder = take_neighbour_lock(&case, kind);
    holder.wait_held();
    let beside = start_zklock(&case, options);
    wait_until_it_runs(&beside);
    holder.give();
    let again = take_neighbour_lock(&case, kind);
    again.wait_held();
    assert!(beside.is_running(), "{kind} beside {options:?}");
    again.give();
    end(beside);
}

#[test]
fn a_mutex_of_curator_s_and_a_zklock_exclude_each_other() {
    zklock_waits_for_the_neighbour("mutex", CURATOR);
    the_neighbour_waits_for_zklock("mutex", CURATOR);
}

#[test]
fn a_mutex_of_curator_s_and_a_reader_of_zklock_s_exclude_each_other() {
    zklock_waits_for_the_neighbour("mutex", CURATOR_SHARED);
    the_neighbour_waits_for_zklock("mutex", CURATOR_SHARED);
}

#[test]
fn a_mutex_of_curator_s_waits_for_zklock_s_slots_and_admits_none_behind_it() {
    the_neighbour_waits_for_zklock("mutex", &["--slots", "2"]);
    let case = Case::new("slots-behind-them");
    let holder = take_neighbour_lock(&case, "mutex");
    holder.wait_held();
    let refused = case.lock(&["--slots", "2"], ["true"]).run();
    refused.assert_code(125).assert_stderr("for an exclusive lock, and this is for one of 2 slots");
    holder.give();
}

#[test]
fn a_writer_of_curator_s_excludes_writers_and_readers_of_zklock_s() {
    for options in [RW_WRITE, RW_READ] {
        zklock_waits_for_the_neighbour("write", options);
        the_neighbour_waits_for_zklock("write", options);
    }
}

#[test]
fn a_reader_of_curator_s_excludes_writers_of_zklock_s_and_shares_with_readers() {
    zklock_waits_for_the_neighbour("read", RW_WRITE);
    the_neighbour_waits_for_zklock("read", RW_WRITE);
    both_share("read", RW_READ);
}

#[test]
fn a_lock_of_kazoo_s_and_a_zklock_exclude_each_other() {
    zklock_waits_for_the_neighbour("kazoo lock", KAZOO);
    the_neighbour_waits_for_zklock("kazoo lock", KAZOO);
}

#[test]
fn a_writer_of_kazoo_s_excludes_writers_and_readers_of_zklock_s() {
    for options in [KAZOO, KAZOO_READ] {
        zklock_waits_for_the_neighbour("kazoo write", options);
        the_neighbour_waits_for_zklock("kazoo write", options);
    }
}

#[test]
fn a_reader_of_kazoo_s_excludes_writers_of_zklock_s_and_shares_with_readers() {
    zklock_waits_for_the_neighbour("kazoo read", KAZOO);
    the_neighbour_waits_for_zklock("kazoo read", KAZOO);
    both_share("kazoo read", KAZOO_READ);
}
