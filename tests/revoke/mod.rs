//! `zklock revoke` asks contenders to give up, or deletes their nodes.

mod forced;
mod refused;
mod request;
mod targets;

use crate::support::{Case, Output, end, holder, host};

/// Runs `zklock revoke` of the case's lock with these options.
#[track_caller]
fn revoke(case: &Case, words: &[&str]) -> Output {
    case.zklock().args(["revoke", case.path()]).args(words).run()
}
