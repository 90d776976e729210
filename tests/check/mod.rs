//! `zklock check`: whether a setup is ready for locks, and why not.

mod chroot;
mod credentials;
mod line;
mod permissions;
mod servers;

use crate::support::{Case, Output, Zklock};
use serde_json::Value;

/// `zklock check` with these arguments.
fn check(case: &Case, words: &[&str]) -> Zklock {
    case.zklock().arg("check").args(words)
}

/// Checks that the table has a line with this level, topic and text.
#[track_caller]
fn assert_line(output: &Output, level: &str, about: &str, text: &str) {
    let is_it = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some(level) && words.next() == Some(about) && line.contains(text)
    };
    assert!(output.stdout.lines().any(is_it), "no {level} {about} with {text:?} in: {output}");
}

#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// The fields that monitoring software finds in each document.
const FIELDS: [&str; 11] = [
    "chroot",
    "clock_ahead_ms",
    "credentials",
    "failures",
    "lease",
    "permissions",
    "servers",
    "session",
    "verdict",
    "version",
    "warnings",
];

#[track_caller]
fn assert_fields(document: &Value) {
    let fields = document.as_object().unwrap();
    for field in FIELDS {
        assert!(fields.contains_key(field), "no {field} in {document}");
    }
    assert_eq!(fields.len(), FIELDS.len(), "{document}");
}

#[test]
fn a_good_set_up_is_called_ready_and_nothing_is_left_of_the_check() {
    let case = Case::new("check-fit");
    case.observer().mkdirs("/t");
    let output = check(&case, &[case.path()]).run();
    assert_line(output.assert_code(0), "ok", "server", "standalone");
    assert_line(&output, "ok", "session", "timeout 30s, as asked");
    assert_line(&output, "ok", "latency", "of silence");
    assert_line(&output, "ok", "permissions", "CREATE and DELETE on /t");
    assert!(output.stdout.ends_with("\nready\n") && output.stderr.is_empty(), "{output}");
    assert!(!case.observer().exists(case.path()), "the lock path wasn't made");
    case.observer().mkdirs(case.path());
    let output = check(&case, &["--json", case.path()]).run();
    let document = json(output.assert_code(0));
    assert_fields(&document);
    assert_eq!(document["version"], 2);
    assert_eq!(document["verdict"], "fit");
    assert_eq!(document["servers"][0]["reached"], true);
    assert_eq!(document["servers"][0]["role"], "standalone");
    assert!(document["servers"][0]["version"].as_str().unwrap().starts_with("3."), "{document}");
    assert_eq!(document["session"]["granted"], 30.0);
    assert!(document["session"]["round_trip_ms"].as_f64().unwrap() > 0.0, "{document}");
    assert_eq!(document["lease"]["quick_enough"], true);
    for permission in ["create", "read", "delete"] {
        assert_eq!(document["permissions"][permission], true, "{document}");
    }
    assert_eq!(case.contenders(), Vec::<String>::new());
}

#[test]
fn without_a_path_no_permission_is_asked_for() {
    let case = Case::new("check-bare");
    let output = check(&case, &["--json"]).run();
    let document = json(output.assert_code(0));
    assert_fields(&document);
    assert!(document["permissions"].is_null() && document["session"].is_object(), "{document}");
}

#[test]
fn quietly_only_faults_are_told() {
    let case = Case::new("check-quiet");
    assert_eq!(check(&case, &["-q"]).run().assert_code(0).stdout, "");
    let output = check(&case, &["-q", "--session-timeout", "100"]).run();
    assert_eq!(output.assert_code(1).stdout.lines().count(), 1, "{output}");
}
