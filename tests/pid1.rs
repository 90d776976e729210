//! zklock as the first process of a container: it reaps orphans, and no signal from inside can kill it.
//!
//! Only the PID namespace of a container matters here; `unshare` creates one.

use crate::support::{
    Case, DEADLINE, Running, children_of, has_namespaces, processes_of, status_of, unshare, wait_for,
    wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::process::Command;
use zklock::process::sys;

/// `--mount-proc`: process 1 of the namespace sees its own processes in `/proc`.
const KINDS: &str = "--pid --fork --mount-proc";

/// Starts zklock as process 1 with a bash script as its command. `unshare` waits for it, and exits like it.
fn start(case: &Case, script: &str) -> Running {
    let prelude = format!("exec {} \"$0\" \"$@\"", unshare(KINDS));
    case.lock(&["-v"], ["bash", "-c", script]).prelude(&prelude).spawn()
}

/// zklock's pid outside of the namespace.
#[track_caller]
pub(crate) fn zklock_of(running: &Running) -> Pid {
    wait_for("zklock as process 1", DEADLINE, || {
        let (pid, _) = children_of(running.pid()).pop()?;
        status_of(pid, "NSpid")?.ends_with("\t1").then_some(pid)
    })
}

pub(crate) fn zombies_below(pid: Pid) -> usize {
    let children = children_of(pid);
    let states = children.iter().filter_map(|(child, _)| status_of(*child, "State"));
    states.filter(|state| state.starts_with('Z')).count()
}

#[test]
fn the_exit_code_is_the_command_s() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-code");
    let script =
        "while read -r name value; do [ $name = PPid: ] && echo \"parent: $value\"; done </proc/$PPID/status";
    let running = start(&case, &format!("{script}; exit 7"));
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(7).stdout, "parent: 1\n", "the worker's parent");
}

#[test]
fn a_command_killed_by_a_signal_gives_128_plus_the_signal() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-signal");
    for signal in [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGSEGV] {
        let output = start(&case, &format!("kill -{} $$", signal as i32)).wait(DEADLINE);
        output.assert_code(128 + signal as i32);
    }
}

/// As `docker stop` and the end of a pod do.
#[test]
fn term_is_forwarded() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-term");
    let running = start(&case, "trap 'echo got TERM; kill $!; exit 5' TERM; sleep 60 & echo ready; wait");
    running.wait_for_stdout("ready", DEADLINE);
    kill(zklock_of(&running), Signal::SIGTERM).expect("zklock");
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(5).stdout, "ready\ngot TERM\n");
}

/// As systemd and container engines are told to stop some images.
#[test]
fn signals_that_would_mean_nothing_to_process_1_are_forwarded() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-rare");
    let script = "trap 'echo got PWR' PWR; trap 'echo got 37; exit 5' RTMIN+3
        echo ready; while :; do sleep 0.05; done";
    let running = start(&case, script);
    running.wait_for_stdout("ready", DEADLINE);
    let zklock = zklock_of(&running);
    sys::send(zklock, nix::libc::SIGPWR).expect("zklock");
    running.wait_for_stdout("got PWR", DEADLINE);
    sys::send(zklock, 37).expect("zklock");
    running.wait_for_stdout("got 37", DEADLINE);
    running.wait(DEADLINE).assert_code(5);
}

#[test]
fn a_waiter_ended_by_term_exits_with_143() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-waiting");
    let holder = case.holder();
    let running = start(&case, "echo ran");
    running.wait_for_line(": position ", DEADLINE);
    kill(zklock_of(&running), Signal::SIGTERM).expect("zklock");
    assert_eq!(running.wait(DEADLINE).assert_code(128 + 15).stdout, "");
    assert_eq!(case.contenders().len(), 1);
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}

#[test]
fn orphans_of_the_command_are_reaped() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-orphans");
    let script = "for i in 1 2 3 4 5 6 7 8; do (sleep 0.1 &); done; echo ready; sleep 60; :";
    let running = start(&case, script);
    running.wait_for_stdout("ready", DEADLINE);
    let zklock = zklock_of(&running);
    let worker = worker_of(zklock);
    // Left: unshare, zklock, its worker, the shell and its sleep.
    wait_until("the end of the orphans", DEADLINE, || processes_of(case.marker()).len() == 5);
    wait_until("them to be reaped", DEADLINE, || zombies_below(zklock) + zombies_below(worker) == 0);
    kill(zklock, Signal::SIGTERM).expect("zklock");
    running.wait(DEADLINE).assert_code(128 + 15);
}

/// For instance the processes that `docker exec` leaves behind.
#[test]
fn other_orphans_are_reaped_while_waiting_and_while_the_command_runs() {
    if !has_namespaces(KINDS, "true") {
        return;
    }
    let case = Case::new("pid1-strangers");
    let holder = case.holder();
    let running = start(&case, "echo ready; sleep 60; :");
    running.wait_for_line(": position ", DEADLINE);
    let zklock = zklock_of(&running);
    let leave_an_orphan = || {
        let before = children_of(zklock).len();
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &zklock.to_string(), "--pid"]);
        if !geteuid().is_root() {
            enter.args(["--user", "--preserve-credentials"]);
        }
        enter.args(["sh", "-c", "(sleep 0.1 &)"]);
        let output = enter.output().expect("nsenter");
        assert!(output.status.success(), "{output:?}");
        wait_until("the orphan to be reaped", DEADLINE, || {
            zombies_below(zklock) == 0 && children_of(zklock).len() == before
        });
    };
    leave_an_orphan();
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
    running.wait_for_stdout("ready", DEADLINE);
    leave_an_orphan();
    kill(zklock, Signal::SIGTERM).expect("zklock");
    running.wait(DEADLINE).assert_code(128 + 15);
}
