//! zklock inside a command of zklock.

mod descent;
mod elsewhere;
mod faults;
mod lost;
mod partly;
mod same_path;
mod stale;

use crate::support::{Case, Running, SOON, Zklock, end};

/// The words of one zklock with these options and paths, for another one to run.
fn words(hosts: &str, options: &[&str], paths: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_zklock");
    [&[program, "-z", hosts], options, paths, &["--"]].concat().into_iter().map(str::to_owned).collect()
}

/// The same, on the case's own path and servers.
fn inner(case: &Case, options: &[&str]) -> Vec<String> {
    words(case.hosts(), options, &[case.path()])
}

fn shell(string: &str) -> Vec<String> {
    ["sh", "-c", string].map(str::to_owned).to_vec()
}

/// Words that run the words behind them, as a script in between would.
fn through_a_shell() -> Vec<String> {
    ["bash", "-c", "\"$@\"; exit $?", "bash"].map(str::to_owned).to_vec()
}

/// One zklock around whatever these parts say.
fn outer(case: &Case, options: &[&str], parts: &[Vec<String>]) -> Zklock {
    case.lock(options, parts.concat())
}

const HOLD: &str = "echo inside; exec sleep 60";

/// Begins it, and waits until its innermost command runs.
#[track_caller]
fn start(zklock: Zklock) -> Running {
    let running = zklock.spawn();
    running.wait_for_stdout("inside", SOON);
    running
}

/// A value among the variables that a command printed with `env`.
fn value<'a>(printed: &'a str, name: &str) -> &'a str {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {name} in:\n{printed}"))
}
