//! Ends of a run that need code which hasn't run before, after the program's file is removed.

use super::{Queue, installed};
use crate::support::{Case, DEADLINE, Running, worker_of};
use nix::sys::signal::{Signal, kill};
use std::fs;

/// Starts a queue, removes its file, and lets `end` end the holder. The waiters run afterwards.
#[track_caller]
fn after_removal(name: &str, end: impl FnOnce(&Case, Running)) {
    let case = Case::new(name);
    let program = installed(&case, "zklock");
    let queue = Queue::start(&case, &program);
    fs::remove_file(&program).unwrap();
    let Queue { holder, waiters } = queue;
    end(&case, holder);
    super::assert_they_run(waiters);
}

#[test]
fn a_signal_ends_the_command() {
    after_removal("removed-term", |_, holder| super::end(holder));
}

#[test]
fn a_revocation_ends_the_command() {
    after_removal("removed-revoke", |case, holder| {
        case.zklock().args(["revoke", case.path()]).run().assert_code(0);
        holder.wait(DEADLINE).assert_code(123).assert_stderr("revoked by");
    });
}

#[test]
fn the_monitor_ends_the_command_of_a_killed_worker() {
    after_removal("removed-worker", |_, holder| {
        kill(worker_of(holder.pid()), Signal::SIGKILL).unwrap();
        holder.wait(DEADLINE).assert_code(123).assert_stderr("the worker process was killed");
    });
}

#[test]
fn the_worker_ends_the_command_of_a_killed_monitor() {
    after_removal("removed-monitor", |_, holder| {
        holder.signal(Signal::SIGKILL);
        holder.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    });
}
