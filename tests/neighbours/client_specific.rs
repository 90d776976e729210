//! Behaviour that is specific to one client library.

use super::{
    KAZOO, KAZOO_READ, RW_READ, RW_WRITE, end, runs, start_zklock, take_neighbour_lock, wait_until_it_runs,
    wait_until_it_waits,
};
use crate::support::{Case, DEADLINE, NeighbourLock, curator, shared, wait_until};
use zookeeper::CreateMode;

/// kazoo's plain `Lock` ignores all readers, including its own: on a path with readers use `WriteLock`.
#[test]
fn a_plain_lock_of_kazoo_s_ignores_a_reader_that_waits_for_it() {
    let case = Case::new("kazoo-plain");
    let reader = start_zklock(&case, KAZOO_READ);
    wait_until_it_runs(&reader);
    let plain = take_neighbour_lock(&case, "kazoo lock");
    plain.wait_held();
    assert!(reader.is_running(), "both hold, because of kazoo's plain lock");
    let later = start_zklock(&case, KAZOO_READ);
    wait_until_it_waits(&later);
    assert!(!runs(&later), "a later reader waits for it");
    plain.give();
    wait_until_it_runs(&later);
    end(later);
    end(reader);
}

/// The cause isn't zklock's naming: among kazoo's own locks it is the same.
#[test]
fn a_plain_lock_of_kazoo_s_ignores_kazoo_s_own_readers_too() {
    let case = Case::new("kazoo-own");
    let reader = take_neighbour_lock(&case, "kazoo read");
    reader.wait_held();
    let plain = take_neighbour_lock(&case, "kazoo lock");
    plain.wait_held();
    let writer = start_zklock(&case, KAZOO);
    wait_until_it_waits(&writer);
    plain.give();
    reader.give();
    wait_until_it_runs(&writer);
    end(writer);
}

/// go-zookeeper writes the uuid of its protected nodes without dashes.
#[test]
fn zklock_waits_for_a_node_of_the_go_client() {
    let case = Case::new("go");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_9a2c3f607a5e4d5b8a670123456789ab-lock-", case.path());
    let node = case.observer().create(&name, "", CreateMode::EphemeralSequential);
    let waiter = start_zklock(&case, &[]);
    wait_until_it_waits(&waiter);
    assert!(!runs(&waiter));
    case.observer().delete(&node);
    wait_until_it_runs(&waiter);
    end(waiter);
}

/// Curator 5.5 and later gives the reader the number of the writer, which no other node has then. Nodes with its names
/// represent it, whatever version is installed.
#[test]
fn a_curator_writer_that_became_a_reader_still_excludes_a_waiting_writer() {
    let case = Case::new("same-number");
    case.observer().mkdirs(case.path());
    let name = |kind| format!("{}/_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-__{kind}__", case.path());
    let writer = case.observer().create(&name("WRIT"), "", CreateMode::EphemeralSequential);
    let reader = format!("{}{}", name("READ"), &writer[writer.len() - 10..]);
    let waiter = start_zklock(&case, RW_WRITE);
    wait_until_it_waits(&waiter);
    case.observer().create(&reader, "", CreateMode::Ephemeral);
    case.observer().delete(&writer);
    wait_until("the waiter to watch the reader", DEADLINE, || shared().watchers_of(&reader) == 1);
    assert!(!runs(&waiter));
    case.observer().delete(&reader);
    wait_until_it_runs(&waiter);
    end(waiter);
}

/// Before 5.5 Curator gives the reader a number of its own, behind a writer that waits already and is the first then.
/// Curator's own locks behave the same, and later contenders can't see it. Since 5.5 the reader has the writer's number.
#[test]
fn a_writer_of_curator_s_that_steps_down_excludes_a_waiting_writer_since_curator_5_5() {
    let case = Case::new("stepping");
    let excludes = curator().version() >= [5, 5];
    let step_down = |lock: &NeighbourLock| {
        lock.step_down();
        if excludes {
            let reader =
                case.contenders().into_iter().find(|name| name.contains("__READ__")).expect("a reader");
            let reader = format!("{}/{reader}", case.path());
            wait_until("the writer to watch the reader", DEADLINE, || shared().watchers_of(&reader) == 1);
        }
    };
    let stepping = take_neighbour_lock(&case, "stepping");
    stepping.wait_held();
    let writer = start_zklock(&case, RW_WRITE);
    wait_until_it_waits(&writer);
    step_down(&stepping);
    if excludes {
        assert!(!runs(&writer));
        stepping.give();
        wait_until_it_runs(&writer);
        end(writer);
    } else {
        wait_until_it_runs(&writer);
        end(writer);
        stepping.give();
    }

    let stepping = take_neighbour_lock(&case, "stepping");
    stepping.wait_held();
    let writer = take_neighbour_lock(&case, "write");
    case.wait_for_contenders(2);
    step_down(&stepping);
    if excludes {
        assert!(!writer.is_held());
        stepping.give();
        writer.wait_held();
        writer.give();
    } else {
        writer.wait_held();
        writer.give();
        stepping.give();
    }
}

/// Without a contender in between the reader is like any other.
#[test]
fn a_writer_of_curator_s_that_has_stepped_down_excludes_later_writers() {
    let case = Case::new("stepped");
    let stepping = take_neighbour_lock(&case, "stepping");
    stepping.wait_held();
    stepping.step_down();
    let writer = start_zklock(&case, RW_WRITE);
    wait_until_it_waits(&writer);
    assert!(!runs(&writer));
    stepping.give();
    wait_until_it_runs(&writer);
    end(writer);
}

#[test]
fn zklock_s_readers_run_as_soon_as_a_writer_of_curator_s_has_stepped_down() {
    let case = Case::new("stepping-readers");
    let stepping = take_neighbour_lock(&case, "stepping");
    stepping.wait_held();
    let readers: Vec<_> = (0..2).map(|_| start_zklock(&case, RW_READ)).collect();
    readers.iter().for_each(wait_until_it_waits);
    assert!(!readers.iter().any(runs));
    stepping.step_down();
    readers.iter().for_each(wait_until_it_runs);
    readers.into_iter().for_each(end);
    stepping.give();
}
