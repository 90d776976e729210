//! `zklock forget` deletes the record of the last success.

use super::{HOUR, assert_skipped, record, run};
use crate::support::{Case, Output, host};
use zookeeper::{CreateMode, Permission};

fn forget(case: &Case, options: &[&str]) -> Output {
    case.zklock().arg("forget").args(options).arg(case.path()).run()
}

#[test]
fn the_command_runs_again_after_forget() {
    let case = Case::new("forget");
    run(&case, HOUR, "true").assert_code(0);
    assert_skipped(&run(&case, HOUR, "true"), 124);
    let output = forget(&case, &[]);
    let message = output.assert_code(0).stdout.clone();
    let host = host();
    assert!(message.starts_with(&format!("{}: forgot the last success, 20", case.path())), "{message}");
    assert!(message.contains(&format!(" on {host}:")), "{message}");
    assert!(!case.observer().exists(&record(&case)));
    assert_eq!(run(&case, HOUR, "echo ran").assert_code(0).stdout, "ran\n");
}

#[test]
fn without_a_record_forget_says_so_and_succeeds() {
    let case = Case::new("forget-none");
    let output = forget(&case, &[]);
    assert_eq!(output.assert_code(0).stdout, format!("{}: no success is recorded\n", case.path()));
    assert_eq!(forget(&case, &["-q"]).assert_code(0).stdout, "");
}

#[test]
fn without_permission_forget_names_the_node_and_the_permission() {
    let case = Case::new("forget-acl");
    let above = case.guarded(Permission::READ | Permission::CREATE);
    let record = format!("{above}/.job.zklock-last");
    case.observer().create(&record, "", CreateMode::Persistent);
    let output = case.zklock().args(["forget", &format!("{above}/job")]).run();
    output.assert_code(125).assert_stderr(&record).assert_stderr(&format!("DELETE on {above};"));
    assert!(case.observer().exists(&record));
}
