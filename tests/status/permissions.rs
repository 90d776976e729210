//! `status` needs only READ, and reports what it can't read.

use super::{json as seen_in, status};
use crate::support::{Case, Observer, shared};
use serde_json::json;
use std::time::Duration;
use zookeeper::Permission;

/// A client whose nodes are deleted with its session at the end of the test.
fn owner() -> Observer {
    Observer::with_session(&shared().connect_string(), Duration::from_secs(20))
}

#[test]
fn status_only_needs_read() {
    let (case, owner) = (Case::new("read-only"), owner());
    let path = format!("{}-guarded", case.path());
    let node = owner.contend(&path, "10.0.0.7", Permission::READ);
    owner.restrict(&path, Permission::READ);
    let output = status(&case, &[&path]);
    assert!(output.assert_code(0).stdout.contains("10.0.0.7"), "{output}");
    assert_eq!(output.stderr, "");
    assert_eq!(seen_in(&case, &["--recursive", &path])["locks"][0]["contenders"][0]["node"], node.as_str());
    status(&case, &["--exit-code", &path]).assert_code(1);
}

/// Since ZooKeeper 3.9 only the name of such a node is public. It hides no other contender and no other lock.
#[test]
fn an_unreadable_node_is_shown_with_its_public_data_among_the_others() {
    let (case, owner) = (Case::new("unreadable"), owner());
    let (path, other) = (format!("{}-guarded", case.path()), format!("{}-open", case.path()));
    let node = owner.contend(&path, "10.0.0.7", Permission::DELETE);
    let shown = owner.contend(&path, "10.0.0.7", Permission::READ);
    owner.contend(&other, "10.0.0.7", Permission::READ);
    let seen = seen_in(&case, &[&path, &other]);
    let contender = &seen["locks"][0]["contenders"][0];
    assert_eq!(contender["node"], node.as_str());
    let stat = owner.stat_if_shown(&node);
    assert_eq!(contender["since"], json!(stat.as_ref().map(|stat| super::rfc3339(stat.ctime))));
    assert_eq!(contender["fencing_token"], json!(stat.as_ref().map(|stat| stat.czxid)));
    assert_eq!(contender["session"], json!(stat.as_ref().map(|stat| format!("{:#x}", stat.ephemeral_owner))));
    assert_eq!((&contender["state"], &contender["mode"]), (&"held".into(), &"exclusive".into()));
    assert!(contender["host"].is_null() && contender["label"].is_null(), "{contender}");
    let second = &seen["locks"][0]["contenders"][1];
    assert_eq!((&second["node"], &second["host"]), (&shown.into(), &"10.0.0.7".into()));
    assert_eq!(seen["locks"][1]["contenders"][0]["host"], "10.0.0.7");
    let table = status(&case, &["--exit-code", &path]).assert_code(1).stdout.clone();
    assert!(table.contains("held by 1, 1 waiting"), "{table}");
    assert_eq!(table.contains("(hidden)"), stat.is_none(), "{table}");
}

#[test]
fn a_watch_shows_hidden_contenders_queue_and_leave() {
    let (case, owner) = (Case::new("hidden-watch"), owner());
    owner.mkdirs(case.path());
    let watch = case.zklock().args(["status", "--watch", "--json", case.path()]).spawn();
    let count = |count: usize| {
        super::wait_for_documents(&watch, |documents| {
            documents.last().unwrap()["locks"][0]["contenders"].as_array().unwrap().len() == count
        });
    };
    count(0);
    let hidden = owner.contend(case.path(), "10.0.0.7", Permission::DELETE);
    let is_reported = owner.stat_if_shown(&hidden).is_none();
    if is_reported {
        count(1);
    }
    let shown = owner.contend(case.path(), "10.0.0.7", Permission::READ);
    count(2);
    owner.delete(&hidden);
    if is_reported {
        count(1);
    }
    owner.delete(&shown);
    count(0);
    crate::support::end(watch);
}

/// The other locks are shown, and the exit code reports the missing one: "free" and "unknown" are different states. Among all
/// locks below a path, one that can't be read is only reported.
#[test]
fn a_lock_that_cannot_be_listed_is_not_shown_as_free_and_hides_no_other() {
    let (case, owner) = (Case::new("no-list"), owner());
    let above = format!("{}-a", case.path());
    let (closed, open) = (format!("{above}/closed"), format!("{above}/open"));
    owner.contend(&open, "10.0.0.7", Permission::READ);
    owner.contend(&closed, "10.0.0.7", Permission::READ);
    owner.restrict(&closed, Permission::CREATE | Permission::WRITE);
    for (words, code, shown) in [
        (&[open.as_str(), &closed][..], 125, format!("{closed}  hidden: no permission")),
        (&["--json", &open, &closed], 125, "\"contenders\": null".to_owned()),
        (&["--exit-code", &open, &closed], 125, open.clone()),
        (&["--exit-code", "--recursive", &closed], 125, String::new()),
        (&["--recursive", &above], 0, open.clone()),
    ] {
        let output = status(&case, words);
        output.assert_code(code).assert_stderr(&closed).assert_stderr("READ").assert_stdout(&shown);
        assert!(!output.stdout.contains("free"), "{output}");
        assert_eq!(
            output.stdout.contains("10.0.0.7"),
            words.contains(&open.as_str()) || code == 0,
            "{output}"
        );
    }
}
