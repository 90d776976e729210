//! What one version writes into ZooKeeper, read by the other.

use super::{in_both_orders, lock};
use crate::queues::Queue;
use crate::support::{Case, DEADLINE, Version, end_deaf};
use serde_json::Value;

const HOUR: &[&str] = &["--once-per", "3600"];

#[test]
fn a_success_of_one_version_makes_the_other_skip() {
    in_both_orders(|[first, second]| {
        let case = Case::new("upgrade-once");
        let run = |version, options: &[&str], script, code| {
            let output = lock(version, &case, options, script).run();
            assert_eq!(output.assert_code(code).stdout, "");
        };
        let both_skip =
            || [first, second].into_iter().for_each(|version| run(version, HOUR, "echo must not run", 124));
        run(first, HOUR, "exit 3", 3);
        run(second, HOUR, "exit 0", 0);
        both_skip();
        // A record that one version replaces is still a record for the other.
        run(first, &["--once-per", "0.001"], "exit 0", 0);
        both_skip();
    });
}

#[test]
fn a_waiter_skips_after_the_success_of_the_other_version_s_holder() {
    in_both_orders(|[first, second]| {
        let case = Case::new("upgrade-once-waiting");
        let until_go = format!("until [ -e {}/go ]; do sleep 0.01; done", case.dir().display());
        let holder = lock(first, &case, HOUR, &until_go).spawn();
        case.wait_for_contenders(1);
        let waiter = lock(second, &case, HOUR, "echo must not run").spawn();
        case.wait_for_contenders(2);
        std::fs::write(case.dir().join("go"), "").unwrap();
        holder.wait(DEADLINE).assert_code(0);
        assert_eq!(waiter.wait(DEADLINE).assert_code(124).stdout, "");
    });
}

/// The contenders as this version shows them.
fn contenders(version: Version, case: &Case) -> Vec<Value> {
    let output = case.zklock().program(version.program()).args(["status", "--json", case.path()]).run();
    let status: Value = serde_json::from_str(&output.assert_code(0).stdout).unwrap();
    status["locks"][0]["contenders"].as_array().unwrap().clone()
}

/// Fields that only one version has are new; the others mean the same in both.
#[test]
fn both_versions_describe_a_mixed_queue_alike() {
    in_both_orders(|versions| {
        let mut queue = Queue::new(versions);
        let exit_code = |queue: &Queue| {
            let zklock = queue.case.zklock().program(versions[1].program());
            zklock.args(["status", "--exit-code", queue.case.path()]).run().code
        };
        let free = exit_code(&queue);
        queue.add_all(&["--label nightly", "-s --label report", "-s"]);
        let [seen, seen_by_other] = versions.map(|version| contenders(version, &queue.case));
        assert_eq!((seen.len(), seen_by_other.len()), (3, 3));
        for (number, (one, other)) in seen.iter().zip(&seen_by_other).enumerate() {
            let other = other.as_object().unwrap();
            let both = one.as_object().unwrap().iter().filter(|(name, _)| other.contains_key(*name));
            let both: Vec<_> = both.filter(|(name, _)| !name.starts_with("held_")).collect();
            assert!(both.iter().all(|(name, value)| &&other[*name] == value), "{one} and {other:?}");
            let has = |wanted: &&str| both.iter().any(|(name, _)| name == wanted);
            let needed = ["position", "state", "mode", "host", "pid", "program", "label", "fencing_token"];
            assert!(needed.iter().all(has), "{both:?}");
            assert_eq!(one["pid"], queue.zklock(number + 1).pid().as_raw());
        }
        assert_eq!(seen[1]["label"], "report");
        // The older version knows no metrics.
        let metrics = queue.case.zklock().args(["status", "--openmetrics", queue.case.path()]).run();
        for (name, count) in [("holders", 1), ("waiters", 2)] {
            metrics.assert_stdout(&format!("zklock_lock_{name}{{path=\"{}\"}} {count}\n", queue.case.path()));
        }
        assert_ne!(exit_code(&queue), free);
        queue.finish();
        assert_eq!(exit_code(&queue), free);
    });
}

/// A rewritten record still has what the other version reads in it.
#[test]
fn a_revoked_holder_that_continues_is_shown_by_both_versions() {
    in_both_orders(|[first, second]| {
        let case = Case::new("upgrade-revoke-continue");
        let deaf = "trap '' TERM; echo running; while :; do sleep 1; done";
        let holder = lock(first, &case, &["--kill-after", "60", "--label", "stays"], deaf).spawn();
        holder.wait_for_stdout("running", DEADLINE);
        case.zklock().program(second.program()).args(["revoke", case.path()]).run().assert_code(0);
        for version in [first, second] {
            let shown = &contenders(version, &case)[0];
            assert_eq!((&shown["label"], &shown["pid"]), (&"stays".into(), &holder.pid().as_raw().into()));
            assert!(shown["revoked_by"].is_string(), "{version:?}: {shown}");
        }
        end_deaf(holder);
    });
}
