//! The requests that zklock sends and the events that wake it: no more than the lock recipe needs.

use crate::support::{Case, DEADLINE, Proxy, Running, STEADY, Zklock, end, op, shared, wait_until};
use std::time::Duration;

/// zklock behind a proxy that counts requests, with a command that prints `ran`.
fn counted(case: &Case, proxy: &Proxy, options: &[&str]) -> Zklock {
    let zklock = Zklock::at(&proxy.connect_string(), case.marker());
    zklock.args(options).args([case.path(), "--", "echo", "ran"])
}

/// Starts a zklock behind the proxy that waits for the current contenders, and returns when it has set its watches.
fn waiter(case: &Case, proxy: &Proxy, options: &[&str]) -> Running {
    let ahead = case.contenders().len();
    let waiter = counted(case, proxy, &[&["-v"], options].concat()).spawn();
    waiter.wait_for_line(&format!("position {}", ahead + 1), DEADLINE);
    waiter
}

#[test]
fn a_free_lock_costs_six_requests() {
    let case = Case::new("six");
    case.observer().mkdirs(case.path());
    let proxy = Proxy::to(shared());
    // No confirmation is due.
    counted(&case, &proxy, &["--session-timeout", STEADY]).run().assert_code(0);
    for once in [op::CONNECT, op::CREATE, op::GET_CHILDREN, op::GET_DATA, op::DELETE, op::CLOSE] {
        assert_eq!(proxy.count(once), 1, "op {once:?}");
    }
    assert_eq!(proxy.count_all(), 6, "no other requests");
    assert_eq!(proxy.accepted(), 1);
    assert_eq!(proxy.events(), 1, "for its own node, which it has deleted");
}

#[test]
fn a_missing_lock_path_is_created() {
    let case = Case::new("mkdir");
    let proxy = Proxy::to(shared());
    counted(&case, &proxy, &[]).run().assert_code(0);
    assert_ne!(proxy.count(op::CREATE_CONTAINER), 0);
    // In between, the server may remove it: it is an empty container.
    wait_until("a run that doesn't create it again", DEADLINE, || {
        let made = proxy.count(op::CREATE_CONTAINER);
        counted(&case, &proxy, &[]).run().assert_code(0);
        proxy.count(op::CREATE_CONTAINER) == made
    });
}

#[test]
fn the_only_waiter_runs_without_another_listing() {
    let case = Case::new("hand-off");
    let ahead = case.add_contender("not a zklock");
    let proxy = Proxy::to(shared());
    let waiter = waiter(&case, &proxy, &[]);
    case.observer().delete(&ahead);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    assert_eq!(proxy.count(op::GET_CHILDREN), 1);
    assert_eq!(proxy.count(op::GET_DATA), 2, "its own node and its predecessor");
    assert_eq!(proxy.count(op::EXISTS), 0);
    assert_eq!(proxy.count(op::CREATE), 1);
    assert_eq!(proxy.events(), 2, "for its predecessor, and for its own node at the release");
}

#[test]
fn a_waiter_is_notified_only_about_its_predecessor() {
    let case = Case::new("wake");
    let (first, second) = (case.add_contender("not a zklock"), case.add_contender("not a zklock"));
    let proxy = Proxy::to(shared());
    let waiter = waiter(&case, &proxy, &[]);
    let behind = case.add_contender("not a zklock");
    case.observer().delete(&first);
    case.observer().set_data(&behind, "changed");
    case.observer().delete(&behind);
    // Events arrive in order: when this one is here, the earlier changes caused none.
    case.observer().set_data(&second, "changed");
    wait_until("the next read with a watch", DEADLINE, || proxy.count(op::GET_DATA) == 3);
    assert_eq!(proxy.events(), 1);
    assert_eq!(proxy.count(op::GET_CHILDREN), 1, "new data doesn't change the queue");
    assert_eq!(waiter.stdout().text(), "");
    case.observer().delete(&second);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    assert_eq!(proxy.events(), 3, "the last one for its own node");
}

#[test]
fn a_predecessor_that_gives_up_makes_its_successor_list_again() {
    let case = Case::new("gap");
    let (first, second) = (case.add_contender("not a zklock"), case.add_contender("not a zklock"));
    let proxy = Proxy::to(shared());
    let waiter = waiter(&case, &proxy, &[]);
    case.observer().delete(&second);
    waiter.wait_for_line("position 2", DEADLINE);
    assert_eq!(waiter.stdout().text(), "");
    assert_eq!(proxy.count(op::GET_CHILDREN), 2);
    case.observer().delete(&first);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    assert_eq!(proxy.count(op::GET_CHILDREN), 2, "no other listing is needed for the only waiter");
}

#[test]
fn a_waiter_whose_own_node_is_deleted_never_runs() {
    let case = Case::new("own-node");
    let first = case.add_contender("not a zklock");
    let proxy = Proxy::to(shared());
    let waiter = waiter(&case, &proxy, &[]);
    let own = format!("{}/{}", case.path(), case.contenders()[1]);
    let behind = case.add_contender("not a zklock");
    // Both nodes are deleted before zklock is notified of either.
    proxy.blackhole_to_client();
    case.observer().delete(&own);
    case.observer().delete(&first);
    proxy.pass();
    let output = waiter.wait(DEADLINE);
    output.assert_code(125).assert_stderr(case.path()).assert_stderr("deleted");
    assert_eq!(output.stdout, "");
    assert_eq!(case.contenders().len(), 1, "no second node");
    case.observer().delete(&behind);
}

#[test]
fn a_waiter_learns_of_the_deletion_of_its_own_node_before_the_queue_moves() {
    let case = Case::new("own-node-early");
    let first = case.add_contender("not a zklock");
    let proxy = Proxy::to(shared());
    let waiter = waiter(&case, &proxy, &["-E", "0", "--session-timeout", STEADY]);
    let own = format!("{}/{}", case.path(), case.contenders()[1]);
    case.observer().delete(&own);
    // Immediately: a confirmation would fail too, but with a session timeout of 60 s the next one is 10 s away.
    let output = waiter.wait(Duration::from_secs(8));
    output.assert_code(125).assert_stderr("deleted");
    case.observer().delete(&first);
}

#[test]
fn nonblock_creates_nothing_if_the_lock_is_busy() {
    let case = Case::new("nonblock-busy");
    let holder = case.holder();
    let before = case.observer().stat(case.path()).unwrap();
    let proxy = Proxy::to(shared());
    for options in [&["-n"][..], &["-w", "0"]] {
        let output = counted(&case, &proxy, options).run();
        output.assert_code(124).assert_stderr("busy");
    }
    assert_eq!(proxy.count(op::CREATE) + proxy.count(op::CREATE_CONTAINER), 0);
    assert_eq!(proxy.count(op::CLOSE), 2, "the sessions are closed anyway");
    let after = case.observer().stat(case.path()).unwrap();
    assert_eq!((after.cversion, after.pzxid), (before.cversion, before.pzxid));
    end(holder);
}
