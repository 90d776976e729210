//! `--slots` with contenders of two versions.

use super::{assert_they_wait, end, in_both_orders, wait_until_it_runs};
use crate::support::Case;

const TWO: &[&str] = &["--slots", "2"];

#[test]
fn two_versions_hold_a_slot_each_and_pass_them_on_in_order() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-slots");
        let one = first.hold(&case, TWO);
        let two = second.queue(&case, TWO, 2);
        wait_until_it_runs(&two);
        let three = first.queue(&case, TWO, 3);
        let four = second.queue(&case, TWO, 4);
        let five = first.queue(&case, TWO, 5);
        assert_they_wait(&case, &[&three, &four, &five]);
        end(two);
        wait_until_it_runs(&three);
        assert_they_wait(&case, &[&four, &five]);
        // Only the slot that `three` announced shows `four` that it is the first waiter.
        end(one);
        wait_until_it_runs(&four);
        assert_they_wait(&case, &[&five]);
        end(four);
        wait_until_it_runs(&five);
        [three, five].into_iter().for_each(end);
    });
}

#[test]
fn another_number_of_slots_is_refused() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-slots-differ");
        let holder = first.hold(&case, TWO);
        for options in [&["--slots", "3"][..], &[], &["-s"]] {
            second.lock(&case, options, "echo must not run").run().assert_code(125);
        }
        end(holder);
    });
}
