//! On a terminal, zklock with a command behaves like the command alone.

mod asking;
mod input;
mod keys;
mod scripts;
mod shared_group;
mod tostop;
mod window;

use crate::support::{Case, DEADLINE, Running, Shell, processes_of, signal_printer, wait_until};

const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";
const CTRL_Z: &[u8] = b"\x1a";
const CTRL_BACKSLASH: &[u8] = b"\x1c";

/// Runs zklock with the case's lock and this command line in the shell, and waits for the text.
#[track_caller]
fn enter(shell: &mut Shell, case: &Case, command: &str, expected: &str) {
    shell.enter(&format!("$zklock {} {command}", case.path()), DEADLINE);
    shell.terminal().expect(expected, DEADLINE);
}

/// Runs zklock with the case's lock and this command line in the shell, behind a holder, which is returned.
#[track_caller]
fn enter_behind_a_holder(shell: &mut Shell, case: &Case, command: &str) -> Running {
    let holder = case.holder();
    shell.enter(&format!("$zklock {} {command}", case.path()), DEADLINE);
    case.wait_for_contenders(2);
    holder
}

/// The command line of a program that prints its signals, and exits with 4 on Ctrl-\.
fn printer() -> String {
    signal_printer(&["QUIT=4"]).join(" ")
}

fn sleeps(case: &Case) -> bool {
    processes_of(case.marker()).iter().any(|(_, name)| name.starts_with("sleep"))
}

/// Types Ctrl-Z once the job's `sleep` runs. A shell that starts programs like `vfork`, such as dash, can't be stopped
/// while its child is stopped before the exec, with zklock or without.
#[track_caller]
fn stop_while_asleep(shell: &mut Shell, case: &Case) {
    wait_until("the job to sleep", DEADLINE, || sleeps(case));
    shell.terminal().send(CTRL_Z);
}

/// Asserts that the shell is in the terminal's foreground.
#[track_caller]
fn assert_foreground(shell: &mut Shell) {
    let output = shell.run("[ $(ps -o tpgid= -p $$) = $$ ] && echo foreground", DEADLINE);
    // zklock's message about the stop may appear after the shell's prompt.
    assert!(output.ends_with("foreground\n"), "{output}");
}
