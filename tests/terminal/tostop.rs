//! `stty tostop`: the terminal stops a background process that writes to it. zklock's messages never stop zklock.

use crate::support::{Case, DEADLINE, Shell, worker_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;

/// Long before the end of the session, which is 30 s away.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A shell with a zklock in the background, and that zklock.
#[track_caller]
fn in_background(case: &Case, words: &str) -> (Shell, Pid) {
    let mut shell = case.shell();
    shell.run("stty cols 250 tostop", DEADLINE);
    shell.run(&format!("$zklock {words} &"), DEADLINE);
    let pid = shell.run("echo $!", DEADLINE).trim().parse().expect("a pid");
    (shell, Pid::from_raw(pid))
}

/// Waits for the zklock in the background, and returns its exit code and what is on the screen.
#[track_caller]
fn end(mut shell: Shell, zklock: Pid) -> (i32, String) {
    // Not `wait` alone: a stopped job would end it too. `wait -f` of bash 5.2 never ends if the job has.
    shell.run(&format!("while kill -0 {zklock}; do sleep 0.05; done 2>/dev/null; wait {zklock}"), DEADLINE);
    let code = shell.code(DEADLINE);
    (code, shell.terminal().text())
}

#[test]
fn a_monitor_in_the_background_cleans_up_after_its_worker_and_reports_it() {
    let case = Case::new("tostop-killed");
    let (shell, zklock) = in_background(&case, &format!("{} sleep 60", case.path()));
    case.wait_for_contenders(1);
    kill(worker_of(zklock), Signal::SIGKILL).expect("a worker");
    case.observer().wait_for_contenders(case.path(), 0, AT_ONCE);
    let (code, screen) = end(shell, zklock);
    assert!(code == 123 || code == 125, "{code}");
    assert!(screen.contains("the worker process was killed by signal 9"), "{screen}");
    assert!(screen.contains("the lock node is gone"), "{screen}");
}

#[test]
fn a_lock_that_is_acquired_in_the_background_is_reported_and_released() {
    let case = Case::new("tostop-waiter");
    let holder = case.holder();
    let (shell, zklock) = in_background(&case, &format!("-v {} sh -c 'exit 4'", case.path()));
    case.wait_for_contenders(2);
    crate::support::end(holder);
    let (code, screen) = end(shell, zklock);
    assert_eq!(code, 4);
    assert!(screen.contains("released"), "{screen}");
}
