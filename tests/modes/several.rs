//! Several paths: each lock is acquired in the requested kind, and losing one of them means losing all.

use super::{HOLD, end, kill, wait_until_it_runs, wait_until_it_waits};
use crate::support::{Case, DEADLINE, Running, wait_until};

struct Paths {
    a: String,
    b: String,
    c: String,
}

fn paths(case: &Case) -> Paths {
    let path = |name| format!("{}-{name}", case.path());
    Paths { a: path("a"), b: path("b"), c: path("c") }
}

fn contend(case: &Case, options: &[&str], paths: &[&String]) -> Running {
    case.zklock().arg("-v").args(options).args(paths).args(["--", "sh", "-c", HOLD]).spawn()
}

fn count(case: &Case, path: &str) -> usize {
    case.observer().children(path).len()
}

#[test]
fn readers_of_several_paths_share_all_of_them() {
    let case = Case::new("several-readers");
    let Paths { a, b, c } = paths(&case);
    let readers = [contend(&case, &["-s"], &[&a, &b]), contend(&case, &["-s"], &[&c, &b, &a])];
    readers.iter().for_each(wait_until_it_runs);
    let writer = contend(&case, &[], &[&b]);
    wait_until_it_waits(&writer);
    readers.into_iter().for_each(end);
    wait_until_it_runs(&writer);
    end(writer);
}

#[test]
fn slots_of_several_paths_are_counted_on_each() {
    let case = Case::new("several-slots");
    let Paths { a, b, .. } = paths(&case);
    let two = ["--slots", "2"];
    let first = contend(&case, &two, &[&a, &b]);
    wait_until_it_runs(&first);
    let second = contend(&case, &two, &[&b]);
    wait_until_it_runs(&second);
    let third = contend(&case, &two, &[&b, &a]);
    wait_until_it_waits(&third);
    // Meanwhile, the third contender has the free slot of the first path.
    assert_eq!((count(&case, &a), count(&case, &b)), (2, 3));
    end(second);
    wait_until_it_runs(&third);
    [first, third].into_iter().for_each(end);
}

#[test]
fn several_that_want_the_same_in_other_orders_all_get_it() {
    let case = Case::new("several-orders");
    let Paths { a, b, c } = paths(&case);
    let history = case.history();
    let orders = [[&a, &b, &c], [&c, &b, &a], [&b, &c, &a], [&c, &a, &b], [&b, &a, &c], [&a, &c, &b]];
    let run = |(index, order): (usize, &[&String; 3])| {
        let job = history.job(&index.to_string(), 0.05);
        case.zklock().args(order).args(["--", "sh", "-c", &job]).spawn()
    };
    let all: Vec<Running> = orders.iter().chain(&orders).enumerate().map(run).collect();
    for running in all {
        running.wait(DEADLINE).assert_code(0);
    }
    // A token belongs to the first path on its command line, so these tokens can't be compared.
    assert_eq!((history.sections().unwrap().len(), history.most_at_once()), (12, 1));
}

/// The node on the first path is deleted while zklock still waits for the last one.
#[test]
fn a_lock_lost_while_another_is_waited_for_gives_up_all() {
    let case = Case::new("several-lost-early");
    let Paths { a, b, c } = paths(&case);
    let holder = contend(&case, &[], &[&c]);
    wait_until_it_runs(&holder);
    let waiter = contend(&case, &[], &[&a, &b, &c]);
    wait_until_it_waits(&waiter);
    case.observer().delete(&format!("{a}/{}", case.observer().children(&a)[0]));
    let output = waiter.wait(DEADLINE);
    output.assert_code(125).assert_stderr("its lock node was deleted by another client");
    assert!(!output.stdout.contains("running"), "{output}");
    assert_eq!([&a, &b, &c].map(|path| count(&case, path)), [0, 0, 1]);
    end(holder);
}

#[test]
fn after_a_kill_every_one_of_them_is_free_soon() {
    let case = Case::new("several-killed");
    let Paths { a, b, c } = paths(&case);
    let holder = contend(&case, &["--session-timeout", "60"], &[&a, &b, &c]);
    wait_until_it_runs(&holder);
    let next = [&a, &b, &c].map(|path| contend(&case, &[], &[path]));
    next.iter().for_each(wait_until_it_waits);
    kill(holder);
    next.iter().for_each(wait_until_it_runs);
    next.into_iter().for_each(end);
}

#[test]
fn a_zklock_killed_between_two_locks_leaves_nothing() {
    let case = Case::new("several-killed-early");
    let Paths { a, b, .. } = paths(&case);
    let holder = contend(&case, &[], &[&b]);
    wait_until_it_runs(&holder);
    let waiter = contend(&case, &["--session-timeout", "60"], &[&a, &b]);
    wait_until_it_waits(&waiter);
    kill(waiter);
    wait_until("its nodes to go", DEADLINE, || (count(&case, &a), count(&case, &b)) == (0, 1));
    end(holder);
}
