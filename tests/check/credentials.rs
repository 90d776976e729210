//! zklock's identity for the servers: names are shown, secrets aren't.

use super::{assert_line, check, json};
use crate::support::Case;
use zookeeper::{Acl, CreateMode, Permission};

#[test]
fn credentials_that_the_servers_refuse_are_named_without_the_secret() {
    let case = Case::new("check-refused");
    let output = check(&case, &[]).env("ZKLOCK_AUTH", "nosuch:s3cret").run();
    assert_line(output.assert_code(125), "fail", "credentials", "refused the credentials: check the lines");
    assert!(!output.stdout.contains("s3cret") && !output.stderr.contains("s3cret"), "{output}");
}

#[test]
fn a_digest_that_the_nodes_do_not_admit_lacks_permissions() {
    let case = Case::new("check-digest").authenticated_as("alice:wonder");
    let path = format!("{}-guarded", case.path());
    let acl = vec![Acl::new(Permission::ALL, "auth", "")];
    case.observer().create_with_acl(&path, "", CreateMode::Persistent, acl).unwrap();
    let output = check(&case, &[&path]).env("ZKLOCK_AUTH", "digest:alice:wr0ng").run();
    assert_line(output.assert_code(125), "fail", "permissions", "no CREATE on");
    assert_line(&output, "fail", "permissions", "ask for it for digest:alice, or use other credentials");
    assert!(!output.stdout.contains("wr0ng"), "{output}");
    let output = check(&case, &["--json", &path]).env("ZKLOCK_AUTH", "digest:alice:wonder").run();
    let document = json(output.assert_code(0));
    assert_eq!(document["credentials"][0], "digest:alice");
    assert_eq!(case.observer().children(&path), Vec::<String>::new());
}
