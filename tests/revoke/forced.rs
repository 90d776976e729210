//! `--force` deletes the node, if it is still the one that was chosen.

use crate::support::{At, Case, DEADLINE, Proxy, op, shared};
use zookeeper::{CreateMode, Permission};

/// The node's data changes just before the delete: it is still the same node.
#[test]
fn a_node_whose_data_changes_is_still_deleted() {
    let proxy = Proxy::to(shared());
    let case = Case::new("force-data").through(&proxy.connect_string());
    let node = case.add_contender("before");
    proxy.once(op::DELETE, At::Hold);
    let forced = case.zklock().args(["revoke", "--force", case.path()]).spawn();
    proxy.wait_fired(1, DEADLINE);
    case.observer().set_data(&node, "after");
    proxy.release();
    let output = forced.wait(DEADLINE);
    assert!(output.assert_code(0).stdout.contains("its node is deleted"), "{output}");
    assert_eq!(proxy.count(op::DELETE), 2, "the first one was refused");
    assert!(!case.observer().exists(&node));
}

/// Meanwhile another contender has a node of the same name: it isn't the one that was chosen.
#[test]
fn a_later_node_of_the_same_name_is_left_alone() {
    let proxy = Proxy::to(shared());
    let case = Case::new("force-other").through(&proxy.connect_string());
    let node = case.add_contender("");
    // The listing reads the contender and the record; then the node is read again.
    for words in [&["--force"][..], &[]] {
        proxy.once_after(2, op::GET_DATA, At::Hold);
        let revoking = case.zklock().args(["revoke", case.path()]).args(words).spawn();
        proxy.wait_fired(1 + usize::from(words.is_empty()), DEADLINE);
        case.observer().delete(&node);
        case.observer().create(&node, "another", CreateMode::Ephemeral);
        proxy.release();
        let output = revoking.wait(DEADLINE);
        assert!(output.assert_code(0).stdout.ends_with(": gone already\n"), "{output}");
        assert_eq!(case.observer().data(&node).as_deref(), Some("another"));
    }
    case.observer().delete(&node);
}

#[test]
fn a_node_that_disappears_meanwhile_is_reported_as_gone() {
    let proxy = Proxy::to(shared());
    let case = Case::new("force-gone").through(&proxy.connect_string());
    for (words, held, fired) in [(&["--force"][..], op::DELETE, 1), (&[], op::SET_DATA, 2)] {
        let node = case.add_contender("");
        proxy.once(held, At::Hold);
        let revoking = case.zklock().args(["revoke", case.path()]).args(words).spawn();
        proxy.wait_fired(fired, DEADLINE);
        case.observer().delete(&node);
        proxy.release();
        let output = revoking.wait(DEADLINE);
        assert!(output.assert_code(0).stdout.ends_with(": gone already\n"), "{output}");
    }
}

/// A delete isn't repeated blindly: by then the name may belong to another node. Of a node that can't be read, nothing is known
/// but the name.
#[test]
fn a_delete_whose_reply_is_lost_is_reported_as_done() {
    for (at, deletes) in [(At::BeforeReply, 1), (At::BeforeServer, 2)] {
        for permissions in [Permission::ALL, Permission::ADMIN] {
            let proxy = Proxy::to(shared());
            let case = Case::new("force-lost").through(&proxy.connect_string());
            case.observer().contend(case.path(), "10.0.0.7", permissions);
            proxy.once(op::DELETE, at);
            let output = case.zklock().args(["revoke", "--force", case.path()]).run();
            proxy.wait_fired(1, DEADLINE);
            assert!(output.assert_code(0).stdout.ends_with(": its node is deleted\n"), "{output}");
            assert_eq!(case.contenders(), Vec::<String>::new());
            assert!(permissions == Permission::ADMIN || proxy.count(op::DELETE) == deletes);
        }
    }
}
