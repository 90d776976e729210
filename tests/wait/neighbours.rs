//! Other programs' locks.

use super::{assert_free, wait, waiting};
use crate::support::{Case, DEADLINE, NeighbourLock, curator, kazoo, wait_until};

fn held(neighbour: &'static crate::support::Neighbour, kind: &str, case: &Case) -> NeighbourLock {
    let lock = neighbour.take(kind, case.path());
    lock.wait_held();
    lock
}

#[test]
fn locks_of_curator_and_kazoo_are_waited_for() {
    for (neighbour, kinds) in [(curator(), ["mutex", "read", "write"]), (kazoo(), ["lock", "read", "write"])]
    {
        for kind in kinds {
            let case = Case::new("wait-neighbour");
            let lock = held(neighbour, kind, &case);
            wait(&case, &["-n", case.path()]).run().assert_code(124).assert_stderr("busy: held by");
            let waits = waiting(&case, &[], 1);
            lock.give();
            assert_free(waits);
        }
    }
}

#[test]
fn a_curator_writer_that_steps_down_is_waited_for_as_a_reader() {
    // Before 5.5 the reader's number is behind, so that no contender can tell it from a later one.
    if curator().version() < [5, 5] {
        return;
    }
    let case = Case::new("wait-steps-down");
    let lock = held(curator(), "stepping", &case);
    let waits = waiting(&case, &[], 1);
    lock.step_down();
    wait_until(
        "the reader alone",
        DEADLINE,
        || matches!(case.contenders().as_slice(), [reader] if reader.contains("__READ__")),
    );
    waits.wait_for_line("waiting for", DEADLINE);
    assert!(waits.is_running());
    lock.give();
    assert_free(waits);
}

/// zklock can't tell who waits there, and refuses the path for a lock too.
#[test]
fn another_recipe_is_refused() {
    for (neighbour, kind) in [(curator(), "semaphore"), (curator(), "latch"), (kazoo(), "semaphore")] {
        let case = Case::new("wait-recipe");
        let lock = held(neighbour, kind, &case);
        let output = wait(&case, &["-E", "0", case.path()]).run();
        output.assert_code(125).assert_stderr("which would run beside zklock");
        lock.give();
        case.remove_semaphore();
        wait(&case, &["-w", "10", case.path()]).run().assert_code(0);
    }
}
