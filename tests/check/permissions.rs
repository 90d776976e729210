//! The check tries the permissions that a contender needs with a node of its own, which is never left behind.

use super::{assert_line, check};
use crate::support::{Case, DEADLINE, Proxy, Server, end, op, shared};
use zookeeper::CreateMode;

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
