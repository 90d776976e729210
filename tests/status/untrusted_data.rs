//! The data of other clients' nodes can't control the terminal.

use super::{json, status};
use crate::support::Case;
use serde_json::json;

fn record(text: &str) -> String {
    json!({
        "version": 1, "host": text, "pid": 1, "user": text, "program": text, "label": text,
        "mode": "exclusive", "slots": 1, "revoked_by": text,
    })
    .to_string()
}

#[test]
fn control_characters_are_shown_as_question_marks() {
    let case = Case::new("hostile");
    let text = "a\x1b[2J\x1b]0;owned\x07b\r\nc\u{202e}d\u{9b}e";
    for data in [record(text), text.to_owned()] {
        let node = case.add_contender(&data);
        for words in [&[case.path()][..], &["--json", case.path()]] {
            let stdout = status(&case, words).assert_code(0).stdout.clone();
            let hostile = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!stdout.contains(hostile), "{stdout:?}");
            assert!(stdout.contains("a?[2J?]0;owned?b??c?d?e"), "{stdout}");
        }
        assert_eq!(status(&case, &[case.path()]).stdout.lines().count(), 3, "it adds no line");
        case.observer().delete(&node);
    }
}

#[test]
fn a_very_long_text_is_truncated() {
    let case = Case::new("hostile-long");
    let node = case.add_contender(&record(&"x".repeat(100_000)));
    let stdout = status(&case, &[case.path()]).assert_code(0).stdout.clone();
    assert!(stdout.len() < 2_000, "{} bytes", stdout.len());
    assert!(stdout.contains('…'), "{stdout}");
    case.observer().delete(&node);
}

/// The data may be from a later version, or from any other client.
#[test]
fn a_node_with_unknown_data_is_a_contender_like_any_other() {
    let case = Case::new("hostile-other");
    for data in ["", "{}", "[1, 2", "{\"host\": 5}", "null"] {
        let node = case.add_contender(data);
        let seen = json(&case, &[case.path()]);
        let contender = &seen["locks"][0]["contenders"][0];
        assert_eq!(contender["state"], "held", "{data}");
        assert_eq!(contender["node"], node.as_str(), "{data}");
        assert!(contender["host"].is_null() && contender["pid"].is_null(), "{data}");
        case.observer().delete(&node);
    }
}
