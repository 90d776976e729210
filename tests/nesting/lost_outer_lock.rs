//! Losing an outer lock stops everything inside.

use super::{inner, outer, shell, start, words};
use crate::support::{Case, DEADLINE, Running, wait_until};

/// The innermost command appends to a file as long as it lives.
fn alive_script(case: &Case) -> String {
    let file = case.dir().join("alive");
    format!("echo inside; while :; do echo x >> {}; sleep 0.01; done", file.display())
}

/// Asserts that no further sign of life is written; `running` has been waited for.
#[track_caller]
fn assert_stopped(case: &Case) {
    // There is no file yet if it was stopped before its first sign of life.
    let size = || std::fs::metadata(case.dir().join("alive")).map_or(0, |file| file.len());
    let mut before = size();
    // All processes of the case must be gone, so none can write any more.
    wait_until("the processes to go", DEADLINE, || crate::support::processes_of(case.marker()).is_empty());
    before = before.max(size());
    assert_eq!(size(), before);
}

fn delete_outer_node(case: &Case) {
    case.observer().delete(&format!("{}/{}", case.path(), case.contenders()[0]));
}

fn begin(case: &Case, within: Vec<String>) -> Running {
    start(outer(case, &[], &[within, shell(&alive_script(case))]))
}

#[test]
fn an_inner_command_on_the_same_path_is_stopped_with_123() {
    let case = Case::new("lost-same");
    let running = begin(&case, inner(&case, &[]));
    delete_outer_node(&case);
    running.wait(DEADLINE).assert_code(123).assert_stderr("its node was deleted by another client");
    assert_stopped(&case);
}

#[test]
fn an_inner_command_on_another_path_is_stopped_and_its_lock_released() {
    let case = Case::new("lost-other");
    let b = format!("{}-b", case.path());
    let running = begin(&case, words(case.hosts(), &["--session-timeout", "60"], &[&b]));
    delete_outer_node(&case);
    running.wait(DEADLINE).assert_code(123);
    assert_stopped(&case);
    assert_eq!(case.observer().children(&b).len(), 0);
}

#[test]
fn an_inner_zklock_that_still_waits_gives_up_when_the_outer_lock_is_lost() {
    let case = Case::new("lost-waiting");
    let b = format!("{}-b", case.path());
    let holder = start(case.zklock().args([&b, "--", "sh", "-c", super::HOLD]));
    let within = words(case.hosts(), &["-v"], &[&b]);
    let running = outer(&case, &[], &[within, shell("echo must not run")]).spawn();
    running.wait_for_line(": position ", DEADLINE);
    delete_outer_node(&case);
    let output = running.wait(DEADLINE);
    output.assert_code(123);
    assert_eq!(output.stdout, "");
    assert_eq!(case.observer().children(&b).len(), 1, "only the holder's");
    super::end(holder);
}

#[test]
fn an_inner_command_with_a_held_and_a_new_lock_is_stopped_when_either_is_lost() {
    let case = Case::new("lost-partly");
    let b = format!("{}-b", case.path());
    let both = || words(case.hosts(), &[], &[case.path(), &b]);
    let running = begin(&case, both());
    delete_outer_node(&case);
    running.wait(DEADLINE).assert_code(123);
    let running = begin(&case, both());
    case.observer().delete(&format!("{b}/{}", case.observer().children(&b)[0]));
    running.wait(DEADLINE).assert_code(123);
    assert_stopped(&case);
}
