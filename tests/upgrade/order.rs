//! Contenders of two versions hold an exclusive lock in the order in which they came.

use super::Version::This;
use super::{assert_they_wait, end, in_both_orders, wait_until_it_runs};
use crate::support::{Case, DEADLINE, Running, host};
use nix::sys::signal::Signal;

#[test]
fn two_versions_alternate_in_one_queue() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-order");
        let mut queue: Vec<Running> = (1..=6)
            .map(|place| if place % 2 == 1 { first } else { second }.queue(&case, &[], place))
            .collect();
        while !queue.is_empty() {
            let holder = queue.remove(0);
            wait_until_it_runs(&holder);
            assert_they_wait(&case, &queue.iter().collect::<Vec<_>>());
            end(holder);
        }
    });
}

#[test]
fn a_lock_held_by_the_other_version_is_busy() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-busy");
        let holder = first.hold(&case, &[]);
        let named = format!("{}:{}", host(), holder.pid());
        for limit in [&["-n"][..], &["-w", "4"]] {
            second.lock(&case, limit, "echo must not run").run().assert_code(124).assert_stderr(&named);
        }
        end(holder);
        second.lock(&case, &["-n"], "true").run().assert_code(0);
    });
}

/// A holder writes into its node since when it holds the lock, which wakes the contender behind it.
#[test]
fn a_waiter_waits_on_after_the_holder_wrote_to_its_node() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-written");
        let holder = first.hold(&case, &[]);
        let waiter = second.queue(&case, &[], 2);
        assert_they_wait(&case, &[&waiter]);
        // The first edition doesn't write it.
        if matches!(first, This) {
            case.wait_for_held_since(1);
        }
        assert_they_wait(&case, &[&waiter]);
        end(holder);
        wait_until_it_runs(&waiter);
        end(waiter);
    });
}

/// The contender behind a waiter that leaves must not take its place for the lock's.
#[test]
fn a_waiter_that_leaves_lets_nobody_in() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-leave");
        let holder = first.hold(&case, &[]);
        let leaver = second.queue(&case, &[], 2);
        let last = first.queue(&case, &[], 3);
        assert_they_wait(&case, &[&leaver, &last]);
        leaver.signal(Signal::SIGTERM);
        leaver.wait(DEADLINE).assert_signal(Signal::SIGTERM);
        case.wait_for_contenders(2);
        assert_they_wait(&case, &[&last]);
        end(holder);
        wait_until_it_runs(&last);
        end(last);
    });
}

#[test]
fn a_waiter_runs_when_the_other_version_s_holder_is_killed() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-killed");
        let holder = first.hold(&case, &[]);
        let waiter = second.queue(&case, &[], 2);
        assert_they_wait(&case, &[&waiter]);
        holder.signal(Signal::SIGKILL);
        holder.wait(DEADLINE).assert_signal(Signal::SIGKILL);
        wait_until_it_runs(&waiter);
        end(waiter);
    });
}
