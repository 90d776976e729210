//! `--json`: a documented format, checked field by field.

use super::{end, end_all, holder, host, json, waiter};
use crate::support::{Case, Running};
use serde_json::{Value, json};

/// The expected object for the contender at this position: the fields in `own`, the others from the servers.
fn expected(case: &Case, place: usize, contender: &Running, own: &Value) -> Value {
    let node = format!("{}/{}", case.path(), case.contenders()[place - 1]);
    let stat = case.observer().stat(&node).unwrap();
    let record = super::parsed(&case.observer().data(&node).unwrap());
    let after = record["held_after_ms"].as_i64();
    let mut fields = json!({
        "position": place,
        "state": "held",
        "stopped": false,
        "mode": "exclusive",
        "slots": 1,
        "host": host(),
        "pid": contender.pid().as_raw(),
        "user": record["user"],
        "program": "sh",
        "label": null,
        "since": super::rfc3339(stat.ctime),
        "held_since": after.map(|after| super::rfc3339(stat.ctime + after)),
        "fencing_token": stat.czxid,
        "session": format!("{:#x}", stat.ephemeral_owner),
        "node": node,
        "naming": "curator",
        "revoked_by": null,
    });
    for (name, value) in own.as_object().unwrap() {
        fields[name] = value.clone();
    }
    fields
}

fn lock(case: &Case, contenders: &[Value]) -> Value {
    json!({"path": case.path(), "contenders": contenders, "last_success": null})
}

#[test]
fn status_json_has_exactly_the_documented_fields() {
    let case = Case::new("json");
    let contenders =
        vec![holder(&case, &["--label", "first"]), waiter(&case, &[], 2), waiter(&case, &["-s"], 3)];
    case.wait_for_held_since(1);
    let seen = json(&case, &[case.path()]);
    let waits = |mode: &str| json!({"state": "waiting", "mode": mode, "program": "echo"});
    let expected = [
        expected(&case, 1, &contenders[0], &json!({"label": "first"})),
        expected(&case, 2, &contenders[1], &waits("exclusive")),
        expected(&case, 3, &contenders[2], &waits("shared")),
    ];
    assert_eq!(seen, json!({"version": 2, "locks": [lock(&case, &expected)]}));
    end_all(contenders);
}

#[test]
fn status_json_shows_slots_and_naming() {
    for (options, own) in [
        (&["--slots", "3"][..], json!({"mode": "slots", "slots": 3})),
        (&["--naming", "kazoo", "-s"], json!({"mode": "shared", "naming": "kazoo"})),
        (&["--naming", "curator-rw"], json!({"naming": "curator-rw"})),
    ] {
        let case = Case::new("json-kinds");
        let holder = holder(&case, options);
        case.wait_for_held_since(1);
        let expected = expected(&case, 1, &holder, &own);
        assert_eq!(json(&case, &[case.path()])["locks"], json!([lock(&case, &[expected])]));
        end(holder);
    }
}

#[test]
fn a_free_lock_has_no_contenders_and_stdout_only_json_with_verbose() {
    let case = Case::new("json-free");
    assert_eq!(json(&case, &["-vv", case.path()]), json!({"version": 2, "locks": [lock(&case, &[])]}));
}
