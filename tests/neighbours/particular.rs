//! What is particular to one of them.

use super::{
    KAZOO, KAZOO_READ, RW_READ, RW_WRITE, end, ours, runs, theirs, wait_until_it_runs, wait_until_it_waits,
};
use crate::support::{Case, SOON, shared, wait_until};
use zookeeper::CreateMode;

/// kazoo's plain `Lock` knows nothing of readers, its own included: on a path with readers use `WriteLock`.
#[test]
fn a_plain_lock_of_kazoo_s_ignores_a_reader_that_waits_for_it() {
    let case = Case::new("kazoo-plain");
    let reader = ours(&case, KAZOO_READ);
    wait_until_it_runs(&reader);
    let plain = theirs(&case, "kazoo lock");
    plain.wait_held();
    assert!(reader.is_running(), "both hold, and that is kazoo's to change");
    let later = ours(&case, KAZOO_READ);
    wait_until_it_waits(&later);
    assert!(!runs(&later), "a reader that comes later does wait for it");
    plain.give();
    wait_until_it_runs(&later);
    end(later);
    end(reader);
}

/// So it is no matter of names: among kazoo's own it is the same.
#[test]
fn a_plain_lock_of_kazoo_s_overlooks_its_own_readers_too() {
    let case = Case::new("kazoo-own");
    let reader = theirs(&case, "kazoo read");
    reader.wait_held();
    let plain = theirs(&case, "kazoo lock");
    plain.wait_held();
    let writer = ours(&case, KAZOO);
    wait_until_it_waits(&writer);
    plain.give();
    reader.give();
    wait_until_it_runs(&writer);
    end(writer);
}

/// go-zookeeper writes its protection without dashes.
#[test]
fn a_node_with_a_name_of_go_s_client_is_waited_for() {
    let case = Case::new("go");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_9a2c3f607a5e4d5b8a670123456789ab-lock-", case.path());
    let node = case.observer().create(&name, "", CreateMode::EphemeralSequential);
    let waiter = ours(&case, &[]);
    wait_until_it_waits(&waiter);
    assert!(!runs(&waiter));
    case.observer().delete(&node);
    wait_until_it_runs(&waiter);
    end(waiter);
}

/// Curator after 5.4 gives the reader the number that the writer had, which is nobody else's then. No library
/// of that version is here, so that nodes with its names stand for it.
#[test]
fn a_curator_writer_that_became_a_reader_still_excludes_a_waiting_writer() {
    let case = Case::new("same-number");
    case.observer().mkdirs(case.path());
    let name = |kind| format!("{}/_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-__{kind}__", case.path());
    let writer = case.observer().create(&name("WRIT"), "", CreateMode::EphemeralSequential);
    let reader = format!("{}{}", name("READ"), &writer[writer.len() - 10..]);
    let waiter = ours(&case, RW_WRITE);
    wait_until_it_waits(&waiter);
    case.observer().create(&reader, "", CreateMode::Ephemeral);
    case.observer().delete(&writer);
    wait_until("the waiter to watch the reader", SOON, || shared().watchers_of(&reader) == 1);
    assert!(!runs(&waiter));
    case.observer().delete(&reader);
    wait_until_it_runs(&waiter);
    end(waiter);
}

/// Curator 5.4 gives the reader a number of its own, behind a writer that waits already, which then finds
/// itself first. It is so among Curator's own locks, and nobody behind them can see it.
#[test]
fn a_writer_of_curator_s_that_steps_down_ignores_any_waiting_writer() {
    let case = Case::new("stepping");
    for ours_waits in [true, false] {
        let stepping = theirs(&case, "stepping");
        stepping.wait_held();
        if ours_waits {
            let writer = ours(&case, RW_WRITE);
            wait_until_it_waits(&writer);
            stepping.step_down();
            wait_until_it_runs(&writer);
            end(writer);
        } else {
            let writer = theirs(&case, "write");
            case.wait_for_contenders(2);
            stepping.step_down();
            writer.wait_held();
            writer.give();
        }
        stepping.give();
    }
}

/// With nobody in between the reader is one like any other.
#[test]
fn a_writer_of_curator_s_that_has_stepped_down_excludes_later_writers() {
    let case = Case::new("stepped");
    let stepping = theirs(&case, "stepping");
    stepping.wait_held();
    stepping.step_down();
    let writer = ours(&case, RW_WRITE);
    wait_until_it_waits(&writer);
    assert!(!runs(&writer));
    stepping.give();
    wait_until_it_runs(&writer);
    end(writer);
}

#[test]
fn zklock_s_readers_run_as_soon_as_a_writer_of_curator_s_has_stepped_down() {
    let case = Case::new("stepping-readers");
    let stepping = theirs(&case, "stepping");
    stepping.wait_held();
    let readers: Vec<_> = (0..2).map(|_| ours(&case, RW_READ)).collect();
    readers.iter().for_each(wait_until_it_waits);
    assert!(!readers.iter().any(runs));
    stepping.step_down();
    readers.iter().for_each(wait_until_it_runs);
    readers.into_iter().for_each(end);
    stepping.give();
}
