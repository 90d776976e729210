//! `--openmetrics`: numbers for Prometheus, read by Prometheus' own parsers.

use super::{end_all, holder, json, status, waiter};
use crate::support::{Case, Metrics, NeighbourLock, curator, kazoo};
use std::time::{SystemTime, UNIX_EPOCH};
use zookeeper::{Acl, CreateMode, Permission};

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

#[track_caller]
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn a_queue_has_its_numbers_and_a_free_lock_has_zeros() {
    let case = Case::new("metrics");
    let free = format!("{}-free", case.path());
    let contenders = vec![holder(&case, &[]), waiter(&case, &[], 2), waiter(&case, &["-s"], 3)];
    case.wait_for_held_since(1);
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
    assert_eq!(seen.len(), 9, "{seen:?}");
    end_all(contenders);
}

#[test]
fn all_holders_of_slots_and_all_readers_count() {
    let (slots, readers) = (Case::new("metrics-slots"), Case::new("metrics-readers"));
    let mut contenders = vec![holder(&slots, &["--slots", "2"]), holder(&slots, &["--slots", "2"])];
    contenders.push(waiter(&slots, &["--slots", "2"], 3));
    contenders.extend([holder(&readers, &["-s"]), holder(&readers, &["-s"])]);
    if let Some(seen) = metrics(&slots, &[slots.path(), readers.path()]) {
        assert_eq!((seen.of(HOLDERS, slots.path()), seen.of(WAITERS, slots.path())), (Some(2.0), Some(1.0)));
        assert_eq!(
            (seen.of(HOLDERS, readers.path()), seen.of(WAITERS, readers.path())),
            (Some(2.0), Some(0.0))
        );
    }
    end_all(contenders);
}

#[test]
fn the_last_success_is_a_time_in_seconds_even_if_nobody_has_queued_since() {
    let case = Case::new("metrics-success");
    case.lock(&["--once-per", "1h"], ["true"]).run().assert_code(0);
    let Some(seen) = metrics(&case, &[case.path()]) else { return };
    let last = seen.of(LAST_SUCCESS, case.path()).unwrap();
    let at = json(&case, &[case.path()])["locks"][0]["last_success"]["at"].as_str().unwrap().to_owned();
    let at: jiff::Timestamp = at.parse().unwrap();
    #[allow(clippy::cast_precision_loss, reason = "a time of this century")]
    let at = at.as_millisecond() as f64 / 1000.0;
    assert!((last - at).abs() < 0.0005 && (now() - last).abs() < 120.0, "{last} {at}");
}

#[test]
fn without_a_path_every_lock_has_its_numbers() {
    let case = Case::new("metrics-all");
    let contenders = vec![holder(&case, &[])];
    // Paths of other tests may be hidden, which is a warning.
    if let Some(seen) = Metrics::parse(&status(&case, &["--openmetrics"]).assert_code(0).stdout) {
        assert!(seen.paths(HOLDERS).contains(&case.path()), "{seen:?}");
    }
    if let Some(seen) = metrics(&case, &["--recursive", case.path()]) {
        assert_eq!(seen.paths(HOLDERS), [case.path()]);
    }
    end_all(contenders);
}

#[test]
fn paths_with_quotes_and_backslashes_come_back_whole() {
    let case = Case::new("metrics-escaped");
    let path = format!("{}/\"a\\nb\" {{x=\"1\"}} \u{fc}#,", case.path());
    if let Some(seen) = metrics(&case, &[&path]) {
        assert_eq!(seen.paths(HOLDERS), [path.as_str()]);
    }
}

#[test]
fn other_programs_locks_count_since_they_queued() {
    let case = Case::new("metrics-neighbours");
    let other = Case::new("metrics-kazoo");
    let held = [(curator(), "mutex", &case), (kazoo(), "lock", &other)];
    let held = held.map(|(neighbour, kind, case)| neighbour.take(kind, case.path()));
    held.iter().for_each(NeighbourLock::wait_held);
    if let Some(seen) = metrics(&case, &[case.path(), other.path()]) {
        for path in [case.path(), other.path()] {
            assert_eq!(seen.of(HOLDERS, path), Some(1.0), "{seen:?}");
            assert!(seen.of(HELD, path).is_some_and(|span| span < 120.0), "{seen:?}");
        }
    }
    held.into_iter().for_each(NeighbourLock::give);
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
        assert_eq!((seen.whole(ANSWERED), seen.len()), (Some(0.0), 1), "{seen:?}");
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

/// Since ZooKeeper 3.9 such a node shows only that it is there.
#[test]
fn a_holder_that_is_hidden_counts_but_its_time_may_be_unknown() {
    let case = Case::new("metrics-hidden-node");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let acl = vec![Acl::new(Permission::DELETE, "world", "anyone")];
    let node = case.observer().create_with_acl(&name, "", CreateMode::EphemeralSequential, acl).unwrap();
    if let Some(seen) = metrics(&case, &[case.path()]) {
        assert_eq!(seen.of(HOLDERS, case.path()), Some(1.0), "{seen:?}");
        let is_shown = case.observer().stat_if_shown(&node).is_some();
        assert_eq!(seen.of(HELD, case.path()).is_some(), is_shown, "{seen:?}");
    }
    case.observer().delete(&node);
}

#[test]
fn metrics_go_with_the_exit_code_but_with_no_other_form() {
    let case = Case::new("metrics-usage");
    let contenders = vec![holder(&case, &[])];
    let output = status(&case, &["--openmetrics", "--exit-code", case.path()]);
    assert!(output.assert_code(1).stdout.ends_with("# EOF\n"), "{output}");
    for other in ["--json", "--watch", "--show-config"] {
        let output = status(&case, &["--openmetrics", other]);
        output.assert_code(125).assert_stderr("cannot be used with");
        assert_eq!(output.stdout, "");
    }
    end_all(contenders);
}
