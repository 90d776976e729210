//! `--openmetrics`: numbers for Prometheus, read by Prometheus' own parsers.

use super::{end_all, holder, status, waiter};
use crate::support::{Case, Metrics};
use zookeeper::Permission;

const HOLDERS: &str = "zklock_lock_holders";
const WAITERS: &str = "zklock_lock_waiters";
const HELD: &str = "zklock_lock_held_seconds";
const FIRST_WAITING: &str = "zklock_lock_first_waiting_seconds";
const LAST_SUCCESS: &str = "zklock_last_success_timestamp_seconds";
const ANSWERED: &str = "zklock_servers_answered";

/// The metrics of these paths; `None`: the test is skipped.
#[track_caller]
fn metrics(case: &Case, paths: &[&str]) -> Option<Metrics> {
    let output = status(case, &[&["--openmetrics"], paths].concat());
    assert_eq!(output.assert_code(0).stderr, "", "{output}");
    Metrics::parse(&output.stdout)
}

#[test]
fn a_queue_has_its_numbers_and_a_free_lock_of_any_name_has_zeros() {
    let case = Case::new("metrics");
    let free = format!("{}/\"a\\nb\" {{x=\"1\"}} \u{fc}#,", case.path());
    let contenders = vec![holder(&case, &[]), waiter(&case, &[], 2), waiter(&case, &["-s"], 3)];
    case.wait_for_held_since(1);
    let output = status(&case, &["--openmetrics", "--exit-code", case.path()]);
    assert!(output.assert_code(1).stdout.ends_with("# EOF\n"), "{output}");
    let Some(seen) = metrics(&case, &[case.path(), &free, case.path()]) else { return end_all(contenders) };
    for (path, holders, waiters) in [(case.path(), 1.0, 2.0), (free.as_str(), 0.0, 0.0)] {
        assert_eq!(seen.of(HOLDERS, path), Some(holders), "{seen:?}");
        assert_eq!(seen.of(WAITERS, path), Some(waiters), "{seen:?}");
        assert_eq!(seen.of(LAST_SUCCESS, path), None, "{seen:?}");
        for span in [HELD, FIRST_WAITING] {
            let span = seen.of(span, path).unwrap();
            assert!(if holders > 0.0 { (0.0..120.0).contains(&span) } else { span == 0.0 }, "{seen:?}");
        }
    }
    // It holds since more than a second, and the waiters came later.
    assert!(seen.of(HELD, case.path()) > Some(0.9), "{seen:?}");
    assert_eq!(seen.whole(ANSWERED), Some(1.0));
    assert_eq!(seen.count(), 9, "{seen:?}");
    end_all(contenders);
}

/// A monitor sees it, and so does a cron job.
#[test]
fn if_no_server_answers_the_metrics_say_so_and_the_exit_code_too() {
    let case = Case::new("metrics-unreachable");
    let hosts = case.hosts();
    for hosts in ["127.0.0.1:1".to_owned(), format!("{hosts}/nope")] {
        let servers = ["-z", &hosts, "--connect-timeout", "0.3"];
        let output = case.zklock().args(servers).args(["status", "--openmetrics", case.path()]).run();
        output.assert_code(125).assert_stderr("zklock: ");
        let Some(seen) = Metrics::parse(&output.stdout) else { return };
        assert_eq!((seen.whole(ANSWERED), seen.count()), (Some(0.0), 1), "{seen:?}");
    }
}

/// Zeros would say that the lock is free.
#[test]
fn a_queue_that_is_hidden_has_no_numbers_and_the_exit_code_says_so() {
    let case = Case::new("metrics-hidden");
    let closed = case.guarded(Permission::WRITE);
    let output = status(&case, &["--openmetrics", &closed, case.path()]);
    output.assert_code(125).assert_stderr(&format!("{closed}: no permission"));
    let Some(seen) = Metrics::parse(&output.stdout) else { return };
    assert_eq!(seen.paths(HOLDERS), [case.path()]);
    assert_eq!(seen.whole(ANSWERED), Some(1.0));
}
