//! Typed input reaches the command when it reads.

use super::{CTRL_C, CTRL_D, CTRL_Z, assert_foreground, enter};
use crate::support::{Case, DEADLINE};

/// Behaves like a pager: copies its input, configures the terminal, reads a key from it, and restores it.
const PAGER: &str = "bash -c 'cat; printf :; read -r -s -n 1 key </dev/tty; echo \"<$key>\"'";

#[test]
fn a_command_reads_from_the_terminal() {
    let case = Case::new("read");
    let mut shell = case.shell();
    enter(&mut shell, &case, "sh -c 'echo up; read -r x; echo \"<$x>\"; exit 5'", "up\r\n");
    shell.terminal().send(b"hello\n");
    shell.terminal().expect("<hello>\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 5);
    assert_foreground(&mut shell);
}

#[test]
fn cat_reads_to_the_end_of_input() {
    let case = Case::new("cat");
    let mut shell = case.shell();
    shell.enter(&format!("$zklock {} cat", case.path()), DEADLINE);
    shell.terminal().send(b"hello\n");
    shell.terminal().expect("hello\r\nhello\r\n", DEADLINE);
    shell.terminal().send(CTRL_D);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn a_pager_after_or_under_zklock_reads_keys() {
    let case = Case::new("pager");
    let mut shell = case.shell();
    let zklock = format!("$zklock {}", case.path());
    for line in [
        format!("{zklock} seq 3 | {PAGER}"),
        format!("seq 3 | {zklock} {PAGER}"),
        format!("seq 3 | {zklock} {PAGER} | cat"),
        format!("seq 3 | {zklock} cat | {PAGER}"),
    ] {
        shell.enter(&line, DEADLINE);
        shell.terminal().expect("1\r\n2\r\n3\r\n:", DEADLINE);
        shell.terminal().send(b"q");
        shell.terminal().expect("<q>\r\n", DEADLINE);
        shell.prompt(DEADLINE);
        assert_eq!(shell.code(DEADLINE), 0, "{line}");
    }
    assert_foreground(&mut shell);
}

#[test]
fn a_background_job_that_reads_is_stopped_until_fg() {
    let case = Case::new("background-read");
    let mut shell = case.shell();
    let line = format!("$zklock {} sh -c 'echo up; read -r x; echo \"<$x>\"' &", case.path());
    shell.enter(&line, DEADLINE);
    shell.terminal().expect("up\r\n", DEADLINE);
    crate::support::wait_until("the stop", DEADLINE, || shell.run("jobs", DEADLINE).contains("Stopped"));
    shell.fg();
    shell.terminal().send(b"late\n");
    shell.terminal().expect("<late>\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
    assert_foreground(&mut shell);
}

#[test]
fn a_background_job_runs_to_its_end() {
    let case = Case::new("background");
    let mut shell = case.shell();
    shell.run(&format!("$zklock {} sh -c 'sleep 0.2; exit 6' &", case.path()), DEADLINE);
    shell.run("wait $!", DEADLINE);
    assert_eq!(shell.code(DEADLINE), 6);
}

#[test]
fn fg_brings_a_background_job_to_the_foreground() {
    let case = Case::new("fg");
    let mut shell = case.shell();
    shell.run(&format!("$zklock {} sleep 60 &", case.path()), DEADLINE);
    case.wait_for_contenders(1);
    shell.fg();
    shell.terminal().expect("sleep 60", DEADLINE);
    shell.terminal().send(CTRL_C);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 130);
    assert_foreground(&mut shell);
}

#[test]
fn a_failed_start_leaves_the_terminal_with_the_shell() {
    let case = Case::new("failed-start");
    let mut shell = case.shell();
    shell.run(&format!("$zklock {} no-such-command", case.path()), DEADLINE);
    assert_eq!(shell.code(DEADLINE), 127);
    assert_foreground(&mut shell);
    let body = format!("$zklock {} no-such-command; read -r word; echo got $word", case.path());
    shell.enter(&format!("bash -c '{body}'"), DEADLINE);
    shell.terminal().send(b"something\n");
    shell.terminal().expect("got something\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_foreground(&mut shell);
}

#[test]
fn zklock_leaves_the_terminal_s_settings_unchanged() {
    let case = Case::new("stty");
    let mut shell = case.shell();
    let before = shell.run("stty -a", DEADLINE);
    let zklock = format!("$zklock {}", case.path());
    shell.run(&format!("{zklock} true"), DEADLINE);
    shell.run(&format!("{zklock} sh -c 'saved=$(stty -g); stty raw -echo; stty $saved'"), DEADLINE);
    enter(&mut shell, &case, "sh -c 'echo up; exec sleep 60'", "up\r\n");
    shell.terminal().send(CTRL_Z);
    shell.prompt(DEADLINE);
    shell.fg();
    shell.terminal().expect("sleep 60", DEADLINE);
    shell.terminal().send(CTRL_C);
    shell.prompt(DEADLINE);
    assert_eq!(shell.run("stty -a", DEADLINE), before);
    assert_foreground(&mut shell);
}

#[test]
fn a_shell_under_zklock_has_job_control() {
    let case = Case::new("inner-shell");
    let mut shell = case.shell();
    enter(&mut shell, &case, "env PS1='inner$ ' bash --norc --noediting -i", "inner$ ");
    shell.terminal().send(b"cat\nfirst\n");
    shell.terminal().expect("first\r\nfirst\r\n", DEADLINE);
    shell.terminal().send(CTRL_Z);
    shell.terminal().expect("Stopped", DEADLINE);
    shell.terminal().expect("inner$ ", DEADLINE);
    shell.terminal().send(b"fg\n");
    shell.terminal().expect("cat\r\n", DEADLINE);
    shell.terminal().send(b"hello\n");
    shell.terminal().expect("hello\r\nhello\r\n", DEADLINE);
    shell.terminal().send(CTRL_C);
    shell.terminal().expect("inner$ ", DEADLINE);
    shell.terminal().send(b"exit 7\n");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 7);
    assert_foreground(&mut shell);
}
