//! A stopped command is ended when the lock is lost or revoked.

use super::{SHORT, enter, nodes, script, stop, wait_for_status};
use crate::support::{Case, DEADLINE, Proxy, Zklock, shared, try_rows, wait_until};

/// What a job does at TERM, after it has told the test.
const EXITS: &str = "echo TERM >>$0.told; exit 5";

/// A call of zklock, what the job does at TERM, how the lock is lost, and what the shell then sees. To add a row, add a line.
type Row = (&'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("$zklock --kill-after 30 $lock", EXITS, "revoke", "the lock is revoked by "),
    ("$zklock --kill-after 30 $lock", EXITS, "delete", "its node was deleted by another client"),
    ("$zklock --kill-after 0.5 $lock", "", "revoke", "the lock is revoked by "),
    ("$zklock $lock -- $zklock $lock-b", EXITS, "revoke", "the lock is revoked by "),
];

#[test]
fn a_stopped_command_gets_term_or_kill_and_fg_returns_123() {
    try_rows(ROWS.iter().copied(), try_row);
}

fn try_row((words, at_term, lost, says): Row) {
    let case = Case::new("stopped-ended");
    let history = case.history();
    let job = script(&case, "job.sh", &format!("trap '{at_term}' TERM; {}", history.steady_job("first")));
    let mut shell = case.shell();
    enter(&mut shell, &format!("{words} -- bash {job}"), &history, 1);
    stop(&mut shell);
    if lost == "revoke" {
        case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    } else {
        case.delete_node(0);
    }
    let told = || std::fs::read_to_string(format!("{job}.told")).unwrap_or_default();
    wait_until("the job's own end", DEADLINE, || at_term.is_empty() || told() == "TERM\n");
    let paths = [case.path().to_owned(), format!("{}-b", case.path())];
    wait_until("the locks to be free", DEADLINE, || nodes(&case, &paths).is_empty());
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 123);
    assert!(shell.terminal().text().contains(says), "{}", shell.terminal().text());
}

/// The connection is lost. The job is gone before another contender has the lock, although nothing continues it with
/// `fg`.
#[test]
fn a_lost_connection_ends_it_before_another_runs() {
    let proxy = Proxy::to(shared());
    let case = Case::new("stopped-lost").through(&proxy.connect_string());
    let history = case.history();
    let job = script(&case, "job.sh", &history.steady_job("first"));
    let mut shell = case.shell();
    enter(&mut shell, &format!("$zklock {SHORT} $lock bash {job}"), &history, 1);
    stop(&mut shell);
    let next = Zklock::at(&shared().connect_string(), case.marker()).arg(case.path());
    let next = next.args(["--", "sh", "-c", &history.job("next", 0.3)]).spawn();
    case.wait_for_contenders(2);
    wait_for_status(&case, case.path(), 0, "held", true);
    wait_for_status(&case, case.path(), 1, "waiting", false);
    proxy.blackhole();
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
    proxy.pass();
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 123);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}
