//! What [`Checker`](crate::real::Checker) says of a history. A row is a history and a part of what is said, or nothing
//! if a correct lock can write it.

use crate::real::{Case, try_rows};
use std::fs;
use std::process::Command;
use std::time::Duration;

const KILLED: &str = "begin a 1 10\nalive a 1 11\nbegin b 2 20\n";

/// The lines of commands that begin in this order and end after all have begun: the number of the node, token and mode.
fn begin_all(commands: &[(u64, u64, &str)]) -> String {
    let begin = |(number, token, mode): &(u64, u64, &str)| {
        let node = format!(r#""path":"/l","node":"/l/n-{number:010}""#);
        format!("begin {mode}{token} {token} 10 [{{{node},\"mode\":\"{mode}\",\"fencing_token\":{token}}}]\n")
    };
    let end = |(_, token, mode): &(u64, u64, &str)| format!("end {mode}{token} {token} 100\n");
    commands.iter().map(begin).chain(commands.iter().map(end)).collect()
}

#[test]
fn a_history_that_no_lock_can_write_is_found() {
    let alive = format!("{KILLED}alive a 1 21\n");
    let rows: [(&str, &str); 15] = [
        ("begin a 1 10\nbegin b 2 20\nend a 1 30\nend b 2 40\n", "OVERLAP"),
        (KILLED, ""),
        (&alive, "OVERLAP"),
        ("begin a 2 10\nend a 2 20\nbegin b 2 30\nend b 2 40\n", "not in the order of the queue"),
        ("end a 2 10\n", "never began"),
        ("begin a 2\n", "not four words"),
        ("begin a 2 10\nend a 2 20\nalive a 2 30\n", "continues after its end"),
        (&begin_all(&[(1, 1, "shared"), (2, 2, "shared")]), ""),
        (&begin_all(&[(1, 1, "shared"), (2, 2, "exclusive")]), "OVERLAP"),
        (&begin_all(&[(1, 1, "slots"), (2, 2, "slots")]), ""),
        (&begin_all(&[(1, 1, "slots"), (2, 2, "slots"), (3, 3, "slots")]), "OVERLAP"),
        (&begin_all(&[(2, 2, "slots"), (1, 1, "slots")]), ""),
        (&begin_all(&[(2, 2, "exclusive"), (1, 1, "shared")]), "not in the order of the queue"),
        (&begin_all(&[(1, 2, "slots"), (2, 1, "slots")]), "the fencing tokens aren't in the order"),
        (&begin_all(&[(1, 1, "slots"), (1, 1, "slots")]), "begins a second time"),
    ];
    try_rows(rows, |(history, said)| {
        let case = Case::new("history");
        let written = case.history();
        fs::write(written.path(), history).unwrap();
        let found = written.check_exclusive().err().unwrap_or_default();
        assert!(found.contains(said) && found.is_empty() == said.is_empty(), "{history}{found}");
    });
}

#[test]
fn jobs_write_what_is_read() {
    let case = Case::new("history");
    let history = case.history();
    for (name, token) in [("a", "7"), ("b", "9")] {
        let status = Command::new("sh")
            .args(["-c", &history.job(name, 0.01)])
            .env("ZKLOCK_FENCING_TOKEN", token)
            .status();
        assert!(status.unwrap().success());
    }
    let sections = history.check_exclusive().unwrap();
    let tokens: Vec<_> = sections.iter().map(|section| section.token).collect();
    assert_eq!(tokens, [7, 9]);
    assert!(sections[0].last.saturating_sub(sections[0].begin) >= Duration::from_millis(10));
}

#[test]
fn as_many_at_once_are_counted_as_there_were() {
    let case = Case::new("history");
    let history = case.history();
    fs::write(
        history.path(),
        "begin a 1 10\nbegin b 2 20\nend a 1 30\nbegin c 3 35\nend b 2 40\nend c 3 50\n",
    )
    .unwrap();
    assert_eq!(history.most_at_once(), 2);
}
