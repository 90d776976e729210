//! It reads, and needs no more than the permission to read.

use super::{json, status};
use crate::support::{Case, Observer, shared};
use std::time::Duration;
use zookeeper::{Acl, CreateMode, Permission};

/// A client whose nodes go with the test.
fn owner() -> Observer {
    Observer::with_session(&shared().connect_string(), Duration::from_secs(20))
}

fn anyone(permissions: Permission) -> Vec<Acl> {
    vec![Acl::new(permissions, "world", "anyone")]
}

/// A contender at `path`, with whose node everybody may do only this.
fn contender(owner: &Observer, path: &str, permissions: Permission) -> String {
    owner.mkdirs(path);
    let name = format!("{path}/_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-lock-");
    let mode = CreateMode::EphemeralSequential;
    owner.create_with_acl(&name, "10.0.0.7", mode, anyone(permissions)).unwrap()
}

/// From now on everybody may do no more with the node than this.
fn restrict(owner: &Observer, path: &str, permissions: Permission) {
    let node = path.to_owned();
    owner.call("set_acl", move |client| client.set_acl(&node, anyone(permissions), None)).unwrap();
}

#[test]
fn read_is_enough() {
    let (case, owner) = (Case::new("read-only"), owner());
    let path = format!("{}-guarded", case.path());
    let node = contender(&owner, &path, Permission::READ);
    restrict(&owner, &path, Permission::READ);
    let output = status(&case, &[&path]);
    assert!(output.assert_code(0).stdout.contains("10.0.0.7"), "{output}");
    assert_eq!(output.stderr, "");
    assert_eq!(json(&case, &["--recursive", &path])["locks"][0]["contenders"][0]["node"], node.as_str());
    status(&case, &["--exit-code", &path]).assert_code(1);
}

#[test]
fn of_a_node_that_may_not_be_read_what_everybody_may_know_is_shown() {
    let (case, owner) = (Case::new("unreadable"), owner());
    let path = format!("{}-guarded", case.path());
    let node = contender(&owner, &path, Permission::DELETE);
    let stat = owner.stat(&node).unwrap();
    let contender = json(&case, &[&path])["locks"][0]["contenders"][0].clone();
    let since = super::rfc3339(stat.ctime);
    assert_eq!(contender["since"], since);
    assert_eq!(contender["fencing_token"], stat.czxid);
    assert_eq!(contender["session"], format!("{:#x}", stat.ephemeral_owner));
    assert_eq!((&contender["state"], &contender["mode"]), (&"held".into(), &"exclusive".into()));
    assert!(contender["host"].is_null() && contender["label"].is_null(), "{contender}");
}

/// "Nobody" and "can't see" are not the same.
#[test]
fn a_lock_whose_queue_may_not_be_read_is_not_called_free() {
    let (case, owner) = (Case::new("no-list"), owner());
    let path = format!("{}-guarded", case.path());
    contender(&owner, &path, Permission::READ);
    restrict(&owner, &path, Permission::CREATE | Permission::WRITE);
    for options in [&[][..], &["--json"], &["--exit-code"], &["--exit-code", "--recursive"]] {
        let output = status(&case, &[options, &[&path]].concat());
        output.assert_code(125).assert_stderr(&path).assert_stderr("READ");
        assert!(!output.stdout.contains("free"), "{output}");
    }
}

/// One closed door must not hide all the rest.
#[test]
fn a_recursive_look_goes_past_what_it_may_not_read_and_says_so() {
    let (case, owner) = (Case::new("no-list-below"), owner());
    let (open, closed) = (format!("{}-a/open", case.path()), format!("{}-a/closed", case.path()));
    contender(&owner, &open, Permission::READ);
    contender(&owner, &closed, Permission::READ);
    restrict(&owner, &closed, Permission::CREATE);
    let above = format!("{}-a", case.path());
    let output = status(&case, &["--recursive", &above]);
    output.assert_code(0).assert_stderr(&closed).assert_stderr("READ");
    assert!(output.stdout.contains(&open), "{output}");
}
