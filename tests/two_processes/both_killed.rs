//! Both of zklock's processes are killed at once. The kernel ends the command's first process with its worker; what
//! that process has started lives on, and only the session's end and the fencing token protect the next holder.

use super::worker_of;
use crate::support::{Case, DEADLINE, Running, command_of, is_alive, kill_all, start, wait_until};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::process::Command;

/// Kills both, as one `kill` by hand does.
fn kill_both(zklock: &Running) {
    let both = [zklock.pid(), worker_of(zklock.pid())].map(|pid| pid.to_string());
    assert!(Command::new("kill").arg("-9").args(both).status().expect("kill").success());
}

#[test]
fn the_command_dies_with_both_processes_and_the_next_starts_when_the_session_has_ended() {
    let case = Case::new("both-killed");
    // It ignores what can be ignored, and is a shell with a child: the child is what lives on.
    let script = "trap '' TERM HUP INT; sleep 61 & echo \"child $!\"; echo ready; wait";
    let first = start(&case, &["--session-timeout", "4"], script);
    let command = command_of(first.pid());
    let printed = first.stdout().text();
    let child = printed.lines().find_map(|line| line.strip_prefix("child ")).expect("the child's pid");
    let child = Pid::from_raw(child.parse().expect("a pid"));
    let next = case.lock(&[], ["echo", "next"]).spawn();
    case.wait_for_contenders(2);
    kill_both(&first);
    wait_until("the command to die", DEADLINE, || !is_alive(command));
    assert_eq!(next.wait(DEADLINE).assert_code(0).stdout, "next\n");
    assert!(is_alive(child), "if nothing lives on any more, the documentation must say so");
    kill_all(case.marker());
    first.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

/// The kernel ends it with the thread that started it, and not with the process: that thread must live as long.
#[test]
fn the_command_lives_as_long_as_its_worker() {
    let case = Case::new("long-command");
    let running = start(&case, &["--session-timeout", "2"], "echo ready; sleep 60; :");
    // Longer than any thread that lives only for the start, and through several confirmations.
    crate::support::pass_time(std::time::Duration::from_secs(2));
    assert!(is_alive(command_of(running.pid())));
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
}
