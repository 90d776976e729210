//! The priority of messages in systemd's journal, which stands before each line (sd-daemon(3)).

use crate::support::Case;
use std::fs;

/// A prelude after which stderr is a file that counts as the journal's stream.
const JOURNAL: &str = "exec 2>stream; export JOURNAL_STREAM=$(stat -Lc %d:%i stream)";

/// The lines that zklock writes to the journal.
fn lines(case: &Case, prelude: &str, words: &[&str], code: i32) -> Vec<String> {
    let run = case.zklock().dir(case.dir()).prelude(prelude).args(words).run();
    run.assert_code(code);
    let stream = fs::read_to_string(case.dir().join("stream")).expect("a file");
    stream.lines().map(str::to_owned).collect()
}

#[track_caller]
fn assert_line(lines: &[String], start: &str, text: &str) {
    assert!(
        lines.iter().any(|line| line.starts_with(start) && line.contains(text)),
        "{start}{text}: {lines:#?}"
    );
}

#[test]
fn each_message_has_its_priority() {
    let case = Case::new("journal");
    let path = case.path();
    let said = lines(&case, JOURNAL, &["-vv", path, "sh", "-c", "echo own >&2"], 0);
    assert_line(&said, "<6>zklock: ", "acquired");
    assert_line(&said, "<7>zklock: debug ", "was started");
    assert!(said.contains(&"own".to_owned()), "the command's lines are its own: {said:#?}");
    assert!(said.iter().all(|line| line == "own" || line.starts_with('<')), "{said:#?}");

    let holder = case.holder();
    assert_line(&lines(&case, JOURNAL, &["-n", path, "true"], 124), "<4>zklock: ", "busy: held by");
    let said = lines(&case, JOURNAL, &["-w", "3.5", "--progress", "0.5", path, "true"], 124);
    assert_line(&said, "<5>zklock: ", "position 2");
    crate::support::end(holder);
}

#[test]
fn each_line_of_an_error_has_its_priority_whatever_reports_it() {
    let case = Case::new("journal-errors");
    let path = case.path();
    let said = lines(&case, JOURNAL, &["-z", "127.0.0.1:1", "-n", path, "true"], 125);
    assert!(said.len() > 1 && said.iter().all(|line| line.starts_with("<3>")), "{said:#?}");
    for words in [&["--no-such-option"][..], &["status", "-z", "127.0.0.1:1", path], &["revoke", "no-path"]] {
        let said = lines(&case, JOURNAL, words, 125);
        assert!(!said.is_empty() && said.iter().all(|line| line.starts_with("<3>")), "{words:?}: {said:#?}");
    }
    assert_line(&lines(&case, JOURNAL, &[path, "no-such-command"], 127), "<3>zklock: ", "was not found");
}

#[test]
fn messages_in_json_have_it_too() {
    let case = Case::new("journal-json");
    for line in lines(&case, JOURNAL, &["--log-format", "json", "-v", case.path(), "true"], 0) {
        let json = line.strip_prefix("<6>").or(line.strip_prefix("<7>")).unwrap_or_else(|| panic!("{line}"));
        serde_json::from_str::<serde_json::Value>(json).expect("a JSON object");
    }
}

#[test]
fn a_stderr_that_is_not_the_journal_gets_no_priorities() {
    let case = Case::new("no-journal");
    for stream in [
        "",
        "export JOURNAL_STREAM=1:2",
        "export JOURNAL_STREAM=x",
        "export JOURNAL_STREAM=$(stat -Lc %d:1 stream)",
    ] {
        let said = lines(&case, &format!("exec 2>stream; {stream}"), &["-v", case.path(), "true"], 0);
        assert!(!said.is_empty() && said.iter().all(|line| line.starts_with("zklock: ")), "{said:#?}");
    }
}

/// As after a write into a journal whose service is restarted.
#[test]
fn the_command_finds_the_variable_unchanged() {
    let case = Case::new("journal-variable");
    let run = case.lock(&[], ["sh", "-c", "echo $JOURNAL_STREAM"]).env("JOURNAL_STREAM", "8:4711").run();
    assert_eq!(run.assert_code(0).stdout, "8:4711\n");
}
