//! Tools that find processes by name signal zklock and its command, and the command gets each signal once.

use super::worker_of;
use crate::support::{
    Case, DEADLINE, end, processes_of, signal_printer, start, status_of, wait_for, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

fn command_line(pid: Pid) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).expect("a process");
    String::from_utf8(bytes).expect("UTF-8").trim_end_matches('\0').replace('\0', " ")
}

#[test]
fn the_worker_s_name_has_the_monitor_s_pid_and_no_arguments() {
    let case = Case::new("names");
    let script = "echo ready; : nightly-backup; read -r line; sleep 60; :";
    // With a secret in the environment zklock protects its memory.
    for auth in [None, Some("digest:user:password")] {
        let zklock = case.lock(&["--label", "nightly-backup"], ["bash", "-c", script]);
        let zklock = auth.into_iter().fold(zklock, |zklock, auth| zklock.env("ZKLOCK_AUTH", auth));
        let running = zklock.spawn();
        running.wait_for_stdout("ready", DEADLINE);
        let worker = worker_of(running.pid());
        wait_until("its name", DEADLINE, || {
            command_line(worker) == format!("lease-guard of {}", running.pid())
        });
        assert_eq!(status_of(running.pid(), "Name").as_deref(), Some("zklock"));
        assert!(command_line(running.pid()).contains("nightly-backup"));
        end(running);
    }
}

/// As `pkill -f nightly-backup` does.
#[test]
fn pkill_by_the_command_line_reaches_monitor_and_command_but_not_the_worker() {
    let case = Case::new("pkill-f");
    let script = "trap 'exit 8' TERM; echo ready; : nightly-backup; while :; do read -rt 0.05 -u 9; done";
    let running = start(&case, &[], &format!("exec 9<> <(:); {script}"));
    let worker = worker_of(running.pid());
    let named = wait_for("zklock and its command, and nothing of the shell's own besides", DEADLINE, || {
        let is_named = |pid: &Pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("nightly-backup")
        };
        let all = processes_of(case.marker()).into_iter().map(|(pid, _)| pid);
        let named: Vec<_> = all.filter(is_named).collect();
        (named.len() == 2).then_some(named)
    });
    assert!(!named.contains(&worker), "{named:?}");
    for pid in named {
        // The signal to one may have ended the other already.
        kill(pid, Signal::SIGTERM).ok();
    }
    running.wait(DEADLINE).assert_code(8);
}

/// As `pkill zklock` and `killall` do: they signal every process whose name begins so.
#[test]
fn a_signal_to_monitor_and_worker_reaches_the_command_once() {
    let case = Case::new("pkill");
    for both in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGUSR1] {
        let running = case.lock(&[], signal_printer(&["QUIT=4"])).spawn();
        running.wait_for_stdout("ready", DEADLINE);
        for pid in [worker_of(running.pid()), running.pid()] {
            kill(pid, both).expect("a process");
        }
        let word = format!("got {}", both.as_str().trim_start_matches("SIG"));
        running.wait_for_stdout(&word, DEADLINE);
        // Earlier signals arrive before this one.
        running.signal(Signal::SIGQUIT);
        let output = running.wait(DEADLINE);
        assert_eq!(output.assert_code(4).stdout.matches(&word).count(), 1, "{output}");
    }
}

#[test]
fn a_signal_to_monitor_and_worker_ends_a_waiter() {
    let case = Case::new("pkill-waiter");
    let holder = case.holder();
    for both in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let waiter = case.lock(&[], ["echo", "must not run"]).spawn();
        case.wait_for_contenders(2);
        for pid in [worker_of(waiter.pid()), waiter.pid()] {
            kill(pid, both).expect("a process");
        }
        assert_eq!(waiter.wait(DEADLINE).assert_signal(both).stdout, "");
        case.wait_for_contenders(1);
    }
    end(holder);
}

/// The worker ignores signals that only it gets: it neither dies nor stops.
#[test]
fn a_signal_to_the_worker_only_is_ignored() {
    let case = Case::new("worker-signalled");
    let running = case.lock(&[], signal_printer(&["QUIT=4"])).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    let worker = worker_of(running.pid());
    let all = Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP));
    // Signals of faults are left out: sent ones act like real ones.
    let harmless = all.filter(|signal| {
        !matches!(
            signal,
            Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGFPE | Signal::SIGABRT
        )
    });
    for signal in harmless {
        kill(worker, signal).expect("a worker");
    }
    running.signal(Signal::SIGQUIT);
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(4).stdout.matches("got ").count(), 1, "{output}");
}
