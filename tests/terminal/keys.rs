//! Ctrl-C, Ctrl-\ and Ctrl-Z.

use super::{
    CTRL_BACKSLASH, CTRL_C, CTRL_Z, assert_foreground, enter, enter_behind_a_holder, fg, printer, sleeps,
    stop_asleep,
};
use crate::support::{Case, SOON, end, wait_until};
use nix::sys::signal::Signal;

#[test]
fn ctrl_c_reaches_the_command_once() {
    let case = Case::new("ctrl-c-once");
    let mut shell = case.shell();
    enter(&mut shell, &case, &printer(), "ready");
    for _ in 0..2 {
        shell.terminal().send(CTRL_C);
        shell.terminal().expect("got INT", SOON);
    }
    shell.terminal().send(CTRL_BACKSLASH);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 4);
    let screen = shell.terminal().text();
    assert_eq!(screen.matches("got INT").count(), 2, "{screen}");
    assert_eq!(screen.matches("got QUIT").count(), 1, "{screen}");
    assert_foreground(&mut shell);
}

#[test]
fn the_shell_sees_what_the_command_died_of() {
    let case = Case::new("ctrl-c-code");
    let mut shell = case.shell();
    for (key, signal) in [(CTRL_C, Signal::SIGINT), (CTRL_BACKSLASH, Signal::SIGQUIT)] {
        enter(&mut shell, &case, "sh -c 'echo up; exec sleep 60'", "up\r\n");
        shell.terminal().send(key);
        shell.prompt(SOON);
        assert_eq!(shell.code(SOON), 128 + signal as i32);
    }
    assert_foreground(&mut shell);
}

#[test]
fn ctrl_c_ends_a_waiter() {
    let case = Case::new("ctrl-c-waiting");
    let mut shell = case.shell();
    let holder = enter_behind_a_holder(&mut shell, &case, "echo ran");
    shell.terminal().send(CTRL_C);
    assert!(!shell.prompt(SOON).contains("ran"));
    assert_eq!(shell.code(SOON), 130);
    case.wait_for_contenders(1);
    end(holder);
}

#[test]
fn ctrl_z_stops_the_job_and_fg_and_bg_continue_it() {
    let case = Case::new("ctrl-z");
    let mut shell = case.shell();
    enter(&mut shell, &case, &printer(), "ready");
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("the lock is lost if it isn't continued within", SOON);
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 128 + Signal::SIGTSTP as i32);
    assert!(shell.run("jobs", SOON).contains("Stopped"));
    assert_foreground(&mut shell);
    assert_eq!(case.contenders().len(), 1, "the lock is kept for now");

    fg(&mut shell);
    shell.terminal().expect("got CONT", SOON);
    // The keys are the command's again.
    shell.terminal().send(CTRL_C);
    shell.terminal().expect("got INT", SOON);
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);

    shell.enter("bg", SOON);
    shell.terminal().expect("got CONT", SOON);
    assert!(shell.run("jobs", SOON).contains("Running"));
    shell.terminal().send(CTRL_C);
    shell.prompt(SOON);
    fg(&mut shell);
    shell.terminal().send(CTRL_BACKSLASH);
    shell.terminal().expect("got QUIT", SOON);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 4);
    let screen = shell.terminal().text();
    assert_eq!(screen.matches("got INT").count(), 1, "{screen}");
    assert_foreground(&mut shell);
}

#[test]
fn a_job_that_stays_stopped_for_too_long_has_lost_the_lock() {
    let case = Case::new("ctrl-z-too-long");
    let mut shell = case.shell();
    let options = "--session-timeout 4";
    let command = format!("$zklock {options} {} sh -c 'echo up; sleep 61; :'", case.path());
    shell.enter(&command, SOON);
    shell.terminal().expect("up\r\n", SOON);
    stop_asleep(&mut shell, &case);
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);
    wait_until("the guard to end the job", SOON, || !sleeps(&case));
    fg(&mut shell);
    shell.terminal().expect("the lock was lost", SOON);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 123);
    assert_foreground(&mut shell);
}

#[test]
fn ctrl_z_stops_a_waiter_and_fg_lets_it_go_on() {
    let case = Case::new("ctrl-z-waiting");
    let mut shell = case.shell();
    let holder = enter_behind_a_holder(&mut shell, &case, "echo ran");
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);
    end(holder);
    shell.enter("fg", SOON);
    shell.terminal().expect("ran\r\n", SOON);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 0);
}

/// Nobody could continue it: there is no shell. The kernel would not stop the command alone either.
#[test]
fn ctrl_z_without_a_shell_freezes_nothing() {
    let case = Case::new("ctrl-z-leader");
    let command = crate::support::signal_printer(&["QUIT=4"]);
    let mut terminal = case.lock(&[], command).in_terminal();
    terminal.expect("ready", SOON);
    terminal.send(CTRL_Z);
    terminal.expect("got CONT", SOON);
    terminal.send(CTRL_C);
    terminal.expect("got INT", SOON);
    terminal.send(CTRL_BACKSLASH);
    assert_eq!(terminal.wait(SOON).code(), Some(4));
}
