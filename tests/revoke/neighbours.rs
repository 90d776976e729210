//! Revoking locks of other clients: zklock uses Curator's mark; kazoo has none.

use super::{end, holder, revoke};
use crate::support::{Case, DEADLINE, curator, kazoo};

#[test]
fn a_revocable_lock_of_curator_s_obeys_revoke() {
    let case = Case::new("revoke-curator");
    let held = curator().take("revocable", case.path());
    held.wait_held();
    let output = revoke(&case, &[]);
    assert!(output.assert_code(0).stdout.ends_with(": asked to stop\n"), "{output}");
    held.wait_asked();
    held.wait_released();
    case.wait_for_contenders(0);
}

#[test]
fn curator_s_revoker_stops_a_holder_and_a_waiter() {
    let case = Case::new("revoke-by-curator");
    let revoke = |node: &String| curator().revoke(&format!("{}/{node}", case.path()));
    for naming in ["curator", "curator-rw"] {
        let holder = holder(&case, &["--naming", naming]);
        let waiter = case.lock(&["--naming", naming], ["echo", "must not run"]).spawn();
        let nodes = case.wait_for_contenders(2);
        revoke(&nodes[1]);
        let output = waiter.wait(DEADLINE);
        output.assert_code(125).assert_stderr("revoked by another client").assert_stdout("");
        case.wait_for_contenders(1);
        revoke(&nodes[0]);
        holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is revoked by another client");
    }
}

/// A second request would change nothing.
#[test]
fn a_second_revoke_of_a_curator_lock_says_that_it_was_asked_before() {
    let case = Case::new("revoke-curator-twice");
    let held = curator().take("mutex", case.path());
    held.wait_held();
    assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(": asked to stop\n"));
    assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(": was asked to stop before\n"));
    assert!(held.is_held(), "a lock without a listener is kept");
    held.give();
}

#[test]
fn a_kazoo_lock_can_only_be_revoked_with_force() {
    let case = Case::new("revoke-kazoo");
    let held = kazoo().take("lock", case.path());
    held.wait_held();
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    for words in [&[][..], &["--all"]] {
        let output = revoke(&case, words);
        output.assert_code(125).assert_stderr("kazoo").assert_stderr("--force").assert_stderr(&node);
    }
    assert_eq!(case.observer().data(&node).as_deref(), Some(""), "untouched");
    held.give();
}

#[test]
fn another_program_s_lock_is_named_by_its_data_and_its_node() {
    let case = Case::new("revoke-named");
    for (kind, owner) in [("lock", "node "), ("named", "kazoo-host:4711 (node ")] {
        let held = kazoo().take(kind, case.path());
        held.wait_held();
        let name = case.contenders()[0].clone();
        let message = revoke(&case, &["--force"]).assert_code(0).stdout.clone();
        assert!(message.starts_with(&format!("{}: {owner}{name}", case.path())), "{message}");
        held.give();
    }
}

#[test]
fn a_zklock_beside_kazoo_s_locks_can_be_revoked() {
    let case = Case::new("revoke-kazoo-ours");
    let zklock = holder(&case, &["--naming", "kazoo"]);
    revoke(&case, &[]).assert_code(0);
    zklock.wait(DEADLINE).assert_code(123).assert_stderr("revoked by");
    let zklock = holder(&case, &["--naming", "kazoo"]);
    let kazoo_lock = kazoo().take("lock", case.path());
    case.wait_for_contenders(2);
    // If one of the contenders can't be asked, none is.
    revoke(&case, &["--all"]).assert_code(125);
    assert_eq!(zklock.stderr().text(), "");
    end(zklock);
    kazoo_lock.wait_held();
    kazoo_lock.give();
}
