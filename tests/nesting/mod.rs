//! zklock inside a command of zklock.

mod background;
mod faults;
mod table;

use crate::support::{Case, DEADLINE, Running, Zklock};
use std::fs::write;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zklock");

/// The command line of a zklock with these options and paths, for another zklock to run.
fn words(hosts: &str, options: &[&str], paths: &[&str]) -> Vec<String> {
    [&[PROGRAM, "-z", hosts], options, paths, &["--"]].concat().into_iter().map(str::to_owned).collect()
}

/// The same with the case's own path and servers.
fn inner(case: &Case, options: &[&str]) -> Vec<String> {
    words(case.hosts(), options, &[case.path()])
}

fn shell(string: &str) -> Vec<String> {
    ["sh", "-c", string].map(str::to_owned).to_vec()
}

/// A zklock around the command line that these parts make up.
fn outer(case: &Case, options: &[&str], parts: &[Vec<String>]) -> Zklock {
    case.lock(options, parts.concat())
}

const HOLD: &str = "echo inside; exec sleep 60";

/// Starts it, and returns when its innermost command runs.
#[track_caller]
fn start(zklock: Zklock) -> Running {
    let running = zklock.spawn();
    running.wait_for_stdout("inside", DEADLINE);
    running
}

/// A line for the shell that waits until the test has let it [`go`] on.
fn until_go(case: &Case) -> String {
    format!("until [ -e {}/go ]; do sleep 0.01; done", case.dir().display())
}

fn go(case: &Case) {
    write(case.dir().join("go"), "").unwrap();
}
