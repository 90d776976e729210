//! Rolling upgrades: zklocks of two versions share queues, each ahead of the other.
//!
//! The variable `ZKLOCK_OTHER` names the other version's program, which `scripts/versions --zklock REV` builds. If it isn't
//! set, these tests are skipped. Versions may word their messages differently, so these tests look at queues, exit codes
//! and JSON.

mod nested;
mod records;

use crate::queues::{Cause, Queue, try_pairs, try_schedules, try_stories};
use crate::support::Version::{Other, This};
use crate::support::{Case, Version, Zklock, has_other_version};
use std::os::unix::fs::PermissionsExt;

/// zklock of this version with these options, the case's lock path, and a shell script.
fn lock(version: Version, case: &Case, options: &[&str], script: &str) -> Zklock {
    case.lock(options, ["sh", "-c", script]).program(version.program())
}

/// Runs `test` with each version in either role.
fn in_both_orders(test: impl Fn([Version; 2])) {
    if has_other_version() {
        test([This, Other]);
        test([Other, This]);
    }
}

#[test]
fn two_versions_exclude_each_other_share_or_refuse() {
    in_both_orders(try_pairs);
}

#[test]
fn two_versions_run_in_turn() {
    in_both_orders(try_stories);
}

#[test]
fn two_versions_never_overtake_or_join_what_they_exclude() {
    in_both_orders(try_schedules);
}

/// Whom a holder signals concerns no other contender. The other version may not know the option.
#[test]
fn a_holder_that_signals_its_first_process_alone_is_stopped_by_the_other_version() {
    if has_other_version() {
        let mut queue = Queue::new([This, Other]);
        queue.add_all(&["--single-child", "zklock"]);
        queue.leave(Cause::Revoke, &[1]);
        queue.assert_holders(&[2]);
        queue.finish();
    }
}

/// Nodes that only the same credentials may use.
#[test]
fn two_versions_with_the_same_credentials_share_a_queue() {
    in_both_orders(|versions| {
        let case = Case::new("upgrade-auth").authenticated_as("alice:wonder");
        let file = case.dir().join("auth");
        std::fs::write(&file, "digest:alice:wonder\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut queue = Queue::of(case, versions, &["--auth-file", file.to_str().unwrap()]);
        queue.add_all(&["zklock"; 3]);
        queue.leave(Cause::End, &[1]);
        queue.assert_holders(&[2]);
        queue.leave(Cause::Revoke, &[2]);
        queue.assert_holders(&[3]);
        queue.finish();
    });
}
