//! `zklock revoke`: asks contenders to give up, or takes their nodes away.

mod asked;
mod forced;
mod neighbours;
mod refused;
mod whom;

use crate::support::{Case, Output, Running, end, holder, host};

/// The end of `zklock revoke` of the case's lock with these words.
#[track_caller]
fn revoke(case: &Case, words: &[&str]) -> Output {
    case.zklock().args(["revoke", case.path()]).args(words).run()
}

/// A contender that has to wait; returns with its node when it is the one with this place in the queue.
#[track_caller]
fn waiter(case: &Case, place: usize) -> (Running, String) {
    let waiter = case.lock(&[], ["echo", "ran"]).spawn();
    let node = case.wait_for_contenders(place).pop().unwrap();
    (waiter, node)
}
