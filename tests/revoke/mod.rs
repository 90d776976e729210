//! `zklock revoke` asks contenders to give up, or deletes their nodes.

mod forced;
mod neighbours;
mod refused;
mod request;
mod targets;

use crate::support::{Case, Output, Running, end, holder, host};

/// Runs `zklock revoke` of the case's lock with these options.
#[track_caller]
fn revoke(case: &Case, words: &[&str]) -> Output {
    case.zklock().args(["revoke", case.path()]).args(words).run()
}

/// Starts a waiter, and returns it with its node when it has this position in the queue.
#[track_caller]
fn waiter(case: &Case, place: usize) -> (Running, String) {
    let waiter = case.lock(&[], ["echo", "ran"]).spawn();
    let node = case.wait_for_contenders(place).pop().unwrap();
    (waiter, node)
}
