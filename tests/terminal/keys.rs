//! Ctrl-C, Ctrl-\ and Ctrl-Z.

use super::{CTRL_BACKSLASH, CTRL_C, CTRL_Z, assert_foreground, enter, enter_behind_a_holder, printer};
use crate::support::{Case, DEADLINE, end};
use nix::sys::signal::Signal;

#[test]
fn ctrl_c_reaches_the_command_once() {
    let case = Case::new("ctrl-c-once");
    let mut shell = case.shell();
    enter(&mut shell, &case, &printer(), "ready");
    for _ in 0..2 {
        shell.terminal().send(CTRL_C);
        shell.terminal().expect("got INT", DEADLINE);
    }
    shell.terminal().send(CTRL_BACKSLASH);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 4);
    let screen = shell.terminal().text();
    assert_eq!(screen.matches("got INT").count(), 2, "{screen}");
    assert_eq!(screen.matches("got QUIT").count(), 1, "{screen}");
    assert_foreground(&mut shell);
}

#[test]
fn the_shell_sees_the_signal_that_killed_the_command() {
    let case = Case::new("ctrl-c-code");
    let mut shell = case.shell();
    for (key, signal) in [(CTRL_C, Signal::SIGINT), (CTRL_BACKSLASH, Signal::SIGQUIT)] {
        enter(&mut shell, &case, "sh -c 'echo up; exec sleep 60'", "up\r\n");
        shell.terminal().send(key);
        shell.prompt(DEADLINE);
        assert_eq!(shell.code(DEADLINE), 128 + signal as i32);
    }
    assert_foreground(&mut shell);
}

#[test]
fn ctrl_c_ends_a_waiter() {
    let case = Case::new("ctrl-c-waiting");
    let mut shell = case.shell();
    let holder = enter_behind_a_holder(&mut shell, &case, "echo ran");
    shell.terminal().send(CTRL_C);
    assert!(!shell.prompt(DEADLINE).contains("ran"));
    assert_eq!(shell.code(DEADLINE), 130);
    case.wait_for_contenders(1);
    end(holder);
}

#[test]
fn ctrl_z_stops_the_job_and_fg_and_bg_continue_it() {
    let case = Case::new("ctrl-z");
    let mut shell = case.shell();
    enter(&mut shell, &case, &printer(), "ready");
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("the lock is kept; fg or bg continues it", DEADLINE);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 128 + Signal::SIGTSTP as i32);
    assert!(shell.run("jobs", DEADLINE).contains("Stopped"));
    assert_foreground(&mut shell);
    assert_eq!(case.contenders().len(), 1, "the lock is kept");

    shell.fg();
    shell.terminal().expect("got CONT", DEADLINE);
    // Keys reach the command again.
    shell.terminal().send(CTRL_C);
    shell.terminal().expect("got INT", DEADLINE);
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);

    shell.enter("bg", DEADLINE);
    shell.terminal().expect("got CONT", DEADLINE);
    let jobs = shell.run("jobs", DEADLINE);
    assert!(jobs.contains("Running"), "{jobs}");
    shell.terminal().send(CTRL_C);
    shell.prompt(DEADLINE);
    shell.fg();
    shell.terminal().send(CTRL_BACKSLASH);
    shell.terminal().expect("got QUIT", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 4);
    let screen = shell.terminal().text();
    assert_eq!(screen.matches("got INT").count(), 1, "{screen}");
    assert_foreground(&mut shell);
}

/// Without a shell no process could continue it. The kernel would not stop the command alone either.
#[test]
fn ctrl_z_without_a_shell_stops_nothing() {
    let case = Case::new("ctrl-z-leader");
    let program = "import signal, sys
names = {signal.SIGINT, signal.SIGQUIT}
signal.pthread_sigmask(signal.SIG_BLOCK, names)
print('ready', flush=True)
while True:
    got = signal.Signals(signal.sigwait(names))
    print('got', got.name[3:], flush=True)
    if got == signal.SIGQUIT:
        sys.exit(4)";
    let mut terminal = case.lock(&[], ["python3", "-c", program]).in_terminal();
    terminal.expect("ready", DEADLINE);
    terminal.send(CTRL_Z);
    terminal.send(CTRL_C);
    terminal.expect("got INT", DEADLINE);
    terminal.send(CTRL_BACKSLASH);
    assert_eq!(terminal.wait(DEADLINE).code(), Some(4));
}
