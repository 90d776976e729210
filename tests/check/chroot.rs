//! The chroot of a connect string: it must exist before any lock can be acquired.

use super::{assert_line, check, json};
use crate::support::{Case, new_marker};

#[test]
fn a_missing_chroot_is_told_and_created_with_the_acl_that_was_asked_for() {
    let case = Case::new("check-chroot");
    let above = format!("/missing-{}", new_marker());
    let (hosts, observed) = (format!("{}{above}/app", case.hosts()), case.hosts().to_owned());
    let below = case.through(&hosts);
    let output = check(&below, &["/locks/job"]).run();
    let remedy = format!("'zklock check --create-chroot -z {hosts}'");
    assert_line(output.assert_code(125), "fail", "chroot", &remedy);
    let refused = below.zklock().args(["/locks/job", "--", "true"]).run();
    refused.assert_code(125).assert_stderr("'zklock check --create-chroot'");
    let document = json(&check(&below, &["--json"]).run());
    assert_eq!(document["chroot"]["exists"], false, "{document}");
    let acl = "world:anyone:cdrw";
    let output = check(&below, &["--create-chroot", "--acl", acl, "/locks/job"]).run();
    assert_line(output.assert_code(0), "ok", "chroot", "created");
    for node in [above.clone(), format!("{above}/app")] {
        assert_eq!(below.observer().acl(&node), [acl], "{node} on {observed}");
        assert_eq!(below.observer().stat(&node).unwrap().ephemeral_owner, 0, "it stays");
    }
    assert_line(check(&below, &["--create-chroot"]).run().assert_code(0), "ok", "chroot", "exists");
    let output = below.zklock().args(["/locks/job", "--", "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn without_permission_the_chroot_is_not_created_and_the_node_is_named() {
    let case = Case::new("check-chroot-acl");
    let above = format!("{}-guarded", case.path());
    case.observer().mkdirs("/t");
    let acl = vec![zookeeper::Acl::new(zookeeper::Permission::READ, "world", "anyone")];
    case.observer().create_with_acl(&above, "", zookeeper::CreateMode::Persistent, acl).unwrap();
    let hosts = format!("{}{above}/app", case.hosts());
    let output = check(&case.through(&hosts), &["--create-chroot"]).run();
    assert_line(output.assert_code(125), "fail", "chroot", &format!("zklock needs CREATE on {above}"));
}
