//! Ctrl-C, Ctrl-\ and Ctrl-Z.

use super::{
    CTRL_BACKSLASH, CTRL_C, CTRL_Z, assert_foreground, enter, enter_behind_a_holder, printer, sleeps,
    stop_while_asleep,
};
use crate::support::{Case, DEADLINE, end, wait_until};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

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

#[test]
fn a_job_that_is_stopped_for_long_keeps_its_lock() {
    let case = Case::new("ctrl-z-long");
    let mut shell = case.shell();
    shell.enter(
        &format!("$zklock --session-timeout 14 {} sh -c 'echo up; sleep 61; :'", case.path()),
        DEADLINE,
    );
    shell.terminal().expect("up\r\n", DEADLINE);
    stop_while_asleep(&mut shell, &case);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    let node = case.wait_for_contenders(1);
    let stopped_since = Instant::now();
    wait_until("more than a session timeout", DEADLINE, || stopped_since.elapsed() > Duration::from_secs(17));
    assert_eq!(case.contenders(), node, "the same node, and so the same fencing token");
    assert!(sleeps(&case), "{}", shell.terminal().text());
    shell.fg();
    shell.terminal().expect("sleep 61", DEADLINE);
    shell.terminal().send(CTRL_C);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 130);
    assert!(!shell.terminal().text().contains("lost"), "{}", shell.terminal().text());
    assert_foreground(&mut shell);
}

/// A stopped waiter that kept its place would block the queue until its user returns.
#[test]
fn a_stopped_waiter_leaves_and_queues_again_on_fg() {
    let case = Case::new("ctrl-z-turn");
    let mut shell = case.shell();
    let holder = enter_behind_a_holder(&mut shell, &case, "echo ran here");
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    let next = case.lock(&["-v"], ["sh", "-c", "echo running; exec sleep 60"]).spawn();
    next.wait_for_line("position 2", DEADLINE);
    end(holder);
    next.wait_for_stdout("running", DEADLINE);
    case.wait_for_contenders(1);
    shell.enter("fg", DEADLINE);
    case.wait_for_contenders(2);
    end(next);
    shell.terminal().expect("ran here\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn ctrl_z_stops_a_waiter_and_fg_continues_it() {
    let case = Case::new("ctrl-z-waiting");
    let mut shell = case.shell();
    let holder = enter_behind_a_holder(&mut shell, &case, "echo ran");
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    end(holder);
    shell.enter("fg", DEADLINE);
    shell.terminal().expect("ran\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
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
