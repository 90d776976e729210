//! `status` of one version shows contenders of the other.

use super::{Version, assert_they_wait, end, in_both_orders};
use crate::support::Case;
use serde_json::Value;

fn contenders(version: Version, case: &Case) -> Vec<Value> {
    let output = version.zklock(case).args(["status", "--json", case.path()]).run();
    let status: Value = serde_json::from_str(&output.assert_code(0).stdout).unwrap();
    status["locks"][0]["contenders"].as_array().unwrap().clone()
}

/// Fields that only one version has are new; the others mean the same in both.
#[test]
fn both_versions_describe_a_mixed_queue_alike() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-status");
        let holder = first.hold(&case, &["--label", "nightly"]);
        let waiters = [second.queue(&case, &["-s", "--label", "report"], 2), first.queue(&case, &["-s"], 3)];
        let [waiter, last] = &waiters;
        assert_they_wait(&case, &[waiter, last]);
        case.wait_for_contenders(3);
        let (seen, seen_by_other) = (contenders(first, &case), contenders(second, &case));
        assert_eq!((seen.len(), seen_by_other.len()), (3, 3));
        for (one, other) in seen.iter().zip(&seen_by_other) {
            let other = other.as_object().unwrap();
            let both = one.as_object().unwrap().iter().filter(|(name, _)| other.contains_key(*name));
            let both: Vec<_> = both.filter(|(name, _)| !name.starts_with("held_")).collect();
            for (name, value) in &both {
                assert_eq!(&&other[*name], value, "{name}");
            }
            let has = |wanted: &&str| both.iter().any(|(name, _)| name == wanted);
            let needed = ["position", "state", "mode", "host", "pid", "program", "label", "fencing_token"];
            assert!(needed.iter().all(has), "{both:?}");
        }
        for (contender, shown) in [(&holder, &seen[0]), (waiter, &seen[1]), (last, &seen[2])] {
            assert_eq!(shown["pid"], contender.pid().as_raw());
        }
        assert_eq!(seen[1]["label"], "report");
        end(holder);
        waiters.into_iter().for_each(end);
    });
}

/// The older version knows no metrics.
#[test]
fn the_metrics_of_this_version_count_contenders_of_the_other() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-metrics");
        let holder = first.hold(&case, &[]);
        let waiter = second.queue(&case, &[], 2);
        let output = case.zklock().args(["status", "--openmetrics", case.path()]).run();
        let labels = format!("{{path=\"{}\"}}", case.path());
        for number in ["zklock_lock_holders", "zklock_lock_waiters"].map(|name| format!("{name}{labels} 1\n"))
        {
            assert!(output.assert_code(0).stdout.contains(&number), "{output}");
        }
        end(waiter);
        end(holder);
    });
}

#[test]
fn the_exit_code_says_whether_the_other_version_holds_the_lock() {
    in_both_orders(|first, second| {
        let case = Case::new("upgrade-status-code");
        let code = || second.zklock(&case).args(["status", "--exit-code", case.path()]).run().code;
        let free = code();
        let holder = first.hold(&case, &[]);
        assert_ne!(code(), free);
        end(holder);
        assert_eq!(code(), free);
    });
}
