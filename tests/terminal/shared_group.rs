//! The command shares zklock's process group with the rest of a pipeline or script, which zklock never signals.

use super::{CTRL_C, CTRL_Z, assert_foreground};
use crate::support::{
    Case, DEADLINE, Shell, command_of, freeze, is_alive, is_stopped, processes_of, signal_counters, wait_for,
    wait_until, worker_of,
};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

/// Descendants in the group and outside it that ignore what can be ignored.
const FAMILY: &str =
    "bash -c 'trap \"\" TERM INT HUP; sleep 61 & setsid sleep 61 & (sleep 61; :) & echo up; wait'";

fn sleepers(case: &Case) -> usize {
    processes_of(case.marker()).iter().filter(|(_, name)| name.starts_with("sleep")).count()
}

/// The zklock that the shell has started.
#[track_caller]
fn zklock(case: &Case) -> Pid {
    wait_for("zklock", DEADLINE, || {
        let all = processes_of(case.marker()).into_iter();
        all.filter(|(_, name)| name.contains("/zklock ")).map(|(pid, _)| pid).next()
    })
}

#[test]
fn the_end_of_all_descendants_spares_the_rest_of_the_pipeline() {
    for (how, code) in [("revoke", 123), ("worker", 123), ("monitor", 137)] {
        let case = Case::new("spared");
        let mut shell: Shell = case.shell();
        let line = format!("$zklock --kill-after 1 {} -- {FAMILY}", case.path());
        shell.enter(&format!("{line} | (cat; sleep 0.1; echo spared); echo ${{PIPESTATUS[0]}}"), DEADLINE);
        shell.terminal().expect("up\r\n", DEADLINE);
        wait_until("the family", DEADLINE, || sleepers(&case) == 3);
        let zklock = zklock(&case);
        match how {
            "revoke" => drop(case.zklock().args(["revoke", case.path()]).run().assert_code(0)),
            "worker" => kill(worker_of(zklock), Signal::SIGKILL).expect("a worker"),
            _ => kill(zklock, Signal::SIGKILL).expect("a monitor"),
        }
        shell.terminal().expect("spared\r\n", DEADLINE);
        let rest = shell.prompt(DEADLINE);
        assert!(rest.contains(&code.to_string()), "{how}: {rest}");
        assert_eq!(sleepers(&case), 0, "{how}: the pipe ends only with the last of them");
        case.wait_for_contenders(0);
        assert_foreground(&mut shell);
    }
}

#[test]
fn both_killed_at_once_the_first_process_dies() {
    let case = Case::new("both-killed");
    let mut shell = case.shell();
    let line = format!("$zklock --session-timeout 4 {} -- sh -c 'echo up; exec sleep 61' | cat", case.path());
    shell.enter(&line, DEADLINE);
    shell.terminal().expect("up\r\n", DEADLINE);
    let zklock = zklock(&case);
    let (worker, command) = (worker_of(zklock), command_of(zklock));
    [zklock, worker].into_iter().for_each(freeze);
    for process in [worker, zklock] {
        kill(process, Signal::SIGKILL).expect("a process");
    }
    wait_until("the command to die", DEADLINE, || !is_alive(command));
    shell.prompt(DEADLINE);
    case.wait_for_contenders(0);
}

#[test]
fn a_forwarded_signal_reaches_every_process_of_the_group_once() {
    let case = Case::new("forwarded-once");
    let mut shell = case.shell();
    let command = signal_counters(None).join(" ");
    shell.enter(&format!("$zklock {} -- {command} | (trap 'echo not' USR1; cat)", case.path()), DEADLINE);
    shell.terminal().expect("ready", DEADLINE);
    let zklock = zklock(&case);
    for signal in [Signal::SIGUSR1, Signal::SIGTERM] {
        kill(zklock, signal).expect("zklock");
        let got = format!("got {}\r\n", signal as i32);
        wait_until("both to get it", DEADLINE, || shell.terminal().text().matches(&got).count() == 2);
    }
    let text = shell.terminal().text();
    assert!(!text.contains("outside got"), "{text}");
    let got = format!("got {}\r\n", libc::SIGUSR1);
    assert_eq!(text.matches(&got).count(), 2, "{text}");
    kill(command_of(zklock), Signal::SIGKILL).expect("the first process");
    assert!(!shell.prompt(DEADLINE).contains("not"));
}

/// A signal that another process sends to the whole group reaches the command twice, and ends it all the same.
#[test]
fn a_signal_to_the_job_of_the_shell_ends_it() {
    let case = Case::new("kill-job");
    let mut shell = case.shell();
    shell.run(&format!("$zklock {} -- sleep 61 &", case.path()), DEADLINE);
    wait_until("the command", DEADLINE, || sleepers(&case) == 1);
    shell.run("kill %1; wait $!", DEADLINE);
    assert_eq!(shell.code(DEADLINE), 143);
    case.wait_for_contenders(0);
    shell.enter(
        &format!("$zklock {} -- sh -c 'trap \"exit 7\" TERM; kill 0; sleep 61'", case.path()),
        DEADLINE,
    );
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 7);
    case.wait_for_contenders(0);
    // What the command itself sends to its group isn't forwarded: the second one would end it.
    let command = "sh -c 'trap \"\" TERM; kill 0; trap - TERM; sleep 0.3; exit 8'";
    shell.enter(&format!("$zklock {} -- {command}", case.path()), DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 8);
}

#[test]
fn a_script_reads_on_after_its_zklock_was_killed() {
    let case = Case::new("killed-reader");
    let mut shell = case.shell();
    let script = case.dir().join("script.sh");
    let body = format!(
        "$zklock {} -- sh -c 'read -r x; echo \"<$x>\"; sleep 61; :'\nread -r x; echo \"and <$x>\"; exit 0",
        case.path()
    );
    fs::write(&script, body).expect("a script");
    shell.enter(&format!("bash {}", script.display()), DEADLINE);
    shell.terminal().send(b"one\n");
    shell.terminal().expect("<one>\r\n", DEADLINE);
    wait_until("the sleep", DEADLINE, || sleepers(&case) == 1);
    kill(zklock(&case), Signal::SIGKILL).expect("zklock");
    case.wait_for_contenders(0);
    assert_eq!(sleepers(&case), 0);
    shell.terminal().send(b"two\n");
    shell.terminal().expect("and <two>\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn a_pager_behind_a_command_that_asks_something_reads_keys() {
    let case = Case::new("asking-pager");
    let mut shell = case.shell();
    let asks = "bash -c 'read -r x </dev/tty; echo \"<$x>\"'";
    let pager = "bash -c 'cat; printf :; read -r -s -n 1 key </dev/tty; echo \"<$key>\"'";
    for _ in 0..3 {
        shell.enter(&format!("$zklock {} -- {asks} | {pager}", case.path()), DEADLINE);
        shell.terminal().send(b"answer\n");
        shell.terminal().expect("<answer>\r\n:", DEADLINE);
        shell.terminal().send(b"q");
        shell.terminal().expect("<q>\r\n", DEADLINE);
        shell.prompt(DEADLINE);
        assert_eq!(shell.code(DEADLINE), 0);
    }
    assert_foreground(&mut shell);
}

#[test]
fn a_command_that_cleans_up_before_it_stops_stops_once() {
    let case = Case::new("cleans-up");
    let mut shell = case.shell();
    let program = "import os, signal, time
def clean(*_):
    os.write(1, b'cleaned\\n')
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(WHOM, signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, clean)
    os.write(1, b'on\\n')
signal.signal(signal.SIGTSTP, clean)
os.write(1, b'up\\n')
while True:
    time.sleep(60)";
    // As less does, and as vim does.
    for whom in ["os.getpid()", "0"] {
        let file = case.dir().join("program.py");
        fs::write(&file, program.replace("WHOM", whom)).expect("a program");
        shell.enter(&format!("$zklock {} -- python3 {}", case.path(), file.display()), DEADLINE);
        shell.terminal().expect("up\r\n", DEADLINE);
        for _ in 0..3 {
            shell.terminal().send(CTRL_Z);
            shell.terminal().expect("cleaned\r\n", DEADLINE);
            shell.terminal().expect("Stopped", DEADLINE);
            shell.prompt(DEADLINE);
            assert_eq!(case.contenders().len(), 1);
            shell.fg();
            shell.terminal().expect("on\r\n", DEADLINE);
        }
        shell.terminal().send(CTRL_C);
        shell.prompt(DEADLINE);
        assert!(matches!(shell.code(DEADLINE), 1 | 130), "python3 ends by itself or of the signal");
    }
    assert_foreground(&mut shell);
}

/// Not by the shell, which would continue zklock, too.
#[test]
fn a_command_that_is_continued_alone_can_be_stopped_again() {
    let case = Case::new("continued-alone");
    let mut shell = case.shell();
    shell.run(&format!("$zklock {} -- sleep 61 &", case.path()), DEADLINE);
    wait_until("the command", DEADLINE, || sleepers(&case) == 1);
    let zklock = zklock(&case);
    let command = command_of(zklock);
    for _ in 0..3 {
        // One that comes before zklock's worker has heard that zklock goes on belongs to the time before.
        wait_until("zklock to stop", DEADLINE, || {
            kill(command, Signal::SIGSTOP).expect("the command");
            is_stopped(zklock)
        });
        kill(command, Signal::SIGCONT).expect("the command");
        wait_until("zklock to go on", DEADLINE, || !is_stopped(zklock));
    }
    kill(zklock, Signal::SIGTERM).expect("zklock");
    case.wait_for_contenders(0);
}
