use crate::real::{
    Case, DEADLINE, MARKER, assert_no_processes, kill_all, new_marker, processes_of, spawn, wait_until,
};
use std::process::Command;
use std::time::Duration;

#[test]
fn finds_and_kills_what_inherited_the_marker() {
    let marker = new_marker();
    // The script starts a child in its own session and ends before the child does.
    let script = "setsid sleep 60 & exit 0";
    let mut parent = spawn::spawn(Command::new("sh").args(["-c", script]).env(MARKER, &marker));
    parent.wait().unwrap();
    wait_until("the sleep", DEADLINE, || {
        let found = processes_of(&marker);
        found.len() == 1 && found[0].1.contains("sleep 60")
    });
    kill_all(&marker);
    assert_no_processes(&marker, DEADLINE);
}

#[test]
#[should_panic(expected = "processes left behind")]
fn tells_of_what_is_left() {
    let marker = new_marker();
    let mut left = spawn::spawn(Command::new("sleep").arg("60").env(MARKER, &marker));
    let result = std::panic::catch_unwind(|| {
        assert_no_processes(&marker, Duration::from_millis(10));
    });
    left.kill().unwrap();
    left.wait().unwrap();
    std::panic::resume_unwind(result.unwrap_err());
}

#[test]
#[should_panic(expected = "left behind")]
fn a_case_looks_for_leftovers() {
    let case = Case::new("leftover");
    let path = case.path().to_owned();
    case.observer().mkdirs(&format!("{path}/_c_left-lock-0000000000"));
}
