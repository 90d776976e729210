//! Several locks at once, named in different orders by two versions.

use super::{end, in_both_orders, wait_until_it_runs};
use crate::support::{Case, DEADLINE, wait_until};

/// Both take `a` before `b`, however they are named. Otherwise each could wait for the other for ever.
#[test]
fn both_versions_take_several_locks_in_the_same_order() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-several");
        let [a, b] = ["a", "b"].map(|name| format!("{}/{name}", case.path()));
        let hold_b = first.zklock(&case).args([&b, "--", "sh", "-c", "echo running; exec sleep 60"]).spawn();
        wait_until_it_runs(&hold_b);
        let words = [&b, &a, "--", "sh", "-c", "echo running; exec sleep 60"];
        let both = second.zklock(&case).args(words).spawn();
        wait_until("it to take the first and wait for the second", DEADLINE, || {
            [&a, &b].map(|path| case.observer().children(path).len()) == [1, 2]
        });
        let words = [&a, &b, "--", "echo", "last"];
        let last = first.zklock(&case).args(words).spawn();
        wait_until("the next to wait for the first", DEADLINE, || case.observer().children(&a).len() == 2);
        assert_eq!(case.observer().children(&b).len(), 2);
        end(hold_b);
        wait_until_it_runs(&both);
        end(both);
        assert_eq!(last.wait(DEADLINE).assert_code(0).stdout, "last\n");
        for path in [a, b] {
            case.observer().delete_if_there(&path);
        }
    });
}
