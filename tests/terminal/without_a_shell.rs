//! A terminal without a shell, and zklock in the background of one, with `stty tostop`: the terminal stops a background process
//! that writes to it, and zklock's messages never stop zklock.

use crate::support::{
    Case, DEADLINE, Shell, assert_no_processes, command_of, end, is_stopped, processes_of, signal_printer,
    try_for, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

fn sleeps(case: &Case) -> bool {
    processes_of(case.marker()).iter().any(|(_, name)| name.starts_with("sleep"))
}

/// Long before the end of the session, which is 30 s away.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A shell with a zklock in the background, and that zklock.
#[track_caller]
fn in_background(case: &Case, words: &str) -> (Shell, Pid) {
    let mut shell = case.shell();
    shell.run("stty cols 250 tostop", DEADLINE);
    shell.run(&format!("$zklock {words} &"), DEADLINE);
    // Beside messages of zklock.
    let said = shell.run("echo $!", DEADLINE);
    let pid = said.lines().find_map(|line| line.trim().parse().ok()).expect("a pid");
    (shell, Pid::from_raw(pid))
}

/// Waits for the zklock in the background, and returns its exit code and what is on the screen.
#[track_caller]
fn ended(mut shell: Shell, zklock: Pid) -> (i32, String) {
    // Not `wait` alone: a stopped job would end it too. `wait -f` of bash 5.2 never ends if the job has.
    shell.run(&format!("while kill -0 {zklock}; do sleep 0.05; done 2>/dev/null; wait {zklock}"), DEADLINE);
    let code = shell.code(DEADLINE);
    (code, shell.terminal().text())
}

/// Without a shell no process could continue it. The kernel would not stop the command alone either.
#[test]
fn ctrl_z_without_a_shell_stops_nothing() {
    let case = Case::new("ctrl-z-leader");
    let mut terminal = case.lock(&[], signal_printer(&["QUIT=4"])).in_terminal();
    terminal.expect("ready", DEADLINE);
    for (keys, signal) in [(&b"\x1a\x03"[..], "got INT"), (b"\x1c", "got QUIT")] {
        terminal.send(keys);
        terminal.expect(signal, DEADLINE);
    }
    assert_eq!(terminal.wait(DEADLINE).code(), Some(4));
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
        shell.run("nohup $zklock $lock sleep 600 </dev/null >/dev/null 2>&1 & disown", DEADLINE);
        case.wait_for_contenders(contenders);
        wait_until("the holder's command", DEADLINE, || sleeps(&case));
        shell.terminal().send(b"exit\r");
        wait_until("the terminal to be closed", DEADLINE, || shell.terminal().is_left());
        assert_eq!(case.contenders().len(), contenders);
    }
    case.zklock().args(["revoke", "--all", case.path()]).run().assert_code(0);
    assert_no_processes(case.marker(), DEADLINE);
}

/// Not by the shell, which would continue zklock, too.
#[test]
fn a_command_that_is_continued_alone_can_be_stopped_again() {
    let case = Case::new("continued-alone");
    let (_shell, zklock) = in_background(&case, "$lock -- sleep 61");
    wait_until("the command", DEADLINE, || sleeps(&case));
    let command = command_of(zklock);
    for _ in 0..3 {
        // One that comes before zklock's worker has heard that zklock goes on belongs to the time before.
        wait_until("zklock to stop", DEADLINE, || {
            kill(command, Signal::SIGSTOP).expect("the command");
            let stops = try_for(Duration::from_secs(5), || is_stopped(zklock).then_some(())).is_some();
            if !stops {
                kill(command, Signal::SIGCONT).expect("the command");
            }
            stops
        });
        kill(command, Signal::SIGCONT).expect("the command");
        wait_until("zklock to go on", DEADLINE, || !is_stopped(zklock));
    }
    kill(zklock, Signal::SIGTERM).expect("zklock");
    case.wait_for_contenders(0);
}

#[test]
fn a_monitor_in_the_background_cleans_up_after_its_worker_and_reports_it() {
    let case = Case::new("tostop-killed");
    let (shell, zklock) = in_background(&case, &format!("{} sleep 60", case.path()));
    case.wait_for_contenders(1);
    kill(worker_of(zklock), Signal::SIGKILL).expect("a worker");
    case.observer().wait_for_contenders(case.path(), 0, AT_ONCE);
    let (code, screen) = ended(shell, zklock);
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
    end(holder);
    let (code, screen) = ended(shell, zklock);
    assert_eq!(code, 4);
    assert!(screen.contains("released"), "{screen}");
}
