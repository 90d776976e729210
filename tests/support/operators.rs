//! Contenders as an operator meets them.

use super::{Case, Running, SOON};
use nix::sys::signal::Signal;

/// A contender whose job waits for a signal; returns when it holds.
#[track_caller]
pub(crate) fn holder(case: &Case, options: &[&str]) -> Running {
    let holder = case.lock(options, ["sh", "-c", "echo running; exec sleep 60"]).spawn();
    holder.wait_for_stdout("running", SOON);
    holder
}

/// A zklock that holds the lock, and whose command is a bash script that says `ready`.
#[track_caller]
pub(crate) fn start(case: &Case, options: &[&str], script: &str) -> Running {
    let running = case.lock(options, ["bash", "-c", script]).spawn();
    running.wait_for_stdout("ready", SOON);
    running
}

/// Somebody stops it, and it ends of that.
#[track_caller]
pub(crate) fn end(contender: Running) {
    contender.signal(Signal::SIGTERM);
    contender.wait(SOON).assert_signal(Signal::SIGTERM);
}

/// The name of this host, as nodes tell it.
pub(crate) fn host() -> String {
    nix::unistd::gethostname().expect("a host name").into_string().expect("UTF-8")
}
