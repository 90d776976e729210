//! Queues that a wait refuses, as a lock does.

use super::{assert_free, end, holder, wait, waiting};
use crate::support::{Case, DEADLINE, Server};
use zklock_core::queue::order::SEQUENCE_LIMIT;
use zookeeper::{Acl, CreateMode, Permission};

/// Nothing removes it, so the wait would never end.
#[test]
fn a_persistent_node_with_a_contender_s_name_is_refused_with_the_remedy() {
    let case = Case::new("wait-persistent");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let node = case.observer().create(&name, "", CreateMode::PersistentSequential);
    for options in [&[][..], &["-n", "-E", "0"], &["-w", "60", "-E", "0"]] {
        let output = wait(&case, &[options, &[case.path()]].concat()).run();
        output
            .assert_code(125)
            .assert_stderr(&node)
            .assert_stderr("isn't ephemeral")
            .assert_stderr("delete it");
    }
    case.observer().delete(&node);
    wait(&case, &[case.path()]).run().assert_code(0);
}

#[test]
fn a_persistent_node_that_comes_later_or_is_no_contender_is_no_obstacle() {
    let case = Case::new("wait-behind");
    let first = case.add_contender("first");
    let waits = waiting(&case, &[], 1);
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let node = case.observer().create(&name, "", CreateMode::PersistentSequential);
    case.observer().delete(&first);
    assert_free(waits);
    case.observer().delete(&node);
    let config = case.observer().create(&format!("{}/config", case.path()), "", CreateMode::Persistent);
    wait(&case, &["-n", case.path()]).run().assert_code(0);
    case.observer().delete(&config);
}

#[test]
fn a_counter_near_its_end_is_refused() {
    let server = Server::start();
    let case = Case::on(&server, "wait-worn");
    case.observer().mkdirs(case.path());
    case.observer().disconnect();
    server.set_counter(case.path(), SEQUENCE_LIMIT);
    let node = case.add_contender("worn");
    let output = wait(&case, &[case.path()]).run();
    output.assert_code(125).assert_stderr("the sequence counter of this path is near its end");
    case.observer().delete(&node);
}

#[test]
fn a_queue_that_is_hidden_is_never_free() {
    let case = Case::new("wait-hidden");
    let path = case.guarded(Permission::WRITE);
    for options in [&[][..], &["-n", "-E", "0"], &["-w", "60"]] {
        let output = wait(&case, &[options, &[&path]].concat()).run();
        output
            .assert_code(125)
            .assert_stderr(&format!("{path}: no permission to see the queue: needs READ on {path}"));
    }
}

#[test]
fn a_contender_whose_node_is_hidden_is_waited_for() {
    let case = Case::new("wait-hidden-node");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let acl = vec![Acl::new(Permission::DELETE, "world", "anyone")];
    let node = case.observer().create_with_acl(&name, "", CreateMode::EphemeralSequential, acl).unwrap();
    wait(&case, &["-n", case.path()]).run().assert_code(124).assert_stderr("busy: held by node ");
    let waits = waiting(&case, &[], 1);
    let later = case.add_contender("later");
    case.observer().delete(&node);
    assert_free(waits);
    case.observer().delete(&later);
}

#[test]
fn a_lock_whose_node_is_deleted_meanwhile_is_free() {
    let case = Case::new("wait-parent");
    let first = holder(&case, &[]);
    let waits = waiting(&case, &[], 1);
    first.signal(nix::sys::signal::Signal::SIGTERM);
    first.wait(DEADLINE);
    case.observer().delete_if_there(case.path());
    assert_free(waits);
    end(holder(&case, &[]));
}
