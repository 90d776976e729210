//! Every kind of lock of theirs with every kind of ours, in both orders.

use super::{
    CURATOR, CURATOR_SHARED, KAZOO, KAZOO_READ, RW_READ, RW_WRITE, end, ours, runs, theirs,
    wait_until_it_runs, wait_until_it_waits, wait_until_they_wait_for_us,
};
use crate::support::Case;

/// Theirs holds: ours waits, is busy with `-n`, and runs as soon as theirs is given back.
#[track_caller]
fn ours_waits_for_theirs(kind: &str, options: &[&str]) {
    let case = Case::new("behind-them");
    let holder = theirs(&case, kind);
    holder.wait_held();
    let waiter = ours(&case, options);
    wait_until_it_waits(&waiter);
    let at_once = [&["-n"], options].concat();
    case.lock(&at_once, ["echo", "must not run"]).run().assert_code(124).assert_stderr("busy: held by");
    assert!(!runs(&waiter), "{options:?} beside {kind}");
    holder.give();
    wait_until_it_runs(&waiter);
    end(waiter);
}

/// Ours holds: theirs queues behind it, and has the lock as soon as ours ends.
#[track_caller]
fn theirs_waits_for_ours(kind: &str, options: &[&str]) {
    let case = Case::new("before-them");
    let holder = ours(&case, options);
    wait_until_it_runs(&holder);
    let waiter = theirs(&case, kind);
    case.wait_for_contenders(2);
    wait_until_they_wait_for_us(&case);
    assert!(!waiter.is_held(), "{kind} beside {options:?}");
    end(holder);
    waiter.wait_held();
    waiter.give();
}

/// Whoever came first, both hold at once.
#[track_caller]
fn both_share(kind: &str, options: &[&str]) {
    let case = Case::new("with-them");
    let holder = theirs(&case, kind);
    holder.wait_held();
    let beside = ours(&case, options);
    wait_until_it_runs(&beside);
    holder.give();
    let again = theirs(&case, kind);
    again.wait_held();
    assert!(beside.is_running(), "{kind} beside {options:?}");
    again.give();
    end(beside);
}

#[test]
fn a_mutex_of_curator_s_and_ours_exclude_each_other() {
    ours_waits_for_theirs("mutex", CURATOR);
    theirs_waits_for_ours("mutex", CURATOR);
}

#[test]
fn a_mutex_of_curator_s_and_a_reader_of_ours_exclude_each_other() {
    ours_waits_for_theirs("mutex", CURATOR_SHARED);
    theirs_waits_for_ours("mutex", CURATOR_SHARED);
}

#[test]
fn a_mutex_of_curator_s_waits_for_our_slots_and_admits_none_behind_it() {
    theirs_waits_for_ours("mutex", &["--slots", "2"]);
    let case = Case::new("slots-behind-them");
    let holder = theirs(&case, "mutex");
    holder.wait_held();
    let refused = case.lock(&["--slots", "2"], ["true"]).run();
    refused.assert_code(125).assert_stderr("for exclusive, and this is 2 slots");
    holder.give();
}

#[test]
fn a_writer_of_curator_s_excludes_writers_and_readers_of_ours() {
    for options in [RW_WRITE, RW_READ] {
        ours_waits_for_theirs("write", options);
        theirs_waits_for_ours("write", options);
    }
}

#[test]
fn a_reader_of_curator_s_excludes_our_writers_and_shares_with_our_readers() {
    ours_waits_for_theirs("read", RW_WRITE);
    theirs_waits_for_ours("read", RW_WRITE);
    both_share("read", RW_READ);
}

#[test]
fn a_lock_of_kazoo_s_and_ours_exclude_each_other() {
    ours_waits_for_theirs("kazoo lock", KAZOO);
    theirs_waits_for_ours("kazoo lock", KAZOO);
}

#[test]
fn a_writer_of_kazoo_s_excludes_writers_and_readers_of_ours() {
    for options in [KAZOO, KAZOO_READ] {
        ours_waits_for_theirs("kazoo write", options);
        theirs_waits_for_ours("kazoo write", options);
    }
}

#[test]
fn a_reader_of_kazoo_s_excludes_our_writers_and_shares_with_our_readers() {
    ours_waits_for_theirs("kazoo read", KAZOO);
    theirs_waits_for_ours("kazoo read", KAZOO);
    both_share("kazoo read", KAZOO_READ);
}
