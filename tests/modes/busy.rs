//! `-n`, `-w` and `-E`, and a signal to a waiter, work the same for every kind.

use super::{KINDS, Kind, end};
use crate::support::{Case, DEADLINE};
use std::thread;
use std::time::Duration;

fn is_busy(kind: &Kind) {
    let case = Case::new("kinds-busy");
    let holders = kind.fill(&case);
    for (options, code, waits) in [
        (&["-n"][..], 124, false),
        (&["-n", "-E", "7"], 7, false),
        (&["-w", "0", "-E", "0"], 0, false),
        (&["-w", "10", "-E", "3"], 3, true),
    ] {
        let output = kind.run(&case, options, "echo must not run").wait(DEADLINE);
        let said = if waits { "busy: gave up after" } else { "busy: held by" };
        output.assert_code(code).assert_stderr(said);
        assert_eq!(output.stdout, "", "{options:?} {:?}", kind.options);
        // zklock counts from its own start, which is a little before the harness starts to count.
        let waited = output.elapsed >= Duration::from_secs(9);
        assert!(waited || !waits, "{options:?} {:?}: {output}", kind.options);
    }
    for (path, left) in kind.paths(&case).iter().rev().zip([holders.len(), 0, 0]) {
        assert_eq!(case.observer().children(path).len(), left, "nothing of those who gave up");
    }
    holders.into_iter().for_each(end);
}

#[test]
fn in_every_kind_a_busy_lock_is_124_or_the_chosen_code() {
    // All at the same time, because each waits for seconds.
    thread::scope(|scope| {
        for kind in &KINDS {
            scope.spawn(move || is_busy(kind));
        }
    });
}

#[test]
fn in_every_kind_a_free_lock_is_acquired_at_once_and_a_busy_one_when_it_becomes_free() {
    for kind in KINDS {
        let case = Case::new("kinds-free");
        // The first time the path is missing, the second time it is empty.
        for _ in 0..2 {
            kind.run(&case, &["-n"], "echo ran").wait(DEADLINE).assert_code(0);
        }
        let mut holders = kind.fill(&case);
        let waiter = kind.run(&case, &["-v", "-w", "30"], "exit 3");
        super::wait_until_it_waits(&waiter);
        // It is enough that one holder leaves, except for a writer.
        let last = holders.split_off(usize::from(kind.options.contains(&"--slots")));
        last.into_iter().for_each(end);
        waiter.wait(DEADLINE).assert_code(3);
        holders.into_iter().for_each(end);
    }
}

#[test]
fn in_every_kind_a_waiter_dies_of_the_signal_and_leaves_the_queue() {
    for kind in KINDS {
        let case = Case::new("kinds-waiter");
        let holders = kind.fill(&case);
        let waiter = kind.run(&case, &["-v"], "echo must not run");
        super::wait_until_it_waits(&waiter);
        end(waiter);
        let queued = kind.paths(&case).iter().map(|path| case.observer().children(path).len()).sum::<usize>();
        assert_eq!(queued, holders.len(), "{:?}", kind.options);
        holders.into_iter().for_each(end);
    }
}
