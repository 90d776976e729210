//! Remedies for queues and locks that zklock refuses.

use super::{between, call};
use crate::support::{Case, DEADLINE, end, holder};
use zookeeper::CreateMode;

/// Creates this child of the lock path.
fn child(case: &Case, name: &str, mode: CreateMode) -> String {
    case.observer().mkdirs(case.path());
    case.observer().create(&format!("{}/{name}", case.path()), "", mode)
}

/// The naming that the message says.
#[test]
fn the_naming_that_a_message_names_queues_behind_the_other_program() {
    let case = Case::new("remedy-naming");
    for name in [format!("{}__lock__", "a".repeat(32)), format!("_c_{}-__WRIT__", case.marker())] {
        let node = child(&case, &name, CreateMode::EphemeralSequential);
        let said = case.lock(&[], ["true"]).run().assert_code(125).stderr.clone();
        let naming = between(&said, "--naming ", " ").to_owned();
        case.lock(&["-n", "--naming", &naming], ["true"]).run().assert_code(124);
        call(&case, &["PATH-other", "true"]).run().assert_code(0);
        case.observer().delete(&node);
        case.lock(&["-n", "--naming", &naming], ["true"]).run().assert_code(0);
    }
}

/// It holds nothing, and nothing removes it.
#[test]
fn a_node_that_no_session_owns_is_deleted_as_the_messages_say() {
    let case = Case::new("remedy-unowned");
    child(&case, "lock-0000000000", CreateMode::Persistent);
    let said = case.lock(&[], ["true"]).run().assert_code(125).stderr.clone();
    assert!(said.contains("delete it if it is a leftover, or use another lock path"), "{said}");
    call(&case, &["PATH-other", "true"]).run().assert_code(0);
    let refused = call(&case, &["revoke", "PATH"]).run();
    refused
        .assert_code(125)
        .assert_stderr("no session owns it, so nobody can be asked; --force deletes the node");
    call(&case, &["revoke", "PATH", "--force"]).run().assert_code(0).assert_stdout("its node is deleted");
    case.lock(&[], ["true"]).run().assert_code(0);
}

#[test]
fn of_two_nodes_with_the_same_number_the_stale_one_can_be_deleted() {
    let case = Case::new("remedy-tie");
    // The first child of the path: zklock's node gets the same number.
    let node = child(&case, &format!("_c_{}-lock-0000000001", case.marker()), CreateMode::Persistent);
    case.lock(&[], ["true"]).run().assert_code(125).assert_stderr("delete the stale one");
    case.observer().delete(&node);
    case.lock(&[], ["true"]).run().assert_code(0);
}

#[test]
fn contenders_that_agree_on_the_kind_of_lock_share_a_path() {
    let case = Case::new("remedy-kind");
    let holder = holder(&case, &["--slots", "3"]);
    case.lock(&["--slots", "2"], ["true"])
        .run()
        .assert_code(125)
        .assert_stderr("all contenders of a path must agree");
    case.lock(&["--slots", "3"], ["true"]).run().assert_code(0);
    end(holder);
}

#[test]
fn a_lock_goes_elsewhere_than_below_an_ephemeral_node() {
    let case = Case::new("remedy-ephemeral");
    let node = child(&case, "ephemeral", CreateMode::Ephemeral);
    let refused = case.zklock().args([&format!("{node}/a"), "true"]).run();
    refused.assert_code(125).assert_stderr("can't have children: use another path");
    call(&case, &["PATH-other", "true"]).run().assert_code(0);
    case.observer().delete(&node);
}

/// Readers hold it together.
#[test]
fn one_of_several_holders_or_all_can_be_revoked() {
    let case = Case::new("remedy-revoke");
    let [one, two, three] = [(); 3].map(|()| holder(&case, &["-s"]));
    let refused = call(&case, &["revoke", "PATH"]).run();
    refused.assert_code(125).assert_stderr("3 hold it; name one with --node, or all with --all");
    call(&case, &["revoke", "PATH", "--node", "/wrong/node"])
        .run()
        .assert_code(125)
        .assert_stderr("give the lock that it belongs to, or its name");
    let name = &case.contenders()[0];
    call(&case, &["revoke", "PATH", "--node", name]).run().assert_code(0);
    one.wait(DEADLINE).assert_code(123);
    call(&case, &["revoke", "PATH", "--all"]).run().assert_code(0);
    for reader in [two, three] {
        reader.wait(DEADLINE).assert_code(123);
    }
}
