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

/// The kinds of locks, of which the last one waits, each with its mode, and their naming.
type Row = (&'static [(&'static str, &'static str)], &'static str);

const ROWS: &[Row] = &[
    (&[("mutex", "exclusive"), ("mutex", "exclusive")], "curator"),
    (&[("read", "shared"), ("read", "shared"), ("write", "exclusive")], "curator-rw"),
    (&[("read", "shared"), ("write", "exclusive")], "kazoo"),
];

#[test]
fn locks_of_curator_and_kazoo_are_shown_with_their_kind_and_what_their_nodes_say() {
    for (kinds, naming) in ROWS {
        let case = Case::new("status-neighbours");
        let neighbour = if *naming == "kazoo" { kazoo() } else { curator() };
        let mut locks = Vec::new();
        for (place, (kind, _)) in kinds.iter().enumerate() {
            locks.push(neighbour.take(kind, case.path()));
            case.wait_for_contenders(place + 1);
        }
        let waiter = locks.pop().unwrap();
        locks.iter().for_each(crate::support::NeighbourLock::wait_held);
        let seen = contenders(&case);
        let text = status(&case, &["--exit-code", case.path()]).assert_code(1).stdout.clone();
        assert!(text.contains(&format!("held by {}, 1 waiting", locks.len())), "{text}");
        for (place, (_, mode)) in kinds.iter().enumerate() {
            let state = if place < locks.len() { "held" } else { "waiting" };
            assert_contender(&seen[place], state, mode, naming);
            // Curator's nodes have the client's address, and kazoo's nothing.
            let data =
                case.observer().data(&format!("{}/{}", case.path(), case.contenders()[place])).unwrap();
            assert_eq!(seen[place]["host"].as_str().unwrap_or_default(), data);
            assert!(text.contains(&data) && seen[place]["label"].is_null(), "{text}");
            assert_eq!(data.is_empty(), *naming == "kazoo");
        }
        locks.into_iter().for_each(crate::support::NeighbourLock::give);
        waiter.wait_held();
        waiter.give();
    }
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
