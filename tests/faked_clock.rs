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
    for time in ["-3d", "@2020-01-01 00:00:00", "2020-01-01 00:00:00", "+0 x0.5", "+0 x10", "+0"] {
        let Some(zklock) = under_faketime(&case, time, "") else { return };
        let output = zklock.args([case.path(), "--", "echo", "ran"]).run();
        output.assert_code(125).assert_stdout("").assert_stderr(case.path());
        output.assert_stderr("the time is faked").assert_stderr("zklock PATH -- faketime DATE COMMAND");
        assert!(!case.observer().exists(case.path()), "{time}");
    }
    // The time of day decides nothing.
    let Some(zklock) = under_faketime(&case, "-3d", "FAKETIME_DONT_FAKE_MONOTONIC=1") else { return };
    zklock.args([case.path(), "true"]).run().assert_code(0);
    let Some(zklock) = under_faketime(&case, "-3d", "") else { return };
    zklock.arg("check").run().assert_code(125).assert_stderr("the time is faked");
}

/// libfaketime may begin when the command runs. The command ends, and the reason is told.
#[test]
fn a_clock_that_is_faked_later_is_named() {
    let case = Case::new("faketime-later");
    for time in ["-3d", "+3d", "2020-01-01 00:00:00"] {
        let Some(zklock) = under_faketime(&case, time, "FAKETIME_START_AFTER_SECONDS=2") else { return };
        let output = zklock.args(["--session-timeout", "6", case.path(), "--", "sleep", "300"]).run();
        assert!(matches!(output.code, Some(123 | 125)), "{output}");
        output.assert_stderr("faketime");
        case.wait_for_contenders(0);
    }
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

/// A container may have one, and the kernel's clocks agree with the C library's there.
#[test]
fn a_time_namespace_is_no_faked_clock() {
    let case = Case::new("time-namespace");
    let unshare = "unshare --time --boottime 100000 --monotonic 5000";
    if !Command::new("sh")
        .args(["-c", &format!("{unshare} true")])
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("no time namespace can be made here");
    }
    let zklock = case.zklock().prelude(&format!("exec {unshare} \"$0\" \"$@\""));
    let output = zklock.args([case.path(), "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}
