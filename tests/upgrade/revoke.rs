//! `revoke` of one version asks contenders of the other.

use super::{Version, assert_they_wait, end, in_both_orders, wait_until_it_runs};
use crate::support::{Case, DEADLINE};
use nix::sys::signal::Signal;

#[track_caller]
fn revoke(version: Version, case: &Case, options: &[&str]) {
    version.zklock(case).args(["revoke", case.path()]).args(options).run().assert_code(0);
}

#[test]
fn a_holder_of_the_other_version_stops_and_the_next_contender_runs() {
    in_both_orders(|first, second| {
        for options in [&[][..], &["--force"]] {
            let case = Case::new("upgrade-revoke");
            let holder = first.hold(&case, &[]);
            let waiter = second.queue(&case, &[], 2);
            assert_they_wait(&case, &[&waiter]);
            revoke(second, &case, options);
            holder.wait(DEADLINE).assert_code(123);
            wait_until_it_runs(&waiter);
            revoke(first, &case, options);
            waiter.wait(DEADLINE).assert_code(123);
        }
    });
}

/// Whom a holder signals concerns no other contender.
#[test]
fn a_holder_that_signals_its_first_process_alone_is_stopped_by_the_other_version() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-single-child");
        let holder = Version::This.hold(&case, &["--single-child"]);
        let waiter = second.queue(&case, &[], 2);
        assert_they_wait(&case, &[&waiter]);
        revoke(first, &case, &[]);
        holder.wait(DEADLINE).assert_code(123);
        wait_until_it_runs(&waiter);
        end(waiter);
    });
}

#[test]
fn a_waiter_of_the_other_version_leaves_the_queue() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-revoke-waiter");
        let holder = first.hold(&case, &[]);
        let waiter = second.queue(&case, &[], 2);
        assert_they_wait(&case, &[&waiter]);
        let node = case.contenders().pop().unwrap();
        revoke(first, &case, &["--node", &node]);
        waiter.wait(DEADLINE).assert_code(125);
        end(holder);
    });
}

#[test]
fn all_contenders_of_both_versions_are_asked() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-revoke-all");
        let holders = [first.hold(&case, &["-s"]), second.queue(&case, &["-s"], 2)];
        wait_until_it_runs(&holders[1]);
        revoke(first, &case, &["--all"]);
        for holder in holders {
            holder.wait(DEADLINE).assert_code(123);
        }
    });
}

/// A rewritten record still has what the other version reads in it.
#[test]
fn a_revoked_holder_that_continues_is_shown_by_both_versions() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-revoke-continue");
        let deaf = "trap '' TERM; echo running; while :; do sleep 1; done";
        let options = ["--kill-after", "60", "--label", "stays"];
        let holder = first.zklock(&case).args(options).args([case.path(), "--", "sh", "-c", deaf]).spawn();
        wait_until_it_runs(&holder);
        revoke(second, &case, &[]);
        for version in [first, second] {
            let output = version.zklock(&case).args(["status", "--json", case.path()]).run();
            output.assert_code(0).assert_stdout("stays").assert_stdout(&holder.pid().to_string());
            let status: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
            let by = &status["locks"][0]["contenders"][0]["revoked_by"];
            assert!(by.is_string(), "{version:?}: {output}");
        }
        // A forced stop is under way: this one kills at once.
        holder.signal(Signal::SIGTERM);
        holder.wait(DEADLINE).assert_code(123);
    });
}
