//! In a terminal, zklock with a command behaves as the command alone would.

mod either;
mod input;
mod keys;
mod scripts;
mod window;

use crate::support::{Case, Running, SOON, Shell, processes_of, signal_printer, wait_until};

const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";
const CTRL_Z: &[u8] = b"\x1a";
const CTRL_BACKSLASH: &[u8] = b"\x1c";

/// Runs `zklock` with the case's lock and this command line in the shell, and waits for the text.
#[track_caller]
fn enter(shell: &mut Shell, case: &Case, command: &str, expected: &str) {
    shell.enter(&format!("$zklock {} {command}", case.path()), SOON);
    shell.terminal().expect(expected, SOON);
}

/// Runs `zklock` with the case's lock and this command line in the shell, behind a holder, which is returned.
#[track_caller]
fn enter_behind_a_holder(shell: &mut Shell, case: &Case, command: &str) -> Running {
    let holder = case.holder();
    shell.enter(&format!("$zklock {} {command}", case.path()), SOON);
    case.wait_for_contenders(2);
    holder
}

/// The program that says what reaches it and exits with 4 at Ctrl-\, as a command line.
fn printer() -> String {
    signal_printer(&["QUIT=4"]).join(" ")
}

/// Whether the `sleep` of a job is there.
fn sleeps(case: &Case) -> bool {
    processes_of(case.marker()).iter().any(|(_, name)| name.starts_with("sleep"))
}

/// Types Ctrl-Z once the job's `sleep` runs. A shell that starts programs as after `vfork`, such as dash, doesn't stop
/// while a child stands stopped before its exec, with zklock or without.
#[track_caller]
fn stop_asleep(shell: &mut Shell, case: &Case) {
    wait_until("the job to sleep", SOON, || sleeps(case));
    shell.terminal().send(CTRL_Z);
}

/// The shell has the terminal's foreground.
#[track_caller]
fn assert_foreground(shell: &mut Shell) {
    let said = shell.run("[ $(ps -o tpgid= -p $$) = $$ ] && echo ours", SOON);
    // What zklock says as it stops may come after the shell's prompt.
    assert!(said.ends_with("ours\n"), "{said}");
}
