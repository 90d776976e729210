//! A lock that another contender holds, and options that limit the wait for it.

use crate::support::{Case, DEADLINE, end, holder, host};
use std::time::Duration;

/// A held lock is busy with each of these options, after this many seconds at the earliest, and no node is left.
#[track_caller]
fn is_busy(name: &str, all: &[&[&str]], least: u64) {
    let case = Case::new(name);
    let holder = case.holder();
    let pid = holder.pid().to_string();
    for options in all {
        let output = case.lock(options, ["echo", "ran"]).run();
        output.assert_code(124).assert_stderr(case.path()).assert_stderr("busy").assert_stderr(&pid);
        assert_eq!(output.stdout, "");
        let bounds = Duration::from_secs(least)..Duration::from_secs(least + 20);
        assert!(bounds.contains(&output.elapsed), "{options:?} took {:?}", output.elapsed);
        assert_eq!(case.contenders().len(), 1, "the holder alone");
    }
    end(holder);
}

#[test]
fn busy_is_124_at_once_and_after_a_wait() {
    is_busy("busy", &[&["-n"], &["--nb"], &["--nonblocking"], &["-w", "0"], &["-n", "-w", "60"]], 0);
    is_busy("busy-w", &[&["-w", "7"]], 7);
}

#[test]
fn busy_is_124_after_a_wait_by_the_other_name() {
    is_busy("busy-wait", &[&["--wait", "8"]], 8);
}

/// A waiter names who is just ahead, which may be a waiter itself, and `-n` the holder; both say since when one holds.
#[test]
fn a_busy_lock_names_who_is_ahead_and_since_when_it_holds() {
    let case = Case::new("busy-holder");
    let first = holder(&case, &["-s", "--label", "first"]);
    case.wait_for_held_since(1);
    let held = format!("{}:{} (first)", host(), first.pid());
    case.lock(&["-n"], ["true"]).run().assert_code(124).assert_stderr(&format!("busy: held by {held} for "));
    let late = case.lock(&["-w", "4"], ["true"]).run();
    late.assert_code(124).assert_stderr("busy: gave up after ");
    late.assert_stderr(&format!(" s: position 2, behind {held}, which has held it for "));
    let writer = case.lock(&["--label", "writer"], ["true"]).spawn();
    case.wait_for_contenders(2);
    let late = case.lock(&["-w", "4"], ["true"]).run();
    let ahead = format!("position 3, behind {}:{} (writer)\n", host(), writer.pid());
    assert!(late.assert_code(124).stderr.ends_with(&ahead), "{late}");
    end(first);
    writer.wait(DEADLINE).assert_code(0);
}

#[test]
fn the_exit_code_for_a_busy_lock_can_be_chosen() {
    let case = Case::new("busy-code");
    let holder = case.holder();
    let output = case.lock(&["-n", "-E", "7"], ["echo", "must not run"]).run();
    output.assert_code(7).assert_stderr("busy: held by");
    assert_eq!(output.stdout, "");
    end(holder);
}

#[test]
fn the_conflict_code_is_chosen_and_stands_for_nothing_else() {
    let case = Case::new("conflict");
    let holder = case.holder();
    for (options, code) in [(&["-n", "-E", "0"][..], 0), (&["-w", "5", "--conflict-exit-code", "255"], 255)] {
        case.lock(options, ["true"]).run().assert_code(code).assert_stderr("busy");
    }
    end(holder);
    case.lock(&["-n", "-E", "0"], ["sh", "-c", "exit 3"]).run().assert_code(3);
    case.lock(&["-n", "-E", "0"], ["no-such-program"]).run().assert_code(127);
}

#[test]
fn a_conflict_code_that_is_none_is_refused() {
    let case = Case::new("conflict-range");
    for code in ["256", "600", "-1", "x", ""] {
        let output = case.lock(&["-n", "-E", code], ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(code);
        assert_eq!(output.stdout, "");
        case.lock(&["-n", &format!("-E{code}")], ["true"]).run().assert_code(125);
    }
}

#[test]
fn quiet_keeps_silent_about_a_busy_lock_only() {
    let case = Case::new("quiet");
    let holder = case.holder();
    for options in [&["-q", "-n"][..], &["-q", "-w", "5"]] {
        let output = case.lock(options, ["true"]).run();
        assert_eq!(output.assert_code(124).stderr, "");
    }
    case.lock(&["-q", "-n", "--signal", "x"], ["true"]).run().assert_code(125).assert_stderr("--signal");
    end(holder);
}
