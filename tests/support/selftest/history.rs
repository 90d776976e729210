use crate::support::{Case, History};
use std::fs;
use std::process::Command;

fn history(case: &Case, text: &str) -> History {
    let history = case.history();
    fs::write(case.dir().join("jobs.history"), text).unwrap();
    history
}

#[test]
fn an_overlap_is_found() {
    let case = Case::new("history");
    let history = history(&case, "begin a 1 10\nbegin b 2 20\nend a 1 30\nend b 2 40\n");
    let wrong = history.check_exclusive().unwrap_err();
    assert!(wrong.starts_with("at the same time"), "{wrong}");
    assert_eq!(history.most_at_once(), 2);
}

#[test]
fn a_killed_job_that_is_still_alive_is_found() {
    let case = Case::new("history");
    let killed = "begin a 1 10\nalive a 1 11\nbegin b 2 20\n";
    assert!(history(&case, killed).check_exclusive().is_ok());
    let alive = format!("{killed}alive a 1 21\n");
    assert!(history(&case, &alive).check_exclusive().is_err());
}

#[test]
fn a_token_that_does_not_grow_is_found() {
    let case = Case::new("history");
    let history = history(&case, "begin a 2 10\nend a 2 20\nbegin b 2 30\nend b 2 40\n");
    let wrong = history.check_exclusive().unwrap_err();
    assert!(wrong.starts_with("token"), "{wrong}");
}

#[test]
fn a_broken_line_is_found() {
    let case = Case::new("history");
    assert!(history(&case, "end a 2 10\n").sections().is_err());
    assert!(history(&case, "begin a 2\n").sections().is_err());
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
    assert!(sections[0].last - sections[0].begin >= 10_000_000);
}
