//! Missing permissions: zklock names the permission, and leaves nothing behind.

use crate::support::{Case, DEADLINE, end, holder, shared, wait_until};
use std::time::Duration;
use zookeeper::{Acl, CreateMode, Permission};

#[track_caller]
fn is_refused(case: &Case, options: &[&str], path: &str, permission: &str) {
    let output = case.zklock().args(options).args([path, "--", "echo", "ran"]).run();
    output.assert_code(125).assert_stderr(path).assert_stderr(permission);
    assert_eq!(output.stdout, "");
    assert!(output.elapsed < Duration::from_secs(25), "{:?}", output.elapsed);
}

/// Since ZooKeeper 3.9 a client needs READ to see whether a node exists.
#[test]
fn without_create_the_message_names_the_refusing_node_even_if_it_is_hidden() {
    let case = Case::new("hidden-mkdir");
    let above = case.guarded(Permission::WRITE);
    for options in [&[][..], &["-n"]] {
        let output = case.zklock().args(options).args([&format!("{above}/a/b"), "--", "echo", "ran"]).run();
        output.assert_code(125).assert_stderr(&format!("needs CREATE on {above};"));
    }
}

#[test]
fn without_create_no_contender_can_queue() {
    let case = Case::new("no-create");
    let path = case.guarded(Permission::READ);
    for options in [&[][..], &["-n"], &["-w", "60", "-E", "0"], &["-q"]] {
        is_refused(&case, options, &path, "CREATE");
    }
    assert_eq!(case.observer().children(&path), Vec::<String>::new());
}

#[test]
fn without_create_on_the_parent_no_lock_path_can_be_created() {
    let case = Case::new("no-mkdir");
    let above = case.guarded(Permission::READ);
    is_refused(&case, &[], &format!("{above}/a/b"), "CREATE");
    assert!(!case.observer().exists(&format!("{above}/a")));
}

#[test]
fn without_read_the_queue_cannot_be_seen() {
    // The observer authenticates as a user that may read the path, unlike zklock.
    let case = Case::new("no-read").authenticated_as("observer:secret");
    let path = format!("{}-guarded", case.path());
    let acl = [("world", "anyone", Permission::CREATE | Permission::DELETE), ("auth", "", Permission::ALL)];
    let acl: Vec<_> = acl.map(|(scheme, id, permissions)| Acl::new(permissions, scheme, id)).into();
    case.observer().create_with_acl(&path, "", CreateMode::Persistent, acl).unwrap();
    for options in [&[][..], &["-n"]] {
        is_refused(&case, options, &path, "READ");
        let children = case.observer().stat(&path).unwrap().num_children;
        assert_eq!(children, 0, "zklock's node is deleted");
    }
}

#[test]
fn without_delete_the_end_of_the_session_releases_the_lock() {
    let case = Case::new("no-delete");
    let path = case.guarded(Permission::READ | Permission::CREATE);
    for code in [0, 4] {
        let output = case.zklock().args([&path, "-c", &format!("exit {code}")]).run();
        output.assert_code(code);
        assert_eq!(case.observer().children(&path), Vec::<String>::new());
    }
}

#[test]
fn a_contender_that_cannot_be_read_is_waited_for() {
    let case = Case::new("unreadable");
    case.observer().mkdirs(case.path());
    let node = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let acl = vec![Acl::new(Permission::WRITE, "world", "anyone")];
    let mode = CreateMode::EphemeralSequential;
    let ahead = case.observer().create_with_acl(&node, "", mode, acl).unwrap();
    let waiter = case.lock(&["-v", "-w", "60"], ["echo", "ran"]).spawn();
    waiter.wait_for_line("position 2", DEADLINE);
    // Servers since 3.8.4 and 3.9.2 (CVE-2024-23944) send no events about a node to clients that may not read it.
    case.observer().delete(&ahead);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn an_ephemeral_node_can_hold_no_lock() {
    let case = Case::new("ephemeral");
    case.observer().mkdirs("/t");
    let ephemeral = format!("{}-ephemeral", case.path());
    case.observer().create(&ephemeral, "", CreateMode::Ephemeral);
    for path in [ephemeral.clone(), format!("{ephemeral}/a"), format!("{ephemeral}/a/b")] {
        for options in [&[][..], &["-n"]] {
            is_refused(&case, options, &path, "ephemeral");
        }
    }
    case.observer().delete(&ephemeral);
}

/// Sets an ACL on the last contender's node that denies reading it.
fn forbid_the_last_contender(case: &Case) {
    let node = format!("{}/{}", case.path(), case.contenders().pop().unwrap());
    let acl = vec![Acl::new(Permission::WRITE, "world", "anyone")];
    case.observer().call("set_acl", move |client| client.set_acl(&node, acl.clone(), None)).unwrap();
}

#[test]
fn a_waiter_that_loses_read_on_its_own_node_leaves_the_queue() {
    let case = Case::new("forbidden-waiter");
    let holder = case.holder();
    let waiter = case.lock(&["-v", "--session-timeout", "6"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    forbid_the_last_contender(&case);
    let output = waiter.wait(DEADLINE);
    output.assert_code(125).assert_stderr("zklock can't read its own node");
    assert_eq!(output.stdout, "");
    end(holder);
}

#[test]
fn a_holder_that_loses_read_on_its_own_node_reports_it_when_it_stops() {
    let case = Case::new("forbidden-holder");
    let holder = holder(&case, &["--session-timeout", "10"]);
    // From then on it doesn't read its node, which would show the same.
    case.wait_for_held_since(1);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    wait_until("it to watch its node again", DEADLINE, || shared().watchers_of(&node) == 1);
    forbid_the_last_contender(&case);
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost: no answer for ");
}
