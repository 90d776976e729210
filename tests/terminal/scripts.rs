//! A shell script that calls zklock, run from a terminal: a key affects the whole script.

use super::{CTRL_BACKSLASH, CTRL_C, CTRL_Z, assert_foreground, printer};
use crate::support::{Case, DEADLINE, Shell};
use std::fs;

/// Writes a script that runs `body` three times.
fn write_loop_script(case: &Case, body: &str) -> String {
    let path = case.dir().join("script.sh");
    let text = format!("for i in 1 2 3; do\n{body}\ndone\necho 'not reached'\n");
    fs::write(&path, text).expect("a script");
    path.display().to_string()
}

#[track_caller]
fn assert_one_ctrl_c_ends(shell: &mut Shell, line: &str) {
    shell.enter(line, DEADLINE);
    shell.terminal().expect("round 1", DEADLINE);
    shell.terminal().send(CTRL_C);
    let rest = shell.prompt(DEADLINE);
    assert!(!rest.contains("round") && !rest.contains("reached"), "{line}: {rest}");
    assert_eq!(shell.code(DEADLINE), 130, "{line}");
    assert_foreground(shell);
}

#[test]
fn one_ctrl_c_ends_a_loop() {
    let case = Case::new("loop");
    let mut shell = case.shell();
    let body = format!("$zklock {} sh -c \"echo round $i; exec sleep 60\"", case.path());
    let script = write_loop_script(&case, &body);
    for line in [
        format!("bash {script}"),
        format!("sh {script}"),
        format!("bash -c 'sh {script}; echo round 4'"),
        format!("for i in 1 2 3; do {body}; done"),
        format!("(for i in 1 2 3; do {body}; done)"),
    ] {
        assert_one_ctrl_c_ends(&mut shell, &line);
    }
}

#[test]
fn one_ctrl_c_ends_a_loop_whose_command_reads_from_the_terminal() {
    let case = Case::new("loop-read");
    let mut shell = case.shell();
    let body = format!("$zklock {} sh -c \"read -r x; echo round $i; read -r x\"", case.path());
    let script = write_loop_script(&case, &body);
    for line in [format!("bash {script}"), format!("sh {script}")] {
        shell.enter(&line, DEADLINE);
        shell.terminal().send(b"go\n");
        shell.terminal().expect("round 1", DEADLINE);
        shell.terminal().send(CTRL_C);
        let rest = shell.prompt(DEADLINE);
        assert!(!rest.contains("round") && !rest.contains("reached"), "{line}: {rest}");
        assert_eq!(shell.code(DEADLINE), 130, "{line}");
        assert_foreground(&mut shell);
    }
}

#[test]
fn one_ctrl_c_ends_a_whole_pipeline_whose_command_reads_from_the_terminal() {
    let case = Case::new("pipeline-read");
    let mut shell = case.shell();
    let command = "sh -c 'read -r x; echo round 1; read -r x'";
    shell.enter(&format!("$zklock {} {command} | (cat; sleep 61)", case.path()), DEADLINE);
    shell.terminal().send(b"go\n");
    shell.terminal().expect("round 1", DEADLINE);
    shell.terminal().send(CTRL_C);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 130);
    assert_foreground(&mut shell);
}

#[test]
fn a_loop_continues_if_the_command_handles_ctrl_c() {
    let case = Case::new("loop-handled");
    let mut shell = case.shell();
    let command = "sh -c \"trap 'kill \\$!; exit 0' INT; echo round $i; sleep 60 & wait\"";
    let script = write_loop_script(&case, &format!("$zklock {} {command}", case.path()));
    shell.enter(&format!("bash {script}"), DEADLINE);
    for round in 1..=3 {
        shell.terminal().expect(&format!("round {round}"), DEADLINE);
        shell.terminal().send(CTRL_C);
    }
    shell.prompt(DEADLINE);
    assert_foreground(&mut shell);
}

#[test]
fn ctrl_c_in_a_script_reaches_the_command_once() {
    let case = Case::new("script-once");
    let mut shell = case.shell();
    let script = write_loop_script(&case, &format!("$zklock {} {}; exit $?", case.path(), printer()));
    shell.enter(&format!("sh -c 'trap : INT QUIT; . {script}'"), DEADLINE);
    shell.terminal().expect("ready", DEADLINE);
    shell.terminal().send(CTRL_C);
    shell.terminal().expect("got INT", DEADLINE);
    shell.terminal().send(CTRL_BACKSLASH);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 4);
    let screen = shell.terminal().text();
    assert_eq!(screen.matches("got INT").count(), 1, "{screen}");
}

#[test]
fn ctrl_z_stops_a_script_and_fg_continues_it() {
    let case = Case::new("script-stop");
    let mut shell = case.shell();
    for command in ["sh -c 'echo up; exec sleep 60'", "sh -c 'read -r x; echo up; read -r x'"] {
        let script = write_loop_script(&case, &format!("$zklock {} {command}", case.path()));
        shell.enter(&format!("bash {script}"), DEADLINE);
        shell.terminal().send(b"go\n");
        shell.terminal().expect("up\r\n", DEADLINE);
        shell.terminal().send(CTRL_Z);
        shell.terminal().expect("Stopped", DEADLINE);
        shell.prompt(DEADLINE);
        assert_foreground(&mut shell);
        shell.fg();
        shell.terminal().expect("script.sh", DEADLINE);
        shell.terminal().send(CTRL_C);
        shell.prompt(DEADLINE);
        assert_eq!(shell.code(DEADLINE), 130, "{command}");
    }
}
