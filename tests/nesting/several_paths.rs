//! Nested zklocks with other paths, of which some are held already.

use super::{HOLD, end, inner, outer, shell, start, value, words};
use crate::support::{Case, DEADLINE};

fn beside(case: &Case) -> String {
    format!("{}-b", case.path())
}

#[test]
fn another_inner_path_is_queued_for_and_is_in_the_variables() {
    let case = Case::new("inside");
    let b = beside(&case);
    let parts = [words(case.hosts(), &[], &[&b]), shell("env; echo inside; exec sleep 60")];
    let running = start(outer(&case, &[], &parts));
    let printed = running.stdout().text();
    assert_eq!((case.contenders().len(), case.observer().children(&b).len()), (1, 1));
    let node = format!("{b}/{}", case.observer().children(&b)[0]);
    assert_eq!(value(&printed, "ZKLOCK_PATH"), b);
    assert_eq!(value(&printed, "ZKLOCK_NODE"), node);
    let token = case.observer().stat(&node).unwrap().czxid;
    assert_eq!(value(&printed, "ZKLOCK_FENCING_TOKEN"), token.to_string());
    let locks: serde_json::Value = serde_json::from_str(value(&printed, "ZKLOCK_LOCKS")).unwrap();
    assert_eq!(locks.as_array().unwrap().len(), 1, "its own: {locks}");
    end(running);
    assert_eq!(case.observer().children(&b).len(), 0);
}

#[test]
fn another_inner_path_can_be_busy_and_waited_for() {
    let case = Case::new("inside-busy");
    let b = beside(&case);
    let holder = case.zklock().args([&b, "--", "sh", "-c", HOLD]).spawn();
    holder.wait_for_stdout("inside", DEADLINE);
    let parts = |options: &[&str]| [words(case.hosts(), options, &[&b]), shell("echo ran")];
    outer(&case, &[], &parts(&["-n"])).run().assert_code(124);
    let waiter = outer(&case, &[], &parts(&["-v"])).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    end(holder);
    waiter.wait(DEADLINE).assert_code(0);
}

#[test]
fn the_outermost_of_three_nested_locks_is_known_to_be_held() {
    let case = Case::new("two-deep");
    let b = beside(&case);
    let parts = [words(case.hosts(), &[], &[&b]), inner(&case, &["-n"]), shell("env; exit 5")];
    let output = outer(&case, &[], &parts).run();
    output.assert_code(5);
    assert_eq!(value(&output.stdout, "ZKLOCK_PATH"), case.path());
}

#[test]
fn only_the_locks_that_are_not_held_yet_are_queued_for() {
    let case = Case::new("partly");
    let b = beside(&case);
    // On the command line the held lock is the second.
    let parts = [words(case.hosts(), &[], &[&b, case.path()]), shell("env; echo inside; exec sleep 60")];
    let running = start(outer(&case, &[], &parts));
    assert_eq!((case.contenders().len(), case.observer().children(&b).len()), (1, 1));
    let printed = running.stdout().text();
    assert_eq!(value(&printed, "ZKLOCK_PATH"), b);
    let locks: serde_json::Value = serde_json::from_str(value(&printed, "ZKLOCK_LOCKS")).unwrap();
    let paths: Vec<_> = locks.as_array().unwrap().iter().map(|lock| lock["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [&b, case.path()], "both, as they were given");
    end(running);
}

#[test]
fn several_locks_that_are_all_held_are_not_queued_for() {
    let case = Case::new("all-held");
    let b = beside(&case);
    let both = |paths: [&str; 2]| words(case.hosts(), &["-n"], &paths);
    let parts = [both([case.path(), &b]), both([&b, case.path()]), shell("echo ran; exit 4")];
    let output = outer(&case, &[], &parts).run();
    output.assert_code(4);
    assert_eq!(output.stdout, "ran\n");
}

/// The held lock is weaker than the wanted one, whatever the other locks are.
#[test]
fn a_lock_that_would_wait_for_itself_is_refused_before_any_is_acquired() {
    let case = Case::new("partly-weak");
    let b = beside(&case);
    let parts = [words(case.hosts(), &[], &[&b, case.path()]), shell("echo must not run")];
    let output = outer(&case, &["-s"], &parts).run();
    output.assert_code(125);
    output.assert_stderr(&format!("zklock: {}: the surrounding command holds a shared lock", case.path()));
    assert!(!case.observer().exists(&b));
}
