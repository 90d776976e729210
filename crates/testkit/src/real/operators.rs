//! Starts and ends contenders as an operator does.

use super::{Case, DEADLINE, Running};
use nix::sys::signal::Signal;

/// Starts a contender whose command runs until it gets a signal, and returns when the contender holds the lock.
#[track_caller]
pub fn holder(case: &Case, options: &[&str]) -> Running {
    let holder = case.lock(options, ["sh", "-c", "echo holding; exec sleep 60"]).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    holder
}

/// Starts a contender whose command is a bash script that prints `ready`, and returns when `ready` is printed.
#[track_caller]
pub fn start(case: &Case, options: &[&str], script: &str) -> Running {
    let running = case.lock(options, ["bash", "-c", script]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running
}

/// Stops the contender with TERM, and checks that it dies of that signal.
#[track_caller]
pub fn end(contender: Running) {
    contender.signal(Signal::SIGTERM);
    contender.wait(DEADLINE).assert_signal(Signal::SIGTERM);
}

/// A holder whose command ignores TERM: it stays for a while after its lock is revoked or lost.
pub fn deaf_holder(case: &Case, options: &[&str]) -> Running {
    let options = [&["--kill-after", "60"], options].concat();
    let deaf = "trap '' TERM; echo running; while :; do sleep 1; done";
    let holder = case.lock(&options, ["sh", "-c", deaf]).spawn();
    holder.wait_for_stdout("running", DEADLINE);
    holder
}

/// Ends such a holder once its lock is revoked or lost: a second TERM sends KILL.
#[track_caller]
pub fn end_deaf(holder: Running) {
    // A signal before the forced stop would only be forwarded.
    holder.wait_for_line("revoked by", DEADLINE);
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE).assert_code(123);
}

/// Ends a holder, and checks that it releases its lock, which it still has.
#[track_caller]
pub fn end_holder(holder: Running) {
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE).assert_signal(Signal::SIGTERM).assert_stderr("released");
}

/// The name of this host, as it appears in lock nodes.
pub fn host() -> String {
    nix::unistd::gethostname().expect("a host name").into_string().expect("UTF-8")
}
