//! Errors of `revoke`, which name the missing permission or the wrong argument.

use super::revoke;
use crate::support::{Case, Observer, shared};
use std::time::Duration;
use zookeeper::{CreateMode, Permission};

#[test]
fn revoke_names_the_missing_permission() {
    let case = Case::new("revoke-acl");
    // Its node is deleted with its session at the end of the test.
    let owner = Observer::with_session(&shared().connect_string(), Duration::from_secs(20));
    let path = format!("{}-guarded", case.path());
    let node = owner.contend(&path, "10.0.0.7", Permission::READ);
    owner.restrict(&path, Permission::READ);
    for (words, permission) in [(&[][..], "WRITE on its node"), (&["--force"], "DELETE on the lock path")] {
        let output = case.zklock().args(["revoke", &path]).args(words).run();
        output.assert_code(125).assert_stderr("no permission").assert_stderr(permission).assert_stderr(&node);
        assert_eq!(output.stdout, "", "nothing was changed");
    }
    assert_eq!(owner.data(&node).as_deref(), Some("10.0.0.7"));
}

/// A mark would overwrite somebody's data.
#[test]
fn a_node_that_no_session_owns_is_not_asked_but_can_be_deleted() {
    let case = Case::new("revoke-persistent");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let node = case.observer().create(&name, "data", CreateMode::PersistentSequential);
    let asked = case.zklock().args(["revoke", case.path()]).run();
    asked
        .assert_code(125)
        .assert_stderr(&node)
        .assert_stderr("no session owns it, so nobody can be asked; --force deletes the node");
    assert_eq!(case.observer().data(&node).as_deref(), Some("data"));
    let forced = revoke(&case, &["--force"]);
    assert!(forced.assert_code(0).stdout.ends_with(": its node is deleted\n"), "{forced}");
}

/// Since ZooKeeper 3.9 a client learns nothing about a node that it may not read. Deleting one only takes DELETE on its
/// parent.
#[test]
fn a_hidden_node_can_be_deleted_by_force() {
    let case = Case::new("revoke-hidden");
    let owner = Observer::with_session(&shared().connect_string(), Duration::from_secs(20));
    let node = owner.contend(case.path(), "10.0.0.7", Permission::ADMIN);
    let asked = case.zklock().args(["revoke", case.path()]).run();
    asked
        .assert_code(125)
        .assert_stderr("no permission")
        .assert_stderr("WRITE on its node")
        .assert_stderr(&node);
    let forced = revoke(&case, &["--force"]);
    assert!(forced.assert_code(0).stdout.ends_with(": its node is deleted\n"), "{forced}");
    assert_eq!(case.contenders(), Vec::<String>::new());
}

/// Deleting a named node takes DELETE on its parent, and nothing else.
#[test]
fn a_named_node_can_be_deleted_by_force_without_read_on_the_path() {
    let case = Case::new("revoke-unlisted");
    let owner = Observer::with_session(&shared().connect_string(), Duration::from_secs(20));
    let path = format!("{}-guarded", case.path());
    let nodes = [Permission::ALL, Permission::READ, Permission::ADMIN]
        .map(|permissions| owner.contend(&path, "10.0.0.7", permissions));
    let other = owner.create(&format!("{path}/config-"), "", CreateMode::EphemeralSequential);
    owner.restrict(&path, Permission::DELETE);
    let revoke = |words: &[&str]| case.zklock().args(["revoke", &path]).args(words).run();
    for words in [&["--force"][..], &["--force", "--all"]] {
        revoke(words).assert_code(125).assert_stderr("no permission to look there (READ)");
    }
    for node in &nodes {
        for (code, ends) in [(0, ": its node is deleted\n"), (1, "")] {
            let output = revoke(&["--force", "--node", node]);
            assert!(output.assert_code(code).stdout.ends_with(ends), "{output}");
        }
        assert!(!owner.exists(node));
    }
    // No recipe's contender has such a name.
    revoke(&["--force", "--node", &other]).assert_code(1).assert_stderr("no contender has the node");
    assert!(owner.exists(&other));
}
