//! What a wait costs: reads only, one watch at a time, and nothing for the contenders.

use super::{assert_free, end, holder, queue, wait, watched};
use crate::support::{Case, DEADLINE, Proxy, Server, op, shared, wait_until};
use std::time::Duration;
use zookeeper::CreateMode;

#[test]
fn a_free_lock_costs_one_listing() {
    let case = Case::new("wait-costs");
    let proxy = Proxy::to(shared());
    let case = case.through(&proxy.connect_string());
    for _ in 0..2 {
        wait(&case, &[case.path()]).run().assert_code(0);
        case.observer().mkdirs(case.path());
    }
    for (requests, count) in [(op::CONNECT, 2), (op::SYNC, 2), (op::GET_CHILDREN, 2), (op::CLOSE, 2)] {
        assert_eq!(proxy.count(requests), count, "op {requests:?}");
    }
    assert_eq!(proxy.count_all(), 8, "no other requests");
}

#[test]
fn only_the_last_contender_is_watched_and_nothing_is_written() {
    let case = Case::new("wait-watch");
    let contenders: Vec<_> = (0..4).map(|_| case.add_contender("not a zklock")).collect();
    let before = case.observer().stat(case.path()).unwrap();
    let proxy = Proxy::to(shared());
    let case = case.through(&proxy.connect_string());
    let waits = wait(&case, &["-v", case.path()]).spawn();
    waits.wait_for_line(", 4 ahead", DEADLINE);
    let [first, second, third, last] = contenders.as_slice() else { panic!() };
    assert_eq!(watched(&case, 1), [last.as_str()]);
    case.observer().delete(first);
    let later = case.add_contender("not a zklock");
    case.observer().set_data(second, "changed");
    // Events arrive in order: when this one is here, the earlier changes caused none.
    case.observer().delete(last);
    waits.wait_for_line(", 2 ahead", DEADLINE);
    assert_eq!(watched(&case, 1), [third.as_str()]);
    assert_eq!(proxy.events(), 1);
    assert_eq!(proxy.count(op::GET_CHILDREN), 2);
    case.observer().delete(second);
    case.observer().delete(third);
    assert_free(waits);
    assert_eq!((proxy.events(), proxy.count(op::GET_CHILDREN)), (2, 3));
    let writes = [op::CREATE, op::CREATE_CONTAINER, op::SET_DATA, op::DELETE, op::MULTI, op::REMOVE_WATCHES];
    assert!(writes.iter().all(|write| proxy.count(write) == 0));
    assert_eq!(
        case.observer().stat(case.path()).unwrap().cversion,
        before.cversion + 5,
        "4 deletes, 1 create"
    );
    case.observer().delete(&later);
}

/// The server counts watches that fire. Each contender is woken for its own end and for its turn.
#[test]
fn many_waits_wake_no_contender_and_no_other_wait() {
    const WAITS: usize = 50;
    let server = Server::start();
    let case = Case::on(&server, "wait-many");
    let contenders: Vec<_> = (0..3).map(|_| queue(&case, &[])).collect();
    contenders[0].wait_for_stdout("running", DEADLINE);
    case.wait_for_held_since(1);
    let waits: Vec<_> = (0..WAITS).map(|_| wait(&case, &["-v", case.path()]).spawn()).collect();
    for wait in &waits {
        wait.wait_for_line(", 3 ahead", DEADLINE);
    }
    let last = format!("{}/{}", case.path(), case.contenders()[2]);
    wait_until("each to watch the last alone", DEADLINE, || server.watchers_of(&last) == WAITS + 1);
    let before = server.watches_fired_by_deletions();
    let mut contenders = contenders.into_iter();
    let mut end_first = || end(contenders.next().unwrap());
    end_first();
    case.wait_for_held_since(1);
    assert_eq!(server.watches_fired_by_deletions() - before, 2, "its own, and that of the next");
    end_first();
    case.wait_for_held_since(1);
    assert!(waits.iter().all(crate::support::Running::is_running));
    end_first();
    for wait in waits {
        assert_free(wait);
    }
}

/// Otherwise `-w` would run out before all of them are seen, as if no server had answered.
#[test]
fn several_locks_are_listed_together_so_that_a_slow_line_delays_them_once() {
    let case = Case::new("wait-slow-line");
    let locks: Vec<String> = (0..30).map(|lock| format!("{}/{lock}", case.path())).collect();
    let held = |lock: &String| {
        case.observer().mkdirs(lock);
        let name = format!("{lock}/_c_{}-lock-", case.marker());
        case.observer().create(&name, "", CreateMode::EphemeralSequential)
    };
    let nodes: Vec<String> = locks.iter().map(held).collect();
    let proxy = Proxy::to(shared());
    proxy.delay(Duration::from_millis(250));
    let words: Vec<&str> = ["-w", "10"].into_iter().chain(locks.iter().map(String::as_str)).collect();
    let case = case.through(&proxy.connect_string());
    let output = wait(&case, &words).run();
    output.assert_code(124).assert_stderr(&format!("{}: busy: gave up after ", locks[0]));
    nodes.iter().chain(&locks).for_each(|node| case.observer().delete(node));
}

#[test]
fn a_wait_leaves_no_session() {
    let server = Server::start();
    let case = Case::on(&server, "wait-session");
    let first = holder(&case, &[]);
    let before = server.sessions();
    wait(&case, &["-n", case.path()]).run().assert_code(124);
    wait(&case, &["-w", "5", case.path()]).run().assert_code(124);
    wait(&case, &["/t/free"]).run().assert_code(0);
    assert_eq!(server.sessions(), before);
    end(first);
}
