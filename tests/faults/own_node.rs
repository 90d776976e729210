//! Another client deletes, replaces or changes zklock's own node, also while zklock isn't connected.

use super::holder::{section, steady, wait_for_job};
use crate::support::{At, Case, DEADLINE, Proxy, Running, holder, op, shared};
use nix::sys::signal::Signal;
use zookeeper::{Acl, CreateMode, Permission};

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
fn a_waiter_whose_node_was_deleted_while_it_was_not_connected_never_runs() {
    let (proxy, case) = behind_a_proxy("waiter");
    let holder = case.direct_holder(&[]);
    let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let queue = case.wait_for_contenders(2);
    while_disconnected(&proxy, &waiter, || {
        case.observer().delete(&format!("{}/{}", case.path(), queue[1]));
        // From now on, the waiter would be first in the queue.
        holder.signal(Signal::SIGTERM);
        case.wait_for_contenders(0);
    });
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(125).assert_stderr("its lock node was deleted").stdout, "");
    holder.wait(DEADLINE).assert_signal(Signal::SIGTERM);
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
fn a_watch_on_the_node_that_was_lost_is_set_again() {
    for at in [At::BeforeServer, At::BeforeReply] {
        let (proxy, case) = behind_a_proxy("watch-lost");
        proxy.once(op::GET_DATA, at);
        // The fault may come before the command is started. Only -vv reports the new connection then.
        let holder = holder(&case, &["-vv"]);
        proxy.wait_fired(1, DEADLINE);
        holder.wait_for_line("connected again", DEADLINE);
        // Confirmations don't notice this change.
        case.observer().set_data(&only_node(&case), "__REVOKE__");
        holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock was revoked");
    }
}

#[test]
fn confirmations_that_are_refused_are_not_repeated_without_a_pause() {
    let (proxy, case) = behind_a_proxy("refused");
    let history = case.history();
    let holder = steady(&case, &history, &["-v", "--session-timeout", "4"], "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    let node = only_node(&case);
    // The check in a confirmation needs READ.
    let nobody_reads = vec![Acl::new(Permission::WRITE, "world", "anyone")];
    let before = proxy.count(op::MULTI);
    case.observer().call("set_acl", move |client| client.set_acl(&node, nobody_reads.clone(), None)).unwrap();
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost");
    assert!(!section(&history, "holder").ended);
    let refused = proxy.count(op::MULTI) - before;
    assert!(refused < 20, "{refused} in less than four seconds");
}
