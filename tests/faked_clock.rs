//! A library that is loaded into zklock may fake its clocks, as faketime(1) does.

use crate::support::{Case, Zklock, skip};
use std::process::Command;

/// Runs zklock under faketime with this time. `None` if faketime isn't installed.
fn under_faketime(case: &Case, time: &str, variables: &str) -> Option<Zklock> {
    if Command::new("faketime").arg("--version").output().is_err() {
        skip("faketime is not installed");
        return None;
    }
    let prelude = format!("{variables} exec faketime -f '{time}' \"$0\" \"$@\"");
    Some(case.zklock().prelude(&prelude))
}

#[test]
fn zklock_takes_no_lock_on_a_faked_clock_and_says_what_to_write() {
    let case = Case::new("faketime");
    // libfaketime may also begin later.
    for variables in ["", "FAKETIME_START_AFTER_SECONDS=2"] {
        let Some(zklock) = under_faketime(&case, "-3d", variables) else { return };
        let output = zklock.args([case.path(), "--", "echo", "ran"]).run();
        output.assert_code(125).assert_stdout("").assert_stderr(case.path());
        output.assert_stderr("zklock PATH -- faketime DATE COMMAND");
        assert!(!case.observer().exists(case.path()), "{variables}");
    }
    let Some(zklock) = under_faketime(&case, "-3d", "") else { return };
    zklock.arg("check").run().assert_code(125).assert_stderr("LD_PRELOAD names libfaketime");
}

#[test]
fn the_command_may_have_a_faked_clock() {
    let case = Case::new("faketime-command");
    if under_faketime(&case, "-3d", "").is_none() {
        return;
    }
    let output = case.lock(&[], ["faketime", "2020-01-01 00:00:00", "date", "+%Y"]).run();
    assert_eq!(output.assert_code(0).stdout, "2020\n");
}
