//! A stopped command is ended when the lock is lost or revoked.

use super::{SHORT, enter, nodes, script, stop};
use crate::support::{
    Case, DEADLINE, History, Proxy, Shell, Zklock, is_stopped, pass_time, processes_of, shared, wait_for,
    wait_until,
};
use nix::unistd::Pid;
use std::time::Duration;

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

/// The process id of the job, which is neither the shell nor zklock.
fn job_pid(case: &Case) -> Pid {
    wait_for("the job", DEADLINE, || {
        let all = processes_of(case.marker());
        all.into_iter().find(|(_, name)| name.starts_with("bash /")).map(|(pid, _)| pid)
    })
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

/// The user has chosen that the command may continue, and continues it with `fg`.
#[test]
fn with_on_lost_continue_it_stays_stopped_and_continues_at_fg() {
    let case = Case::new("stopped-continue");
    let history = case.history();
    let mut shell = stopped(&case, &history, "--on-lost continue");
    let (pid, before) = (job_pid(&case), history.sections().unwrap());
    delete(&case);
    let next = case.lock(&[], ["bash", "-c", "exit 0"]).run();
    next.assert_code(0);
    pass_time(Duration::from_secs(1));
    assert!(is_stopped(pid), "nobody has continued it");
    assert_eq!(history.sections().unwrap(), before);
    shell.fg();
    wait_until("it to go on", DEADLINE, || history.sections().unwrap()[0].last > before[0].last);
    history.finish("first");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
    assert_eq!(told(&case), "");
    assert!(nodes(&case, &[case.path().to_owned()]).is_empty());
}
