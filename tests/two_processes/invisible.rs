//! The second process of zklock makes no difference for the command, for senders of signals, and for the machine's
//! memory.
#![allow(clippy::print_stdout, reason = "what was measured is shown with --nocapture")]

use crate::support::{
    Case, DEADLINE, children_of, command_of, end, skip, start, status_of, wait_until, worker_of,
};
use nix::sys::signal::Signal;
use nix::unistd::{geteuid, getpgid, getsid};
use std::fs;

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
    end(running);
}

#[test]
fn the_command_sees_the_descriptors_that_zklock_was_given_and_no_other() {
    let case = Case::new("descriptors");
    let show = "ls /proc/self/fd";
    let prelude = "exec 7</dev/null 9</dev/zero";
    let bare = case.lock(&[], ["false"]).prelude(&format!("{prelude}; exec {show}")).run();
    bare.assert_code(0).assert_stdout("7\n9\n");
    let wrapped = case.lock(&[], show.split(' ')).prelude(prelude).run();
    assert_eq!(wrapped.assert_code(0).stdout, bare.stdout);
}

/// Without root the limit may be too low to lock the memory.
#[test]
fn the_monitor_takes_next_to_no_memory_and_keeps_it_in_memory() {
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
    if geteuid().is_root() {
        let is_locked = || status_of(running.pid(), "VmLck").is_some_and(|locked| !locked.starts_with("0 "));
        wait_until("the monitor's memory to be locked", DEADLINE, is_locked);
    } else {
        skip("locked memory needs root");
    }
    end(running);
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
}

/// If the kernel writes no core dumps here, the test checks nothing.
#[test]
fn zklock_writes_no_core_dump_and_its_command_may() {
    let case = Case::new("core");
    let cores = || -> usize {
        let entries = fs::read_dir(case.dir()).expect("a directory").flatten();
        let cores = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("core"));
        cores.map(|entry| fs::remove_file(entry.path()).expect("a core dump")).count()
    };
    let unlimited = "ulimit -c unlimited || exit 99";
    let bare = case.lock(&[], ["true"]).dir(case.dir());
    let bare = bare.prelude(&format!("{unlimited}; kill -SEGV $$")).run();
    if bare.signal != Some(Signal::SIGSEGV as i32) || cores() == 0 {
        return;
    }
    for signal in [Signal::SIGSEGV, Signal::SIGABRT, Signal::SIGQUIT] {
        for (limit, dumps) in [("ulimit -c 0; ", 0), ("", 1)] {
            let job = format!("{limit}kill -{} $$", signal as i32);
            let output = case.lock(&[], ["sh", "-c", &job]).dir(case.dir()).prelude(unlimited).run();
            output.assert_signal(signal);
            assert_eq!(cores(), dumps, "{signal} {limit}");
        }
    }
}
