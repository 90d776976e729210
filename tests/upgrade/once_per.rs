//! The record of `--once-per`, written and read by two versions.

use super::{Version, assert_they_wait, in_both_orders};
use crate::support::{Case, DEADLINE};

const HOUR: &[&str] = &["--once-per", "3600"];

#[track_caller]
fn assert_skipped(version: Version, case: &Case) {
    let output = version.lock(case, HOUR, "echo must not run").run();
    assert_eq!(output.assert_code(124).stdout, "");
}

#[test]
fn a_success_of_one_version_makes_the_other_skip() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-once");
        first.lock(&case, HOUR, "exit 3").run().assert_code(3);
        second.lock(&case, HOUR, "exit 0").run().assert_code(0);
        assert_skipped(first, &case);
        assert_skipped(second, &case);
        // A record that one version replaces is still a record for the other.
        first.lock(&case, &["--once-per", "0.001"], "exit 0").run().assert_code(0);
        assert_skipped(second, &case);
        assert_skipped(first, &case);
    });
}

#[test]
fn a_waiter_skips_after_the_success_of_the_other_version_s_holder() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-once-waiting");
        let until_go = format!("until [ -e {}/go ]; do sleep 0.01; done", case.dir().display());
        let holder = first.lock(&case, HOUR, &until_go).spawn();
        case.wait_for_contenders(1);
        let waiter = second.queue(&case, HOUR, 2);
        assert_they_wait(&case, &[&waiter]);
        std::fs::write(case.dir().join("go"), "").unwrap();
        holder.wait(DEADLINE).assert_code(0);
        assert_eq!(waiter.wait(DEADLINE).assert_code(124).stdout, "");
    });
}
