//! Signals that are sent to zklock: the table of docs/signals.md, "What a signal does". [`reaches`] has its column of a command
//! that runs, [`phases`] the others.

mod command;
mod phases;
mod reaches;

use crate::support::{
    Case, DEADLINE, Output, Place, Placed, is_alive, processes_of, signal_counters, status_of, wait_until,
};
use nix::libc;
use nix::unistd::{Pid, getsid};
use std::fs;
use zklock::process::sys;
use zklock_core::signal::{RTMAX, RTMIN};

/// They end a waiter, and most commands.
const ENDING: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Faults of a process's own, which end it, and KILL.
const FAULTS: [i32; 8] = [
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGKILL,
];

/// What zklock doesn't catch, or for itself alone. A process group without a parent in its session isn't stopped for its
/// terminal.
const OWN: [i32; 3] = [libc::SIGCHLD, libc::SIGTTIN, libc::SIGTTOU];

/// All others but STOP, and but the last: that one says that all before it have come.
fn each() -> impl Iterator<Item = i32> {
    let is_other = |signal: &i32| *signal != libc::SIGSTOP && ![&FAULTS[..], &OWN].concat().contains(signal);
    (1..32).chain(RTMIN..RTMAX).filter(is_other)
}

/// How the first process, its child in the process group, and its child in another session begin a line.
const WHO: [&str; 3] = ["", "member ", "outside "];

/// A zklock whose command has two children.
struct Family {
    zklock: Placed,
    pid: Pid,
    /// In the order of [`WHO`].
    pids: [Pid; 3],
}

impl Family {
    /// `words` call zklock: `PATH` is the case's lock, `ZKLOCK` another zklock, and `YES` and `NO` are configuration files with that
    /// value of `single-child`. The first process exits with 7 at the signal `last`.
    #[track_caller]
    fn start(case: &Case, place: Place, words: &str, last: Option<i32>) -> Self {
        let mut words = words.replace("PATH", case.path());
        words = words.replace("ZKLOCK", &format!("{} -z {}", env!("CARGO_BIN_EXE_zklock"), case.hosts()));
        for (name, value) in [("YES", true), ("NO", false)] {
            let file = case.dir().join(name);
            fs::write(&file, format!("single-child = {value}\n")).expect("a file");
            words = words.replace(name, &file.display().to_string());
        }
        let command = words.split(' ').map(str::to_owned).chain(signal_counters(last));
        let zklock = place.start(case.zklock().args(["--kill-after", "600"]).args(command));
        zklock.wait_for("ready ");
        let is_counter = |name: &str| name.contains("signals.py") && !name.contains(" -- ");
        let all = processes_of(case.marker()).into_iter().filter(|(_, name)| is_counter(name));
        let all: Vec<Pid> = all.map(|(pid, _)| pid).collect();
        let parent =
            |pid: &Pid| status_of(*pid, "PPid").and_then(|parent| parent.parse().ok()).map(Pid::from_raw);
        let find = |is_it: &dyn Fn(&Pid) -> bool| *all.iter().find(|pid| is_it(pid)).expect("a process");
        let first = find(&|pid| !parent(pid).is_some_and(|parent| all.contains(&parent)));
        let outside = find(&|pid| *pid != first && getsid(Some(*pid)) == Ok(*pid));
        let member = find(&|pid| ![first, outside].contains(pid));
        Self { pid: zklock.pid(), zklock, pids: [first, member, outside] }
    }

    /// Sends zklock a signal.
    fn signal(&self, signal: i32) {
        sys::send(self.pid, signal).expect("a running zklock");
    }

    /// Waits until this one of [`WHO`] has got a signal so many times.
    #[track_caller]
    fn wait_for(&self, who: &str, signal: i32, times: usize) {
        let count = || got(&self.zklock.text(), who).iter().filter(|got| **got == signal).count();
        wait_until(&format!("{who}{signal}"), DEADLINE, || count() >= times);
    }

    /// Waits for the end of zklock, at which no process may be left.
    #[track_caller]
    fn assert_all_gone(self) -> Output {
        let output = self.zklock.wait();
        let left: Vec<_> = self.pids.into_iter().filter(|pid| is_alive(*pid)).collect();
        assert_eq!(left, [], "outlived zklock: {output}");
        output
    }
}

/// The signals that this one of [`WHO`] has got.
fn got(text: &str, who: &str) -> Vec<i32> {
    // A terminal shows the key, too.
    let lines = text.lines().map(|line| line.trim_start_matches(['^', 'C', '\\']));
    lines.filter_map(|line| line.strip_prefix(who)?.strip_prefix("got ")?.parse().ok()).collect()
}
