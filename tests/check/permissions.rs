//! The check tries the permissions that a contender needs with a node of its own, which is never left behind.

use super::{assert_line, check};
use crate::support::{Case, DEADLINE, Proxy, Server, end, op, shared};
use zookeeper::{Acl, CreateMode, Permission};

#[test]
fn without_create_the_nearest_node_that_is_there_is_named() {
    let case = Case::new("check-no-create");
    let above = case.guarded(Permission::READ);
    let output = check(&case, &[&format!("{above}/a/b")]).run();
    assert_line(
        output.assert_code(125),
        "fail",
        "permissions",
        &format!("no CREATE on {above}, needed to queue"),
    );
}

#[test]
fn without_read_no_queue_can_be_seen() {
    let case = Case::new("check-no-read").authenticated_as("observer:secret");
    let path = format!("{}-guarded", case.path());
    let acl = [("world", "anyone", Permission::CREATE | Permission::DELETE), ("auth", "", Permission::ALL)];
    let acl: Vec<_> = acl.map(|(scheme, id, permissions)| Acl::new(permissions, scheme, id)).into();
    case.observer().create_with_acl(&path, "", CreateMode::Persistent, acl).unwrap();
    assert_line(check(&case, &[&path]).run().assert_code(125), "fail", "permissions", "no READ on");
    assert_eq!(case.observer().children(&path), Vec::<String>::new());
}

#[test]
fn without_delete_it_works_with_a_warning_and_nothing_is_left() {
    let case = Case::new("check-no-delete");
    let path = case.guarded(Permission::READ | Permission::CREATE);
    assert_line(check(&case, &[&path]).run().assert_code(1), "warn", "permissions", "no DELETE on");
    assert_eq!(case.observer().children(&path), Vec::<String>::new());
}

/// zklock creates the lock path, with an ACL of its own.
#[test]
fn above_a_lock_path_that_is_yet_to_be_made_no_delete_is_needed() {
    let case = Case::new("check-no-delete-above");
    let path = format!("{}/new", case.guarded(Permission::READ | Permission::CREATE));
    assert_line(check(&case, &[&path]).run().assert_code(0), "ok", "permissions", "CREATE");
    case.zklock().args(["-v", &path, "true"]).run().assert_code(0).assert_stderr("released");
}

#[test]
fn nobody_sees_the_node_of_a_check() {
    let proxy = Proxy::to(shared());
    let case = Case::new("check-unseen").through(&proxy.connect_string());
    for _ in 0..2 {
        check(&case, &[case.path()]).run().assert_code(0);
        case.observer().mkdirs(case.path());
    }
    let seen = [op::CREATE, op::CREATE_CONTAINER, op::DELETE].map(|request| proxy.count(request));
    assert_eq!(seen, [0; 3], "it is created and deleted in one transaction");
}

#[test]
fn a_check_disturbs_no_queue() {
    let case = Case::new("check-queue");
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    check(&case, &[case.path()]).run().assert_code(0);
    assert_eq!(case.contenders().len(), 2);
    end(holder);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

/// A quota counts the data of nodes, too, so the check's probe has as much as a contender's node.
#[test]
fn a_quota_that_a_contender_would_exceed_is_a_failure() {
    let server = Server::builder().java_option("-Dzookeeper.enforceQuota=true").start();
    let case = Case::on(&server, "check-quota");
    case.observer().mkdirs(case.path());
    let quota = format!("/zookeeper/quota{}", case.path());
    case.observer().mkdirs(&quota);
    let limits = "count=-1,bytes=-1=;byteHardLimit=150;countHardLimit=-1";
    for (name, data) in [("limits", limits), ("stats", "count=1,bytes=0")] {
        case.observer().create(&format!("{quota}/zookeeper_{name}"), data, CreateMode::Persistent);
    }
    case.zklock()
        .args([case.path(), "true"])
        .run()
        .assert_code(125)
        .assert_stderr("a quota set on the server");
    let output = check(&case, &[case.path()]).run();
    assert_line(output.assert_code(125), "fail", "permissions", "a quota set on the server is used up");
}
