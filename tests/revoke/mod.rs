//! `zklock revoke`: asks contenders to give up, or takes their nodes away.

mod asked;
mod forced;
mod neighbours;
mod refused;
mod whom;

use crate::support::{Case, Output, Running, SOON};
use nix::sys::signal::Signal;

/// The end of `zklock revoke` of the case's lock with these words.
#[track_caller]
fn revoke(case: &Case, words: &[&str]) -> Output {
    case.zklock().args(["revoke", case.path()]).args(words).run()
}

/// A contender whose job waits for a signal; returns when it holds.
#[track_caller]
fn holder(case: &Case, options: &[&str]) -> Running {
    let holder = case.lock(options, ["sh", "-c", "echo running; exec sleep 60"]).spawn();
    holder.wait_for_stdout("running", SOON);
    holder
}

/// A contender that has to wait; returns with its node when it is the one with this place in the queue.
#[track_caller]
fn waiter(case: &Case, place: usize) -> (Running, String) {
    let waiter = case.lock(&[], ["echo", "ran"]).spawn();
    let node = case.wait_for_contenders(place).pop().unwrap();
    (waiter, node)
}

#[track_caller]
fn end(contender: Running) {
    contender.signal(Signal::SIGTERM);
    contender.wait(SOON).assert_signal(Signal::SIGTERM);
}

fn host() -> String {
    nix::unistd::gethostname().expect("a host name").into_string().expect("UTF-8")
}
