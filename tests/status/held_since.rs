//! The time since when a lock is held, beside the time when its holder queued.

use super::{end, holder, json};
use crate::support::{At, Case, DEADLINE, Proxy, deaf_holder, end_deaf, op, shared, wait_until};
use jiff::Timestamp;

#[test]
fn a_holder_that_waited_publishes_both_times() {
    let case = Case::new("held-since");
    let first = holder(&case, &[]);
    let next = case.lock(&[], ["sh", "-c", "echo running; exec sleep 60"]).spawn();
    case.wait_for_contenders(2);
    let node = format!("{}/{}", case.path(), case.contenders()[1]);
    let queued = case.observer().stat(&node).unwrap().ctime;
    // The server's time, from a write while the first holder still exists.
    let clock = format!("{}-clock", case.path());
    case.observer().mkdirs(&clock);
    let now = || {
        case.observer().set_data(&clock, "");
        case.observer().stat(&clock).unwrap().mtime
    };
    wait_until("a second to pass", DEADLINE, || now() >= queued + 1_200);
    let before = now();
    case.observer().delete(&clock);
    end(first);
    next.wait_for_stdout("running", DEADLINE);
    case.wait_for_held_since(1);
    let seen = &json(&case, &[case.path()])["locks"][0]["contenders"][0];
    let time = |field: &str| seen[field].as_str().unwrap().parse::<Timestamp>().unwrap().as_millisecond();
    let written = case.observer().stat(&node).unwrap().mtime;
    let (since, held) = (time("since"), time("held_since"));
    assert!(since + 1_000 <= held, "{seen}");
    // The contender counts from when it hears of its node, which is a moment after the server's time.
    assert!((before - 500..=written - 900).contains(&held), "{before} {written} {seen}");
    end(next);
}

#[test]
fn every_lock_and_slot_has_held_since() {
    let case = Case::new("held-several");
    let paths = ["", "-b"].map(|ending| format!("{}{ending}", case.path()));
    let words = ["--slots", "2", &paths[1], &paths[0], "--", "sh", "-c", "echo running; exec sleep 60"];
    let job = case.zklock().args(words).spawn();
    job.wait_for_stdout("running", DEADLINE);
    wait_until("both to publish it", DEADLINE, || {
        let seen = json(&case, &[&paths[0], &paths[1]]);
        (0..2).all(|lock| seen["locks"][lock]["contenders"][0]["held_since"].is_string())
    });
    end(job);
}

/// Both write at the same time, and the revoke comes first.
#[test]
fn held_since_does_not_overwrite_a_revoke() {
    let proxy = Proxy::to(shared());
    let case = Case::new("held-mark").through(&proxy.connect_string());
    proxy.once(op::SET_DATA, At::Hold);
    let job = deaf_holder(&case, &[]);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    proxy.wait_fired(1, DEADLINE);
    case.observer().set_data(&node, "__REVOKE__");
    proxy.release();
    job.wait_for_line("revoked", DEADLINE);
    wait_until("the server to refuse it", DEADLINE, || proxy.answered(op::SET_DATA) == 1);
    assert_eq!(case.observer().data(&node).as_deref(), Some("__REVOKE__"));
    end_deaf(job);
}

#[test]
fn a_short_command_writes_nothing() {
    let proxy = Proxy::to(shared());
    let case = Case::new("held-short").through(&proxy.connect_string());
    case.lock(&[], ["true"]).run().assert_code(0);
    assert_eq!(proxy.count(op::SET_DATA), 0);
    let job = holder(&case, &[]);
    case.wait_for_held_since(1);
    assert_eq!(proxy.count(op::SET_DATA), 1, "a longer one writes once");
    end(job);
}
