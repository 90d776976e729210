//! A lock that another contender holds, and options that limit the wait for it.

use crate::support::{Case, DEADLINE, end, holder, host, try_rows};
use std::time::Duration;

/// The options, the exit code, after how many seconds at the earliest, and what zklock says.
type Row = (&'static [&'static str], i32, u64, &'static str);

const ROWS: &[Row] = &[
    (&["-n"], 124, 0, "busy: held by "),
    (&["--nb"], 124, 0, "busy: held by "),
    (&["--nonblocking"], 124, 0, "busy: held by "),
    (&["-w", "0"], 124, 0, "busy: held by "),
    (&["-n", "-w", "60"], 124, 0, "busy: held by "),
    (&["-w", "7"], 124, 7, "busy: gave up after "),
    (&["-w", "5000ms"], 124, 5, "busy: gave up after "),
    (&["--wait", "8"], 124, 8, "busy: gave up after "),
    (&["-s", "-n"], 124, 0, "busy: held by "),
    (&["-n", "-E", "0"], 0, 0, "busy: held by "),
    (&["-n", "-E", "1"], 1, 0, "busy: held by "),
    (&["-w", "5", "--conflict-exit-code", "255"], 255, 5, "busy: gave up after "),
    (&["-q", "-n"], 124, 0, ""),
    (&["-q", "-w", "5"], 124, 5, ""),
];

#[test]
fn a_held_lock_is_busy_at_once_or_after_a_wait() {
    try_rows(ROWS.iter().copied(), is_busy);
}

fn is_busy((options, code, least, says): Row) {
    let case = Case::new("busy");
    let holder = case.holder();
    let output = case.lock(options, ["echo", "ran"]).run();
    assert_eq!(output.assert_code(code).stdout, "", "{options:?}");
    let bounds = Duration::from_secs(least)..Duration::from_secs(least + 20);
    assert!(bounds.contains(&output.elapsed), "{options:?} took {:?}", output.elapsed);
    let is_told =
        [says, case.path(), &holder.pid().to_string()].iter().all(|text| output.stderr.contains(*text));
    assert!(if says.is_empty() { output.stderr.is_empty() } else { is_told }, "{options:?}: {output}");
    assert_eq!(case.contenders().len(), 1, "the holder alone");
    end(holder);
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
fn the_conflict_code_stands_for_nothing_else() {
    let case = Case::new("conflict");
    case.lock(&["-n", "-E", "0"], ["sh", "-c", "exit 3"]).run().assert_code(3);
}
