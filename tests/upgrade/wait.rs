//! `zklock wait`, which the other version may not know, beside contenders of that version.

use super::{assert_they_wait, end, in_both_orders, wait_until_it_runs};
use crate::support::{Case, DEADLINE};

/// The wait isn't in the queue, so no contender notices it.
#[test]
fn a_wait_sees_contenders_of_both_versions_and_they_go_on_as_without_it() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-wait");
        let holder = first.hold(&case, &[]);
        let waiter = second.queue(&case, &[], 2);
        let waits = case.zklock().args(["wait", "-v", case.path()]).spawn();
        waits.wait_for_line("position 3", DEADLINE);
        let later = first.queue(&case, &[], 3);
        end(holder);
        wait_until_it_runs(&waiter);
        assert_they_wait(&case, &[&later]);
        assert!(waits.is_running());
        end(waiter);
        waits.wait(DEADLINE).assert_code(0).assert_stderr("free after");
        wait_until_it_runs(&later);
        end(later);
    });
}

#[test]
fn a_wait_sees_slots_and_readers_of_both_versions() {
    for options in [&["--slots", "2"][..], &["-s"]] {
        in_both_orders(|first, second| {
            let case = Case::new("upgrade-wait-shared");
            let one = first.hold(&case, options);
            let other = second.queue(&case, options, 2);
            wait_until_it_runs(&other);
            let waits = case.zklock().args(["wait", "-v", case.path()]).spawn();
            waits.wait_for_line("position 3", DEADLINE);
            end(other);
            case.wait_for_contenders(1);
            assert!(waits.is_running());
            end(one);
            waits.wait(DEADLINE).assert_code(0);
        });
    }
}
