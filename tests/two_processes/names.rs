//! Programs that find processes by name find the monitor and the command, and never the worker: whatever an operator signals with
//! one of them, the worker is left to end the command and to release the lock.

use super::worker_of;
use crate::support::{
    Case, DEADLINE, children_of, command_of, end, processes_of, signal_printer, skip, status_of, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::process::Command;

/// The pids that a program prints, but only this case's: other tests run at the same time. `None` without the program.
fn found_by(case: &Case, program: &str, arguments: &[&str]) -> Option<Vec<Pid>> {
    let output = match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.expect(program),
    };
    // killall prints messages, and those on stderr: "Killed zklock(4711) with signal 0".
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).expect("UTF-8").replace(['(', ')'], " ");
    let own: Vec<Pid> = processes_of(case.marker()).into_iter().map(|(pid, _)| pid).collect();
    let pids = printed.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw);
    Some(pids.filter(|pid| own.contains(pid)).collect())
}

/// All pids of the case that an operator's programs find for a zklock whose file has this name.
fn found(case: &Case, name: &str) -> Vec<Pid> {
    let mut all = vec![];
    let short: String = name.chars().take(15).collect();
    let searches: [(&str, &[&str]); 6] = [
        ("pgrep", &[&short]),
        ("pgrep", &["-x", &short]),
        ("pgrep", &["-f", name]),
        ("pgrep", &["-f", case.path()]),
        ("pidof", &[name]),
        ("killall", &["-s", "0", "-v", name]),
    ];
    for (program, arguments) in searches {
        match found_by(case, program, arguments) {
            Some(pids) => {
                assert!(!pids.is_empty(), "{program} {arguments:?} finds not even the monitor");
                all.extend(pids);
            }
            None => skip(&format!("there is no {program}")),
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Whatever zklock's file is called, and wherever it is. What is killed then is a row of [`super::killed_or_frozen`].
#[test]
fn all_that_is_found_by_name_are_monitors() {
    for name in ["zklock", "my-lock", "a-lock-with-a-long-name"] {
        let case = Case::new("found");
        symlink(env!("CARGO_BIN_EXE_zklock"), case.dir().join(name)).expect("a link");
        let renamed = format!("cd '{}' && exec ./{name} \"$@\"", case.dir().display());
        let (program, second) = (format!("./{name}"), format!("{}-b", case.path()));
        let inner = [&program, "-z", case.hosts(), &second, "--", "sh", "-c", "echo ready; sleep 60"];
        let outer = case.lock(&[], inner).prelude(&renamed).spawn();
        outer.wait_for_stdout("ready", DEADLINE);
        let waiter = case.lock(&[], ["echo", "must not run"]).prelude(&renamed).spawn();
        case.wait_for_contenders(2);
        worker_of(waiter.pid());
        let inner = children_of(worker_of(outer.pid())).first().expect("the inner zklock").0;
        let mut monitors = vec![outer.pid(), inner, waiter.pid()];
        monitors.sort();
        let found = found(&case, name);
        let names: Vec<_> = found.iter().map(|&pid| status_of(pid, "Name")).collect();
        assert_eq!(found, monitors, "{name}: {names:?}");
        end(waiter);
        end(outer);
    }
}

#[test]
fn the_worker_s_name_has_the_monitor_s_pid_and_no_arguments() {
    let case = Case::new("names");
    let command_line = |pid: Pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("a process");
    // With a secret in the environment zklock protects its memory.
    for auth in [None, Some("digest:user:password")] {
        let zklock = case.lock(&["--label", "nightly-backup"], ["sh", "-c", "echo ready; sleep 60; :"]);
        let zklock = auth.into_iter().fold(zklock, |zklock, auth| zklock.env("ZKLOCK_AUTH", auth));
        let running = zklock.spawn();
        running.wait_for_stdout("ready", DEADLINE);
        let worker = worker_of(running.pid());
        let name = format!("lease-guard of {}", running.pid());
        wait_until("its name", DEADLINE, || command_line(worker).trim_end_matches('\0') == name);
        assert_eq!(status_of(running.pid(), "Name").as_deref(), Some("zklock"));
        assert!(
            command_line(running.pid()).contains("nightly-backup"),
            "the monitor is what the user called"
        );
        end(running);
    }
}

/// It neither dies nor stops nor forwards it. So a signal to both processes is like one to the monitor.
#[test]
fn a_signal_to_the_worker_is_ignored() {
    let case = Case::new("worker-signalled");
    let running = case.lock(&[], signal_printer(&["QUIT=4"])).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    // Signals of faults are left out: sent ones act like real ones.
    let faults = [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGILL, Signal::SIGFPE, Signal::SIGABRT];
    let deadly = [&faults[..], &[Signal::SIGKILL, Signal::SIGSTOP]].concat();
    for worker in [&running, &waiter].map(|zklock| worker_of(zklock.pid())) {
        for signal in Signal::iterator().filter(|signal| !deadly.contains(signal)) {
            kill(worker, signal).expect("a worker");
        }
    }
    running.signal(Signal::SIGQUIT);
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(4).stdout.matches("got ").count(), 1, "{output}");
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

/// As `pkill -f nightly.sh` does: monitor and command get TERM, and its child gets it once, through either.
#[test]
fn a_term_to_the_command_reaches_its_group_whether_or_not_the_monitor_got_it() {
    let case = Case::new("term-command");
    let child = "trap 'echo child; exit' TERM; echo ready; while :; do read -rt 0.05 -u 9; done";
    let script = format!("exec 9<> <(:); bash -c '{}' & wait", child.replace('\'', "'\\''"));
    for with_monitor in [false, true] {
        let holder = case.lock(&[], ["bash", "-c", &script]).spawn();
        holder.wait_for_stdout("ready", DEADLINE);
        let command = command_of(holder.pid());
        for pid in [Some(command), with_monitor.then_some(holder.pid())].into_iter().flatten() {
            kill(pid, Signal::SIGTERM).expect("a process");
        }
        let output = holder.wait(DEADLINE);
        assert_eq!(output.assert_signal(Signal::SIGTERM).stdout.matches("child").count(), 1, "{output}");
    }
}
