//! The check tries the permissions that a contender needs with a node of its own, which is never left behind.

use super::{assert_line, check};
use crate::support::{At, Case, DEADLINE, Proxy, Server, end, op, shared, wait_until};
use nix::sys::signal::Signal;
use std::time::Duration;
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
fn without_delete_it_works_with_a_warning_and_the_probe_goes_with_the_session() {
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
fn ctrl_c_leaves_nothing_behind() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let proxy = Proxy::to(shared());
        let case = Case::new("check-ctrl-c").through(&proxy.connect_string());
        case.observer().mkdirs(case.path());
        proxy.once(op::MULTI, At::Hold);
        // The session itself would end only long after the test.
        let check =
            check(&case, &["--session-timeout", "60", "--connect-timeout", "60", case.path()]).spawn();
        proxy.wait_fired(1, DEADLINE);
        wait_until("the probe", DEADLINE, || case.contenders().len() == 1);
        check.signal(signal);
        // The answer never comes. The request that the check sent before it ended is in flight.
        let output = check.wait(DEADLINE);
        output.assert_signal(signal);
        assert_eq!(output.stdout, "");
        proxy.release();
        wait_until("the probe to go", Duration::from_secs(20), || case.contenders().is_empty());
    }
}

#[test]
fn a_check_disturbs_no_queue() {
    let case = Case::new("check-queue");
    let holder = case.holder();
    let waiter = case.lock(&["-v"], ["echo", "ran"]).spawn();
    waiter.wait_for_line("waiting for", DEADLINE);
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
