//! Tests that can't run on this machine.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

/// Reports by name that this test is skipped. It writes to stderr directly, because the test harness hides the output
/// of a test that passes. `scripts/test` collects the names in a file.
pub fn skip(why: &str) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    std::io::stderr().write_all(format!("skipped: {name}: {why}\n").as_bytes()).ok();
    if let Some(path) = std::env::var_os("SKIPPED_TESTS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{name}: {why}\n").as_bytes())).ok();
    }
}

/// Whether strace is here. If it isn't, this test is skipped.
pub fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !found {
        skip("strace is not installed");
    }
    found
}
