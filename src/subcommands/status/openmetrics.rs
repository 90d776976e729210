//! The metrics of `status --openmetrics`, in a text that both of Prometheus' formats accept: OpenMetrics, and the older
//! text format that node_exporter reads from a file. `docs/check.md` specifies them.

use std::fmt::Write;
use std::time::Duration;

use zklock_core::text::escaped;

use super::super::listing::{ListedContender, Lock, State};
use crate::ensemble::ServerTime;

/// The last line in OpenMetrics, and a comment in the older format.
const END: &str = "# EOF\n";

/// A metric of locks.
struct Metric {
    name: &'static str,
    help: &'static str,
    /// Its value for a lock at this time; `None` if it isn't known.
    value: fn(&Lock, ServerTime) -> Option<f64>,
}

const METRICS: &[Metric] = &[
    Metric {
        name: "zklock_lock_holders",
        help: "Contenders that hold the lock.",
        value: |lock, _| count(lock, State::Held),
    },
    Metric {
        name: "zklock_lock_waiters",
        help: "Contenders that wait for the lock.",
        value: |lock, _| count(lock, State::Waiting),
    },
    Metric {
        name: "zklock_lock_held_seconds",
        help: "How long the lock has been held by its longest holder, 0 if it is free.",
        value: |lock, now| longest(lock, State::Held, now, |one| one.held_since.or(one.since)),
    },
    Metric {
        name: "zklock_lock_first_waiting_seconds",
        help: "How long the first waiter has waited for the lock, 0 if there is none.",
        value: |lock, now| longest(lock, State::Waiting, now, |one| one.since),
    },
    Metric {
        name: "zklock_last_success_timestamp_seconds",
        help: "When a command last succeeded under the lock with --once-per.",
        value: |lock, _| {
            Some(seconds(Duration::from_millis(u64::try_from(lock.last_success.as_ref()?.at?.0).ok()?)))
        },
    },
];

/// The metrics of these locks; `now` is the time by this host's clock.
pub(super) fn text(locks: &[Lock], now: ServerTime) -> String {
    let mut text = servers_answered(true);
    for Metric { name, help, value } in METRICS {
        let samples: Vec<_> = locks.iter().filter_map(|lock| Some((lock, value(lock, now)?))).collect();
        if !samples.is_empty() {
            text += &head(name, help);
        }
        for (lock, value) in samples {
            let _ = writeln!(text, "{name}{{path=\"{}\"}} {value}", label_value(&lock.path));
        }
    }
    text + END
}

/// The metrics if nothing is known of the locks.
pub(super) fn text_without_answer() -> String {
    servers_answered(false) + END
}

fn servers_answered(answered: bool) -> String {
    let name = "zklock_servers_answered";
    let help = "Whether the ZooKeeper servers answered zklock, 1 or 0.";
    format!("{}{name} {}\n", head(name, help), u8::from(answered))
}

fn head(name: &str, help: &str) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n")
}

#[allow(clippy::cast_precision_loss, reason = "no queue is that long")]
fn count(lock: &Lock, state: State) -> Option<f64> {
    let contenders = lock.contenders.as_ref()?;
    Some(contenders.iter().filter(|one| one.state == state).count() as f64)
}

/// The longest time since these contenders' moments. Unknown if one of them is.
fn longest(
    lock: &Lock,
    state: State,
    now: ServerTime,
    since: fn(&ListedContender) -> Option<ServerTime>,
) -> Option<f64> {
    let of_state = lock.contenders.as_ref()?.iter().filter(|one| one.state == state);
    let spans: Option<Vec<Duration>> = of_state.map(|one| Some(since(one)?.until(now))).collect();
    Some(seconds(spans?.into_iter().max().unwrap_or_default()))
}

#[allow(clippy::cast_precision_loss, reason = "no time is that long")]
fn seconds(span: Duration) -> f64 {
    // Seconds and their fraction, each rounded, add up to 2.9779999999999998.
    span.as_millis() as f64 / 1000.0
}

/// A path between double quotes. Control characters, of which the formats know only the line feed, become their codes.
fn label_value(path: &str) -> String {
    let line = |line: &str| escaped(line.as_bytes()).replace('\\', "\\\\").replace('"', "\\\"");
    path.split('\n').map(line).collect::<Vec<_>>().join("\\n")
}

#[cfg(test)]
mod tests {
    use zklock_core::queue::name::{Family, Mode};

    use super::super::super::listing::Success;
    use super::super::super::owner::Owner;
    use super::*;

    const NOW: ServerTime = ServerTime(1_000_000);

    fn contender(state: State, since: Option<i64>, held_since: Option<i64>) -> ListedContender {
        ListedContender {
            position: 1,
            state,
            stopped: false,
            mode: Mode::Exclusive,
            owner: Owner::default(),
            since: since.map(ServerTime),
            held_since: held_since.map(ServerTime),
            fencing_token: Some(1),
            session: None,
            node: "/a/lock-0000000001".into(),
            family: Family::Curator,
            asked_to_stop: false,
            revoked_by: None,
        }
    }

    fn lock(path: &str, contenders: Option<Vec<ListedContender>>, success: Option<i64>) -> Lock {
        let at = success.map(ServerTime);
        let last_success = success.map(|_| Success { at, host: None, pid: None, fencing_token: None });
        Lock { path: path.to_owned(), contenders, last_success, busy_below: 0 }
    }

    /// The samples without their comments.
    fn samples(locks: &[Lock]) -> Vec<String> {
        let text = text(locks, NOW);
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn each_lock_has_its_numbers_and_a_free_one_has_zeros() {
        let held = vec![
            contender(State::Held, Some(400_000), Some(880_000)),
            contender(State::Held, Some(990_000), None),
            contender(State::Waiting, Some(700_500), None),
            contender(State::Waiting, Some(999_000), None),
            contender(State::Unowned { is_first: true }, Some(1), None),
        ];
        let locks = [lock("/free", Some(vec![]), None), lock("/held", Some(held), Some(1_763_690_400_123))];
        assert_eq!(
            samples(&locks),
            [
                "zklock_servers_answered 1",
                "zklock_lock_holders{path=\"/free\"} 0",
                "zklock_lock_holders{path=\"/held\"} 2",
                "zklock_lock_waiters{path=\"/free\"} 0",
                "zklock_lock_waiters{path=\"/held\"} 2",
                "zklock_lock_held_seconds{path=\"/free\"} 0",
                "zklock_lock_held_seconds{path=\"/held\"} 120",
                "zklock_lock_first_waiting_seconds{path=\"/free\"} 0",
                "zklock_lock_first_waiting_seconds{path=\"/held\"} 299.5",
                "zklock_last_success_timestamp_seconds{path=\"/held\"} 1763690400.123",
            ]
        );
    }

    #[test]
    fn what_is_not_known_has_no_sample() {
        let hidden = contender(State::Held, None, None);
        let locks = [lock("/closed", None, None), lock("/hidden", Some(vec![hidden]), None)];
        let known = samples(&locks);
        assert!(!known.iter().any(|sample| sample.contains("/closed")), "{known:?}");
        assert!(known.contains(&"zklock_lock_holders{path=\"/hidden\"} 1".to_owned()), "{known:?}");
        assert!(!known.iter().any(|sample| sample.starts_with("zklock_lock_held_seconds")), "{known:?}");
    }

    #[test]
    fn a_holder_by_a_clock_that_is_ahead_has_held_for_no_time() {
        let ahead = contender(State::Held, Some(NOW.0 + 5_000), Some(NOW.0 + 5_000));
        let known = samples(&[lock("/a", Some(vec![ahead]), None)]);
        assert!(known.contains(&"zklock_lock_held_seconds{path=\"/a\"} 0".to_owned()), "{known:?}");
    }

    #[test]
    fn a_time_has_at_most_three_decimals() {
        for millis in 0..=5_000 {
            let text = seconds(Duration::from_millis(millis)).to_string();
            assert!(text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 3), "{text}");
        }
    }

    #[test]
    fn a_path_is_escaped_as_both_formats_have_it() {
        assert_eq!(label_value("/a b/\u{fc}"), "/a b/\u{fc}");
        assert_eq!(label_value("/\"x\\y\nz"), "/\\\"x\\\\y\\nz");
        assert_eq!(label_value("/\r\u{1b}\u{85}"), "/\\\\r\\\\u{1b}\\\\u{85}");
    }

    #[test]
    fn a_text_ends_with_eof_whether_the_servers_answered_or_not() {
        assert!(text(&[], NOW).ends_with("\nzklock_servers_answered 1\n# EOF\n"));
        assert!(text_without_answer().ends_with("\nzklock_servers_answered 0\n# EOF\n"));
    }
}
