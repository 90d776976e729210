//! The memory of the two processes: no core dump contains it, and the monitor's is locked.

use crate::support::{Case, DEADLINE, end, skip, start, status_of, wait_until};
use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use std::fs;

/// The number of core dumps in the directory.
fn cores(case: &Case) -> usize {
    let entries = fs::read_dir(case.dir()).expect("a directory").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("core")).count()
}

/// If the kernel writes no core dumps here, the test checks nothing.
#[test]
fn zklock_writes_no_core_dump() {
    let case = Case::new("core");
    let unlimited = "ulimit -c unlimited || exit 99";
    let bare = case.lock(&[], ["true"]).dir(case.dir());
    let bare = bare.prelude(&format!("{unlimited}; kill -SEGV $$")).run();
    if bare.signal != Some(Signal::SIGSEGV as i32) || cores(&case) == 0 {
        return;
    }
    for entry in fs::read_dir(case.dir()).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    for signal in [Signal::SIGSEGV, Signal::SIGABRT, Signal::SIGQUIT] {
        let job = format!("ulimit -c 0; kill -{} $$", signal as i32);
        let output = case.lock(&[], ["sh", "-c", &job]).dir(case.dir()).prelude(unlimited).run();
        output.assert_signal(signal);
        assert_eq!(cores(&case), 0, "{signal}: core dumps of zklock");
        // zklock doesn't prevent the command's own core dump.
        let job = format!("kill -{} $$", signal as i32);
        let output = case.lock(&[], ["sh", "-c", &job]).dir(case.dir()).prelude(unlimited).run();
        output.assert_signal(signal);
        assert_eq!(cores(&case), 1, "{signal}: core dumps of the command");
        for entry in fs::read_dir(case.dir()).unwrap().flatten() {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

/// Without root the limit may be too low to lock the memory.
#[test]
fn the_monitor_is_locked_in_memory_while_a_command_runs() {
    if !geteuid().is_root() {
        skip("it needs root");
        return;
    }
    let case = Case::new("in-memory");
    let running = start(&case, &[], "echo ready; sleep 60");
    let locked = || status_of(running.pid(), "VmLck").is_some_and(|locked| !locked.starts_with("0 "));
    wait_until("the monitor's memory to be locked", DEADLINE, locked);
    end(running);
}
