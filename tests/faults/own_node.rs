//! Another client deletes, replaces or changes zklock's own node, also while zklock isn't connected.

use super::holder::{section, steady, wait_for_job};
use crate::support::{Case, DEADLINE, Proxy, Running, op, shared};
use zookeeper::{CreateMode, Permission};

/// A case whose zklock connects through a proxy.
fn behind_a_proxy(name: &str) -> (Proxy, Case) {
    let proxy = Proxy::to(shared());
    let case = Case::new(name).through(&proxy.connect_string());
    (proxy, case)
}

/// Cuts zklock's connection, calls `act`, and lets zklock connect again.
fn while_disconnected(proxy: &Proxy, running: &Running, act: impl FnOnce()) {
    proxy.refuse_new(true);
    proxy.cut_all();
    running.wait_for_line("connection lost", DEADLINE);
    act();
    proxy.refuse_new(false);
}

/// The full path of a holder's node, which is the only one.
fn only_node(case: &Case) -> String {
    format!("{}/{}", case.path(), case.wait_for_contenders(1)[0])
}

#[test]
fn a_node_that_was_deleted_while_its_holder_was_not_connected_is_a_lost_lock() {
    let (proxy, case) = behind_a_proxy("deleted");
    let history = case.history();
    let holder = steady(&case, &history, &["-v"], "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    let node = only_node(&case);
    while_disconnected(&proxy, &holder, || case.observer().delete(&node));
    holder.wait(DEADLINE).assert_code(123).assert_stderr("its node was deleted by another client");
    assert!(!section(&history, "holder").ended);
}

#[test]
fn a_node_of_the_same_name_made_by_another_client_is_a_lost_lock_too() {
    for connected in [true, false] {
        let (proxy, case) = behind_a_proxy("made-again");
        let history = case.history();
        let holder = steady(&case, &history, &["-v"], "holder", "true").spawn();
        wait_for_job(&holder, &history, "holder");
        // It writes to its node by the version alone, which the node made again has too.
        case.wait_for_held_since(1);
        let node = only_node(&case);
        let make_again = || {
            case.observer().delete(&node);
            // The name already contains the sequence number.
            case.observer().create(&node, "somebody else's", CreateMode::Ephemeral);
        };
        if connected {
            make_again();
        } else {
            while_disconnected(&proxy, &holder, make_again);
        }
        holder.wait(DEADLINE).assert_code(123).assert_stderr("its node was deleted by another client");
        assert!(!section(&history, "holder").ended);
        assert_eq!(case.observer().data(&node).as_deref(), Some("somebody else's"), "not ours to delete");
        case.observer().delete(&node);
    }
}

#[test]
fn a_revocation_made_while_the_holder_was_not_connected_is_obeyed() {
    let (proxy, case) = behind_a_proxy("revoked");
    let history = case.history();
    let holder = steady(&case, &history, &["-v"], "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    let node = only_node(&case);
    while_disconnected(&proxy, &holder, || case.observer().set_data(&node, "__REVOKE__"));
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock was revoked");
}

#[test]
fn confirmations_that_are_refused_are_not_repeated_without_a_pause() {
    let (proxy, case) = behind_a_proxy("refused");
    let history = case.history();
    let holder = steady(&case, &history, &["-v", "--session-timeout", "4"], "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    let node = only_node(&case);
    // The check in a confirmation needs READ.
    let before = proxy.count(op::MULTI);
    case.observer().restrict(&node, Permission::WRITE);
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost");
    assert!(!section(&history, "holder").ended);
    let refused = proxy.count(op::MULTI) - before;
    assert!(refused < 20, "{refused} in less than four seconds");
}
