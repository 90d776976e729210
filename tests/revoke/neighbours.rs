//! Curator has a way to ask, which we share; kazoo has none.

use super::{end, holder, revoke};
use crate::support::{Case, SOON, curator, kazoo};

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
fn curator_s_revoker_stops_a_holder() {
    let case = Case::new("revoke-by-curator");
    for naming in ["curator", "curator-rw"] {
        let holder = holder(&case, &["--naming", naming]);
        curator().revoke(&format!("{}/{}", case.path(), case.contenders()[0]));
        holder.wait(SOON).assert_code(123).assert_stderr("the lock was revoked by another client");
    }
}

/// Asked a second time it would hear nothing new.
#[test]
fn a_lock_of_curator_s_that_was_asked_before_is_told_so() {
    let case = Case::new("revoke-curator-twice");
    let held = curator().take("mutex", case.path());
    held.wait_held();
    assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(": asked to stop\n"));
    assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(": was asked to stop before\n"));
    assert!(held.is_held(), "one that listens to nobody goes on");
    held.give();
}

#[test]
fn kazoo_s_locks_cannot_be_asked_and_force_is_named() {
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
fn another_program_s_lock_is_known_by_what_its_node_says_and_by_its_name() {
    let case = Case::new("revoke-named");
    for (kind, said) in [("lock", "node "), ("named", "kazoo-host:4711 (node ")] {
        let held = kazoo().take(kind, case.path());
        held.wait_held();
        let name = case.contenders()[0].clone();
        let told = revoke(&case, &["--force"]).assert_code(0).stdout.clone();
        assert!(told.starts_with(&format!("{}: {said}{name}", case.path())), "{told}");
        held.give();
    }
}

#[test]
fn a_zklock_beside_kazoo_s_locks_can_be_revoked() {
    let case = Case::new("revoke-kazoo-ours");
    let ours = holder(&case, &["--naming", "kazoo"]);
    revoke(&case, &[]).assert_code(0);
    ours.wait(SOON).assert_code(123).assert_stderr("revoked by");
    let ours = holder(&case, &["--naming", "kazoo", "--on-lost", "continue"]);
    let theirs = kazoo().take("lock", case.path());
    case.wait_for_contenders(2);
    // One that can't be asked among those who are meant: nobody is.
    revoke(&case, &["--all"]).assert_code(125);
    assert_eq!(ours.stderr().text(), "");
    end(ours);
    theirs.wait_held();
    theirs.give();
}
