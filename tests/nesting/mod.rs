//! zklock inside a command of zklock.

mod background;
mod ensembles_and_chroots;
mod faults;
mod lost_outer_lock;
mod same_path;
mod several_paths;
mod stale_variables;

use crate::support::{Case, DEADLINE, Running, Zklock, end};

/// The command line of a zklock with these options and paths, for another zklock to run.
fn words(hosts: &str, options: &[&str], paths: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_zklock");
    [&[program, "-z", hosts], options, paths, &["--"]].concat().into_iter().map(str::to_owned).collect()
}

/// The same with the case's own path and servers.
fn inner(case: &Case, options: &[&str]) -> Vec<String> {
    words(case.hosts(), options, &[case.path()])
}

fn shell(string: &str) -> Vec<String> {
    ["sh", "-c", string].map(str::to_owned).to_vec()
}

/// A command line that runs the words after it, as a script in between would.
fn through_a_shell() -> Vec<String> {
    ["bash", "-c", "\"$@\"; exit $?", "bash"].map(str::to_owned).to_vec()
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

/// The value of a variable in the output of `env`.
fn value<'a>(printed: &'a str, name: &str) -> &'a str {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {name} in:\n{printed}"))
}
