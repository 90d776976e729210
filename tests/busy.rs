//! A lock that another contender holds, and options that limit the wait for it.

use crate::support::{Case, end};
use std::time::Duration;

#[test]
fn busy_is_124_at_once_and_after_a_wait() {
    let case = Case::new("busy");
    let holder = case.holder();
    let pid = holder.pid().to_string();
    for (options, least, most) in [
        (&["-n"][..], 0, 5_000),
        (&["--nb"], 0, 5_000),
        (&["--nonblocking"], 0, 5_000),
        (&["-w", "0"], 0, 5_000),
        (&["-w", "0.7"], 700, 8_000),
        (&["--wait", "1"], 1_000, 8_000),
        (&["-n", "-w", "60"], 0, 5_000),
    ] {
        let output = case.lock(options, ["echo", "ran"]).run();
        output.assert_code(124).assert_stderr(case.path()).assert_stderr("busy").assert_stderr(&pid);
        assert_eq!(output.stdout, "");
        let bounds = Duration::from_millis(least)..Duration::from_millis(most);
        assert!(bounds.contains(&output.elapsed), "{options:?} took {:?}", output.elapsed);
        assert_eq!(case.contenders().len(), 1, "the holder alone");
    }
    end(holder);
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
    for (options, code) in [(&["-n", "-E", "0"][..], 0), (&["-w", "0.7", "--conflict-exit-code", "255"], 255)]
    {
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
    for options in [&["-q", "-n"][..], &["-q", "-w", "0.7"]] {
        let output = case.lock(options, ["true"]).run();
        assert_eq!(output.assert_code(124).stderr, "");
    }
    case.lock(&["-q", "-n", "--signal", "x"], ["true"]).run().assert_code(125).assert_stderr("--signal");
    end(holder);
}
