//! A stopped command is ended when the lock is lost or revoked.

use super::{SHORT, enter, script, stop};
use crate::support::{Case, DEADLINE, History, Proxy, Shell, Zklock, shared, wait_until};

/// A job that records that it got TERM, and then exits.
fn job(case: &Case, history: &History) -> String {
    let told = case.dir().join("told");
    let text = format!("trap 'echo TERM >>{}; exit 5' TERM; {}", told.display(), history.steady_job("first"));
    script(case, "job.sh", &text)
}

fn told(case: &Case) -> String {
    std::fs::read_to_string(case.dir().join("told")).unwrap_or_default()
}

/// Starts a holder in a shell, and stops it.
#[track_caller]
fn stopped(case: &Case, history: &History, options: &str) -> Shell {
    let mut shell = case.shell();
    let line = format!("$zklock {options} {} bash {}", case.path(), job(case, history));
    enter(&mut shell, &line, history, 1);
    stop(&mut shell);
    shell
}

fn delete(case: &Case) {
    case.observer().delete(&format!("{}/{}", case.path(), case.contenders()[0]));
}

/// Checks that the job reacted to TERM before it ended, and that the shell learns the outcome at `fg`.
#[track_caller]
fn assert_ended(case: &Case, shell: &mut Shell, why: &str) {
    wait_until("the job's own end", DEADLINE, || told(case) == "TERM\n");
    case.wait_for_contenders(0);
    shell.enter("fg", DEADLINE);
    let said = shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 123);
    let screen = shell.terminal().text();
    assert!(screen.contains(why), "{said}: {screen}");
}

#[test]
fn revoke_ends_it() {
    let case = Case::new("stopped-revoked");
    let history = case.history();
    let mut shell = stopped(&case, &history, "--kill-after 30");
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    assert_ended(&case, &mut shell, "the lock is revoked by ");
}

#[test]
fn a_deleted_node_ends_it() {
    let case = Case::new("stopped-deleted");
    let history = case.history();
    let mut shell = stopped(&case, &history, "--kill-after 30");
    delete(&case);
    assert_ended(&case, &mut shell, "its node was deleted by another client");
}

#[test]
fn what_is_deaf_to_term_is_killed() {
    let case = Case::new("stopped-deaf");
    let history = case.history();
    let text = format!("trap '' TERM; {}", history.steady_job("first"));
    let job = script(&case, "deaf.sh", &text);
    let mut shell = case.shell();
    let line = format!("$zklock --kill-after 0.5 {} bash {job}", case.path());
    enter(&mut shell, &line, &history, 1);
    stop(&mut shell);
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    case.wait_for_contenders(0);
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 123);
}

/// The connection is lost. The job is gone before another contender has the lock, although nothing continues it with
/// `fg`.
#[test]
fn a_lost_connection_ends_it_before_another_runs() {
    let proxy = Proxy::to(shared());
    let case = Case::new("stopped-lost").through(&proxy.connect_string());
    let history = case.history();
    let mut shell = stopped(&case, &history, SHORT);
    let next = Zklock::at(&shared().connect_string(), case.marker()).arg(case.path());
    let next = next.args(["--", "sh", "-c", &history.job("next", 0.3)]).spawn();
    case.wait_for_contenders(2);
    proxy.blackhole();
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
    proxy.pass();
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 123);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}
