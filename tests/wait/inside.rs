//! A wait inside a command that holds the lock: it never waits for its own end.

use super::wait;
use crate::support::{Case, DEADLINE, Output, Zklock};
use std::time::Duration;

/// The words of `zklock wait` with these options for the case's lock.
fn words(case: &Case, options: &[&str]) -> Vec<String> {
    let words = [&["wait", "-v"], options, &[case.path()]].concat();
    let zklock = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts()];
    zklock.into_iter().chain(words).map(str::to_owned).collect()
}

#[track_caller]
fn inside(case: &Case, outer: &[&str], before: &[&str], options: &[&str]) -> Output {
    let before = before.iter().map(|&word| word.to_owned());
    let output = case.lock(outer, before.chain(words(case, options))).run();
    assert!(output.elapsed < Duration::from_secs(30), "{:?}", output.elapsed);
    output
}

/// As an inner zklock runs at once: the surrounding command keeps out all others.
#[test]
fn inside_a_lock_that_is_held_alone_it_ends_at_once() {
    let case = Case::new("wait-inside");
    for outer in [&[][..], &["--slots", "1"], &["-x"]] {
        for options in [&[][..], &["-n"]] {
            inside(&case, outer, &[], options)
                .assert_code(0)
                .assert_stderr("already held by the surrounding command");
        }
    }
    // Also if others queue behind it, which can't run before its end.
    let go = case.dir().join("go");
    let waits = format!("echo inside; until [ -e {} ]; do sleep 0.01; done; exec \"$@\"", go.display());
    let script = ["sh", "-c", &waits, "sh"].map(str::to_owned);
    let outer = case.lock(&[], script.into_iter().chain(words(&case, &[]))).spawn();
    outer.wait_for_stdout("inside", DEADLINE);
    let behind = case.lock(&[], ["true"]).spawn();
    case.wait_for_contenders(2);
    std::fs::write(go, "").unwrap();
    outer.wait(DEADLINE).assert_code(0);
    behind.wait(DEADLINE).assert_code(0);
}

#[test]
fn inside_a_lock_that_is_shared_it_is_refused() {
    let case = Case::new("wait-inside-shared");
    for (outer, mode) in [(&["-s"][..], "shared"), (&["--slots", "2"], "2 slots")] {
        for options in [&[][..], &["-n", "-E", "0"], &["-w", "60", "-E", "0"]] {
            let output = inside(&case, outer, &[], options);
            output.assert_code(125).assert_stderr(&format!("the surrounding command holds it as {mode}"));
            output.assert_stderr("would wait for itself forever: wait before");
        }
    }
}

/// As behind sudo.
#[test]
fn inside_without_the_variable_it_is_refused_with_the_remedy() {
    let case = Case::new("wait-inside-unset");
    for outer in [&[][..], &["-s"], &["--slots", "2"]] {
        for options in [&[][..], &["-n", "-E", "0"]] {
            let output = inside(&case, outer, &["env", "-u", "ZKLOCK_HELD"], options);
            output
                .assert_code(125)
                .assert_stderr("this would wait for itself: PID ")
                .assert_stderr("ZKLOCK_HELD");
        }
    }
}

#[test]
fn inside_another_lock_or_with_a_stale_variable_it_waits_as_usual() {
    let case = Case::new("wait-inside-other");
    let other = Case::new("wait-inside-another");
    let node = case.add_contender("holder");
    let output = other.lock(&[], words(&case, &["-n"])).run();
    output.assert_code(124).assert_stderr("busy: held by holder");
    // The variable of a run that has ended, as a daemon inherits it.
    let print = ["sh", "-c", "printf %s \"$ZKLOCK_HELD\""];
    case.observer().delete(&node);
    let stale = case.lock(&[], print).run().stdout;
    let node = case.add_contender("holder");
    let waits: Zklock = wait(&case, &["-n", case.path()]).env("ZKLOCK_HELD", stale);
    waits.run().assert_code(124).assert_stderr("busy: held by holder");
    case.observer().delete(&node);
}
