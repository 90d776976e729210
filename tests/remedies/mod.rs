//! Messages that name a remedy: each is provoked, what it says is done, and works. Here are the ones that no other test
//! tries.

mod command_line;
mod configuration;
mod limits;
mod queues;
mod security;

use crate::support::{Case, Zklock};
use std::process::Command;

/// In the words of a call, stands for the lock path of the case.
const PATH: &str = "PATH";

/// zklock with these words, at the servers of the case.
fn call(case: &Case, words: &[&str]) -> Zklock {
    case.zklock().args(words.iter().map(|word| word.replace(PATH, case.path())))
}

/// What a message has between these two words.
#[track_caller]
fn between<'a>(message: &'a str, before: &str, after: &str) -> &'a str {
    let found = message.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    found.unwrap_or_else(|| panic!("{before:?} and {after:?} in {message}")).0
}

/// Runs a command line of a message in a shell in which `zklock` is the zklock of the case, and returns its exit code.
fn in_a_shell(case: &Case, line: &str) -> i32 {
    let zklock = format!("zklock() {{ '{}' \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_zklock"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &zklock]).env("ZKLOCK_ZOOKEEPER", case.hosts()).env("ZKLOCK_TEST_RUN", case.marker());
    shell.current_dir(case.dir()).status().expect("a shell").code().expect("an exit code")
}
