//! Contenders who write what they like into their nodes.

use crate::overload::crowd::{Crowd, crowded, prefixes};
use crate::overload::memory::Memory;
use crate::support::{Case, DEADLINE, Output};
use nix::sys::signal::Signal::SIGTERM;
use serde_json::Value;

/// Moves the cursor, sets the title, turns the text around, breaks the line, and hides.
const HOSTILE: &str =
    "a\x1b[2J\x1b]0;owned\x07\u{9b}31m\r\n\u{202e}b\u{2066}\u{61c}\u{2028}\u{200b}\u{feff}\0\x7fc";

/// As JSON has it.
fn quoted(text: &str) -> String {
    let escaped: Vec<_> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{}\"", escaped.concat())
}

/// What a contender of this host, program and label writes.
fn record(host: &str, program: &str, label: &str) -> String {
    let (host, program, label) = (quoted(host), quoted(program), quoted(label));
    format!(
        r#"{{"version":1,"host":{host},"pid":7,"user":{host},"program":{program},"label":{label},"mode":"exclusive","slots":1}}"#
    )
}

/// What `-n`, `-v`, `status` and `status --json` say of a contender whose node has this data: short lines, nothing that a
/// terminal would act on.
#[track_caller]
fn is_shown_harmlessly(data: &[u8]) -> [Output; 4] {
    let case = Case::on(crowded(), "neighbour");
    case.observer().mkdirs(case.path());
    let mut crowd = Crowd::of(crowded());
    crowd.contend(&prefixes(case.path(), 1), data);
    let calls = [("-n", Some(124)), ("-v", None), ("status", Some(0)), ("status --json", Some(0))];
    let outputs = calls.map(|(words, code)| {
        let zklock = case.zklock().args(words.split(' ')).arg(case.path());
        let zklock = if words.starts_with("status") { zklock } else { zklock.args(["echo", "ran"]) };
        let running = zklock.spawn();
        let memory = Memory::watch(running.pid());
        if code.is_none() {
            running.wait_for_line(": position ", DEADLINE);
            running.signal(SIGTERM);
        }
        let output = running.wait(DEADLINE);
        assert!(memory.peak_kib() < 200 << 10, "{output}");
        assert_eq!(output.code, code, "{output}");
        assert_harmless(&output);
        output
    });
    crowd.leave();
    outputs
}

#[track_caller]
fn assert_harmless(output: &Output) {
    let bad = |c: char| c.is_control() && c != '\n' || HOSTILE.contains(c) && !c.is_ascii();
    assert!(!output.stderr.contains(bad) && !output.stdout.contains(bad), "{output:?}");
    for line in output.stderr.lines() {
        assert!(line.starts_with("zklock: ") && line.chars().count() < 400, "{line:?}");
    }
}

#[test]
fn what_other_contenders_write_never_steers_the_terminal() {
    let megabyte = "x".repeat(900_000);
    let long = format!(
        r#"{{"version":1,"host":"h","pid":7,"user":"u","program":"p","label":"{megabyte}","mode":"m","slots":1}}"#
    );
    let revoked = format!(r#""revoked_by":{},"version""#, quoted(HOSTILE));
    // What is said of it, and whether it is a record.
    for (data, says, is_record) in [
        (record(HOSTILE, "p", "l").as_bytes(), ":7 (l)", true),
        (record("h", HOSTILE, HOSTILE).as_bytes(), ":7 (a?[2J?]0;owned?", true),
        (record("h", "p", HOSTILE).replace(r#""version""#, &revoked).as_bytes(), ":7 (a?[2J?]0;owned?", true),
        (record("h", "p", &HOSTILE.repeat(100)).as_bytes(), ":7 (a?[2J?]0;owned?", true),
        (long.as_bytes(), "…", true),
        (HOSTILE.as_bytes(), "node _c_", false),
        (b"\xff\xfe\x1b[2J", "node _c_", false),
        (&[b'['; 1000], "node _c_", false),
        (megabyte.as_bytes(), "node _c_", false),
        (b"", "node _c_", false),
        (b"{}", "node _c_", false),
        (b"[1, 2", "node _c_", false),
        (b"{\"host\": 5}", "node _c_", false),
        (b"null", "node _c_", false),
    ] {
        let [busy, waited, table, json] = is_shown_harmlessly(data);
        busy.assert_stderr(says);
        waited.assert_stderr(says);
        assert_eq!(table.stdout.lines().count(), 3, "it adds no line: {table}");
        assert!(table.stdout.len() < 2_000, "{table}");
        let seen: Value = serde_json::from_str(&json.stdout).expect("JSON");
        let contender = &seen["locks"][0]["contenders"][0];
        assert_eq!(contender["state"], "held", "{json}");
        assert_eq!(contender["pid"].is_null(), !is_record, "{json}");
    }
}

#[test]
fn control_characters_in_the_revoker_s_name_are_harmless() {
    let case = Case::on(crowded(), "revoker");
    case.observer().mkdirs(case.path());
    let mut crowd = Crowd::of(crowded());
    crowd.contend(&prefixes(case.path(), 1), b"");
    let running = case.lock(&["-v"], ["echo", "ran"]).spawn();
    running.wait_for_line(": position ", DEADLINE);
    let own = format!("{}/{}", case.path(), case.wait_for_contenders(2)[1]);
    let data = record("h", "p", "l")
        .replace(r#""version""#, &format!(r#""revoked_by":{},"version""#, quoted(HOSTILE)));
    case.observer().set_data(&own, &data);
    let output = running.wait(DEADLINE);
    output.assert_code(125).assert_stderr("revoked by a");
    assert_harmless(&output);
    crowd.leave();
}
