//! Locks of Curator and kazoo, as far as their nodes describe them.

use super::{json, status};
use crate::support::{Case, curator, kazoo};
use serde_json::Value;

/// The contenders of the case's lock.
fn contenders(case: &Case) -> Vec<Value> {
    json(case, &[case.path()])["locks"][0]["contenders"].as_array().unwrap().clone()
}

#[track_caller]
fn assert_contender(contender: &Value, state: &str, mode: &str, naming: &str) {
    let fields = ["state", "mode", "naming"].map(|field| contender[field].as_str().unwrap());
    assert_eq!(fields, [state, mode, naming], "{contender}");
    assert_eq!(contender["slots"], 1);
    assert!(contender["fencing_token"].as_i64().unwrap() > 0 && contender["pid"].is_null(), "{contender}");
}

#[test]
fn a_curator_mutex_is_shown_with_its_address() {
    let case = Case::new("status-mutex");
    let held = curator().take("mutex", case.path());
    held.wait_held();
    let waits = curator().take("mutex", case.path());
    case.wait_for_contenders(2);
    let seen = contenders(&case);
    assert_contender(&seen[0], "held", "exclusive", "curator");
    assert_contender(&seen[1], "waiting", "exclusive", "curator");
    let address = case.observer().data(&format!("{}/{}", case.path(), case.contenders()[0])).unwrap();
    assert_eq!(seen[0]["host"], address.as_str());
    assert!(status(&case, &[case.path()]).stdout.contains(&address));
    held.give();
    waits.wait_held();
    waits.give();
}

#[test]
fn curator_s_readers_and_writers_are_distinguished() {
    let case = Case::new("status-rw");
    let readers = [curator().take("read", case.path()), curator().take("read", case.path())];
    readers.iter().for_each(crate::support::NeighbourLock::wait_held);
    let writer = curator().take("write", case.path());
    case.wait_for_contenders(3);
    let seen = contenders(&case);
    for reader in &seen[..2] {
        assert_contender(reader, "held", "shared", "curator-rw");
    }
    assert_contender(&seen[2], "waiting", "exclusive", "curator-rw");
    readers.into_iter().for_each(crate::support::NeighbourLock::give);
    writer.wait_held();
    writer.give();
}

#[test]
fn kazoo_s_locks_are_shown_without_an_owner() {
    let case = Case::new("status-kazoo");
    let reader = kazoo().take("read", case.path());
    reader.wait_held();
    let writer = kazoo().take("write", case.path());
    case.wait_for_contenders(2);
    let seen = contenders(&case);
    assert_contender(&seen[0], "held", "shared", "kazoo");
    assert_contender(&seen[1], "waiting", "exclusive", "kazoo");
    assert!(seen[0]["host"].is_null() && seen[0]["label"].is_null(), "{}", seen[0]);
    let text = status(&case, &["--exit-code", case.path()]).assert_code(1).stdout.clone();
    assert!(text.contains("held by 1, 1 waiting"), "{text}");
    reader.give();
    writer.wait_held();
    writer.give();
}

#[test]
fn a_neighbour_that_was_asked_to_stop_has_no_label() {
    let case = Case::new("status-asked");
    let held = curator().take("mutex", case.path());
    held.wait_held();
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    let text = status(&case, &[case.path()]).stdout.clone();
    assert!(text.contains("held, asked to stop") && !text.contains("__REVOKE__"), "{text}");
    assert!(contenders(&case)[0]["label"].is_null());
    case.lock(&["-n"], ["true"]).run().assert_code(124).assert_stderr(", asked to stop");
    held.give();
}

#[test]
fn the_busy_message_names_a_neighbour_by_its_data() {
    let case = Case::new("busy-curator");
    let held = curator().take("mutex", case.path());
    held.wait_held();
    let node = case.contenders()[0].clone();
    let address = case.observer().data(&format!("{}/{node}", case.path())).unwrap();
    let busy = case.lock(&["-n"], ["true"]).run();
    busy.assert_code(124).assert_stderr(&format!("busy: held by {address} (node {node})"));
    held.give();

    let case = Case::new("busy-kazoo");
    let held = kazoo().take("named", case.path());
    held.wait_held();
    let busy = case.lock(&["-n", "--naming", "kazoo"], ["true"]).run();
    busy.assert_code(124).assert_stderr("busy: held by kazoo-host:4711 (node ");
    assert_eq!(contenders(&case)[0]["label"], "kazoo-host:4711");
    held.give();
}
