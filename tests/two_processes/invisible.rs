//! The second process of zklock makes no difference for the command, for senders of signals, and for the machine's
//! memory.
#![allow(clippy::print_stdout, reason = "what was measured is shown with --nocapture")]

use crate::support::{
    Case, DEADLINE, children_of, command_of, is_alive, start, status_of, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{getpgid, getsid};
use std::fs;

#[test]
fn the_command_sees_the_descriptors_that_zklock_was_given_and_no_other() {
    let case = Case::new("descriptors");
    let show = "ls /proc/self/fd";
    let prelude = "exec 7</dev/null 9</dev/zero";
    let bare = case.lock(&[], ["false"]).prelude(&format!("{prelude}; exec {show}")).run();
    bare.assert_code(0);
    assert!(bare.stdout.contains("7\n9\n"), "{bare}");
    let wrapped = case.lock(&[], show.split(' ')).prelude(prelude).run();
    assert_eq!(wrapped.assert_code(0).stdout, bare.stdout);
}

#[test]
fn monitor_worker_and_command_are_a_chain_of_three_in_sessions_of_their_own() {
    let case = Case::new("chain");
    let running = start(&case, &[], "echo ready; sleep 60; :");
    let monitor = running.pid();
    let (worker, command) = (worker_of(monitor), command_of(monitor));
    assert_eq!(children_of(monitor).len(), 1, "{:?}", children_of(monitor));
    assert_eq!(children_of(worker).len(), 1, "{:?}", children_of(worker));
    assert_eq!(
        [monitor, worker, command].map(|pid| getpgid(Some(pid))),
        [Ok(monitor), Ok(worker), Ok(command)]
    );
    assert_eq!([worker, command].map(|pid| getsid(Some(pid))), [Ok(worker), Ok(command)]);
    let line = |pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("a process");
    let title = line(worker);
    assert_eq!(title.trim_end_matches('\0'), format!("lease-guard of {monitor}"));
    assert!(line(monitor).contains(case.path()), "the monitor is what the user called");
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE);
}

#[test]
fn the_monitor_takes_next_to_no_memory() {
    let case = Case::new("monitor-memory");
    let running = start(&case, &[], "echo ready; sleep 60; :");
    // What is read from the program's file counts as private, too, while no other process maps it.
    let written = |pid| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("its memory");
        let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
        let written = rollup.lines().filter(|line| line.starts_with("Private_Dirty"));
        written.filter_map(kilobytes).sum::<u64>()
    };
    let (monitor, worker) = (written(running.pid()), written(worker_of(running.pid())));
    println!("memory written: {monitor} KiB of the monitor, {worker} KiB of the worker");
    assert!((1..1024).contains(&monitor), "{monitor} KiB");
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE);
}

#[test]
fn the_worker_is_gone_and_reaped_when_zklock_is() {
    let case = Case::new("worker-gone");
    for (script, code) in [("exit 0", 0), ("exec no-such", 127)] {
        let go = case.dir().join("go");
        let script = format!("until [ -e {} ]; do sleep 0.02; done; {script}", go.display());
        let running = case.lock(&["-v"], ["bash", "-c", &script]).spawn();
        let worker = worker_of(running.pid());
        fs::write(&go, "").expect("a file");
        running.wait(DEADLINE).assert_code(code);
        assert_eq!(status_of(worker, "State"), None, "no zombie either");
        fs::remove_file(go).expect("the file");
    }
    let running = case.lock(&["-n"], ["/no/such/program"]).spawn();
    running.wait(DEADLINE).assert_code(127);
}

/// A service manager or a shutdown sends signals to every process like this.
#[test]
fn the_worker_stays_at_its_post_when_everybody_is_told_to_end() {
    let case = Case::new("worker-ignores");
    let running = start(&case, &[], "echo ready; sleep 60; :");
    let worker = worker_of(running.pid());
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGALRM,
        Signal::SIGTSTP,
    ] {
        kill(worker, signal).expect("a worker");
    }
    assert_eq!(worker_of(running.pid()), worker);
    assert!(is_alive(worker) && running.is_running());
    running.signal(Signal::SIGKILL);
    case.wait_for_contenders(0);
    wait_until("its end", DEADLINE, || !is_alive(worker));
}
