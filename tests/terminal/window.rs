//! A terminal window that is resized or closed.

use super::{CTRL_BACKSLASH, enter, enter_behind_a_holder, printer, sleeps, stop_while_asleep};
use crate::support::{Case, DEADLINE, Shell, assert_no_processes, end, wait_until};
use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;

/// Asserts that the command gets one SIGWINCH and sees the new size.
#[track_caller]
fn assert_one_winch(case: &Case, line: &str) {
    let mut shell = case.shell();
    shell.enter(line, DEADLINE);
    shell.terminal().expect("ready", DEADLINE);
    shell.terminal().resize(40, 100);
    shell.terminal().expect("got WINCH", DEADLINE);
    shell.terminal().send(CTRL_BACKSLASH);
    shell.prompt(DEADLINE);
    let screen = shell.terminal().text();
    assert_eq!(screen.matches("got WINCH").count(), 1, "{line}: {screen}");
    assert_eq!(shell.run("stty size", DEADLINE), "40 100\n");
}

#[test]
fn a_new_size_reaches_the_command_once() {
    let case = Case::new("winch");
    assert_one_winch(&case, &format!("$zklock {} {}", case.path(), printer()));
}

#[test]
fn a_new_size_reaches_the_command_once_in_a_pipeline_and_a_script() {
    let case = Case::new("winch-pipeline");
    let zklock = format!("$zklock {} {}", case.path(), printer());
    assert_one_winch(&case, &format!("{zklock} | cat"));
    assert_one_winch(&case, &format!("bash -c '{zklock}; exit 1'"));
}

/// Closes a shell's window, and asserts that no process and no node is left.
#[track_caller]
fn assert_ends_all(case: &Case, mut shell: Shell) {
    shell.terminal().hang_up();
    assert_no_processes(case.marker(), DEADLINE);
    case.wait_for_contenders(0);
}

#[test]
fn a_closed_window_ends_the_command() {
    let case = Case::new("hang-up");
    let mut shell = case.shell();
    enter(&mut shell, &case, "sh -c 'echo up; sleep 61 | sleep 62'", "up\r\n");
    assert_ends_all(&case, shell);
}

#[test]
fn a_closed_window_ends_background_and_stopped_commands() {
    let case = Case::new("hang-up-background");
    let mut shell = case.shell();
    let line = format!("$zklock {} sh -c 'echo up; sleep 61; :' &", case.path());
    shell.enter(&line, DEADLINE);
    shell.terminal().expect("up\r\n", DEADLINE);
    assert_ends_all(&case, shell);

    let mut shell = case.shell();
    enter(&mut shell, &case, "sh -c 'echo up; sleep 61; :'", "up\r\n");
    stop_while_asleep(&mut shell, &case);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    assert_ends_all(&case, shell);
}

#[test]
fn a_closed_window_ends_a_script() {
    let case = Case::new("hang-up-script");
    let mut shell = case.shell();
    let line = format!("bash -c '$zklock {} sh -c \"echo up; sleep 61; :\"; sleep 62'", case.path());
    shell.enter(&line, DEADLINE);
    shell.terminal().expect("up\r\n", DEADLINE);
    assert_ends_all(&case, shell);
}

#[test]
fn a_closed_window_ends_a_waiter() {
    let case = Case::new("hang-up-waiting");
    let mut shell = case.shell();
    let holder = enter_behind_a_holder(&mut shell, &case, "echo ran");
    shell.terminal().hang_up();
    case.wait_for_contenders(1);
    end(holder);
}

#[test]
fn a_closed_window_ends_a_zklock_without_a_shell() {
    let case = Case::new("hang-up-leader");
    let command = ["sh", "-c", "echo up; sleep 61; :"];
    let mut terminal = case.lock(&[], command).in_terminal();
    terminal.expect("up\r\n", DEADLINE);
    terminal.hang_up();
    let status = terminal.wait(DEADLINE);
    assert_eq!(status.signal(), Some(Signal::SIGHUP as i32), "{status:?}");
    assert_no_processes(case.marker(), DEADLINE);
}

/// As after `nohup` at the end of an `ssh` session, which lasts until no process has its terminal open.
#[test]
fn a_zklock_in_the_background_does_not_keep_the_terminal_open() {
    let case = Case::new("hang-up-nohup");
    for contenders in [1, 2] {
        let mut shell = case.shell();
        let line = format!("nohup $zklock {} sleep 600 </dev/null >/dev/null 2>&1 & disown", case.path());
        shell.run(&line, DEADLINE);
        case.wait_for_contenders(contenders);
        wait_until("the holder's command", DEADLINE, || sleeps(&case));
        shell.terminal().send(b"exit\r");
        wait_until("the terminal to be closed", DEADLINE, || shell.terminal().is_left());
        assert_eq!(case.contenders().len(), contenders);
    }
    case.zklock().args(["revoke", "--all", case.path()]).run().assert_code(0);
    assert_no_processes(case.marker(), DEADLINE);
}
