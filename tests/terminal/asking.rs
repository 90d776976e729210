//! In a script, the command reads from the terminal, whichever of its processes does.

use super::{CTRL_C, assert_foreground};
use crate::support::{Case, DEADLINE, Shell, has_namespaces, unshare};
use std::fs;

const READ: &str = "bash -c 'read -r x; echo \"<$x>\"'";

/// Types a line that runs this script, which calls zklock.
#[track_caller]
fn enter_script(shell: &mut Shell, case: &Case, text: &str) {
    let file = case.dir().join("script.sh");
    fs::write(&file, text).expect("a script");
    shell.enter(&format!("bash {}", file.display()), DEADLINE);
}

/// Runs the script and types a line, which its command reads.
#[track_caller]
fn assert_reads(shell: &mut Shell, case: &Case, text: &str) {
    enter_script(shell, case, text);
    shell.terminal().send(b"typed\n");
    shell.terminal().expect("<typed>\r\n", DEADLINE);
    assert_eq!(shell.prompt(DEADLINE), "", "{text}");
    assert_eq!(shell.code(DEADLINE), 0, "{text}");
    assert_foreground(shell);
}

#[test]
fn a_process_reads_whatever_its_leader_does_on_a_stop() {
    let case = Case::new("leader-goes-on");
    let mut shell = case.shell();
    let default = "env --default-signal=TTIN,TTOU";
    for command in [
        format!("timeout --foreground 60 {READ}"),
        format!("bash -c 'trap \"\" TTIN TTOU; {default} \"$@\"; exit $?' - {READ}"),
        format!("bash -c 'trap : TTIN TTOU; \"$@\"; exit $?' - {READ}"),
        format!("timeout --foreground 60 timeout --foreground 60 {READ}"),
        format!(
            "timeout --foreground 60 sh -c 'true; sh -c \"$1\"' - \"{}\"",
            "read -r x; echo \\\"<\\$x>\\\""
        ),
    ] {
        assert_reads(&mut shell, &case, &format!("$zklock {} -- {command}; exit $?", case.path()));
    }
}

#[test]
fn a_process_may_set_the_terminal_whatever_its_leader_does_on_a_stop() {
    let case = Case::new("leader-sets");
    let mut shell = case.shell();
    let line = format!("$zklock {} -- timeout --foreground 60 stty sane; echo ended $?", case.path());
    enter_script(&mut shell, &case, &line);
    shell.terminal().expect("ended 0\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_foreground(&mut shell);
}

#[test]
fn a_command_with_ignored_or_blocked_stops_reads() {
    let case = Case::new("can-not-ask");
    let mut shell = case.shell();
    for how in ["--ignore-signal=TTIN,TTOU", "--block-signal=TTIN,TTOU", "--block-signal=TTIN"] {
        let zklock = format!("env {how} $zklock {} --", case.path());
        assert_reads(&mut shell, &case, &format!("{zklock} {READ}; exit $?"));
        assert_reads(&mut shell, &case, &format!("{zklock} timeout --foreground 60 {READ}; exit $?"));
    }
}

#[test]
fn a_process_that_takes_a_stop_for_an_interruption_reads() {
    let case = Case::new("interruption");
    let mut shell = case.shell();
    let command = "bash -c 'trap \"exit 9\" TTIN TTOU; read -r x; echo \"<$x>\"'";
    assert_reads(&mut shell, &case, &format!("$zklock {} -- {command}; exit $?", case.path()));
}

#[test]
fn a_command_reads_where_there_is_no_dev_tty() {
    let script = "mount -t tmpfs none /dev";
    if !has_namespaces("--mount", script) {
        return;
    }
    let case = Case::new("no-dev-tty");
    let mut shell = case.shell();
    let unshare = unshare("--mount");
    for command in [READ.to_owned(), format!("timeout --foreground 60 {READ}")] {
        let command = command.replace('\'', "'\\''");
        let zklock = format!("{script} && exec $zklock {} -- {command}", case.path());
        assert_reads(&mut shell, &case, &format!("{unshare} sh -c '{zklock}'; exit $?"));
    }
}

/// zklock can't be in its terminal's process group there, and gives the command a session of its own.
#[test]
fn a_command_reads_in_a_pid_namespace() {
    const KINDS: &str = "--pid --fork --mount-proc";
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("namespace");
    let mut shell = case.shell();
    let zklock = format!("{} $zklock {} -- {READ}; exit $?", unshare(KINDS), case.path());
    assert_reads(&mut shell, &case, &zklock);
}

/// As ssh does when it asks for a password.
#[test]
fn a_process_that_catches_the_signal_and_then_stops_itself_reads_too() {
    let case = Case::new("stops-itself");
    let mut shell = case.shell();
    let reader = concat!("python3 ", env!("CARGO_MANIFEST_DIR"), "/tests/support/helpers/late_stop.py");
    for command in [format!("sh -c '{reader} $$; exit $?'"), format!("sh -c 'exec {reader} $$'")] {
        assert_reads(&mut shell, &case, &format!("$zklock {} -- {command}; exit $?", case.path()));
    }
}

#[test]
fn ctrl_c_ends_a_script_whose_command_s_second_process_reads() {
    let case = Case::new("second-reads");
    let mut shell = case.shell();
    let command = "timeout --foreground 60 bash -c 'read -r x; echo up; read -r x'";
    enter_script(&mut shell, &case, &format!("$zklock {} -- {command}; echo not reached", case.path()));
    shell.terminal().send(b"go\n");
    shell.terminal().expect("up\r\n", DEADLINE);
    shell.terminal().send(CTRL_C);
    assert!(!shell.prompt(DEADLINE).contains("reached"));
    assert_eq!(shell.code(DEADLINE), 130);
    assert_foreground(&mut shell);
}
