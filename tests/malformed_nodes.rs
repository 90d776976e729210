//! Contenders who write what they like into their nodes.

use crate::overload::crowd::{Crowd, crowded, prefixes};
use crate::overload::memory::Memory;
use crate::support::{Case, DEADLINE, Output};
use nix::sys::signal::Signal::SIGTERM;

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

/// What zklock says behind a contender whose node has this data, not waiting and waiting: short lines, nothing
/// that a terminal would act on.
#[track_caller]
fn is_shown_harmlessly(data: &[u8]) -> [Output; 2] {
    let case = Case::on(crowded(), "neighbour");
    case.observer().mkdirs(case.path());
    let mut crowd = Crowd::of(crowded());
    crowd.contend(&prefixes(case.path(), 1), data);
    let running = [("-n", false), ("-v", true)].map(|(option, waits)| {
        let running = case.lock(&[option], ["echo", "ran"]).spawn();
        (Memory::watch(running.pid()), running, waits)
    });
    let outputs = running.map(|(memory, running, waits)| {
        if waits {
            running.wait_for_line(": position ", DEADLINE);
            running.signal(SIGTERM);
        }
        let output = running.wait(DEADLINE);
        assert!(memory.peak_kib() < 200 << 10, "{output}");
        output
    });
    crowd.leave();
    outputs[0].assert_code(124);
    for output in &outputs {
        assert_eq!(output.stdout, "");
        assert_harmless(&output.stderr);
    }
    outputs
}

#[track_caller]
fn assert_harmless(stderr: &str) {
    let bad = |c: char| c.is_control() && c != '\n' || HOSTILE.contains(c) && !c.is_ascii();
    assert!(!stderr.contains(bad), "{stderr:?}");
    for line in stderr.lines() {
        assert!(line.starts_with("zklock: ") && line.chars().count() < 400, "{line:?}");
    }
}

#[test]
fn other_contenders_names_never_steer_the_terminal() {
    for data in [
        record(HOSTILE, "p", "l"),
        record("h", HOSTILE, HOSTILE),
        record("h", "p", HOSTILE),
        record("h", "p", &HOSTILE.repeat(100)),
    ] {
        for output in is_shown_harmlessly(data.as_bytes()) {
            output.assert_stderr(":7 (");
        }
    }
}

#[test]
fn data_that_no_zklock_wrote_is_shown_harmlessly() {
    for data in [HOSTILE.as_bytes(), b"\xff\xfe\x1b[2J", &[b'['; 1000]] {
        for output in is_shown_harmlessly(data) {
            output.assert_stderr("node _c_");
        }
    }
}

#[test]
fn a_megabyte_of_data_in_the_predecessor_costs_little() {
    let label = "x".repeat(900_000);
    let json = format!(
        r#"{{"version":1,"host":"h","pid":7,"user":"u","program":"p","label":"{label}","mode":"m","slots":1}}"#
    );
    for output in is_shown_harmlessly(json.as_bytes()) {
        output.assert_stderr("…");
    }
    for output in is_shown_harmlessly(label.as_bytes()) {
        output.assert_stderr("node _c_");
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
    assert_harmless(&output.stderr);
    crowd.leave();
}
