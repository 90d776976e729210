//! Servers as operators run them: what becomes of a holder, of waiters, of a queue that moves and of `status --watch`.

mod course;
mod scene;

use course::{
    another_joins_and_one_leaves, replace_each_by_an_empty_one, restart_each, the_ensemble_is_emptied,
};
use scene::{Report, Scene};

/// The holder keeps its lock, and all commands of the queue run, in order.
fn costs_nothing(report: &Report) {
    let (_, holder) = &report.holder;
    holder.assert_code(0);
    report.limited.assert_code(124);
    assert_eq!(report.crowd, vec![Some(0); report.crowd.len()], "{report}");
    let queue: Vec<_> = (0..report.crowd.len()).map(|number| number.to_string()).collect();
    assert_eq!(report.order, queue, "not in the order of the queue: {report}");
}

/// The holders are stopped, and all waiters run when there are servers again, although in another order.
fn costs_held_locks(report: &Report) {
    let (_, holder) = &report.holder;
    // Its command may also end within the lease, before zklock has found a server that serves.
    if holder.code == Some(0) {
        holder.assert_stderr("the session has ended, and the node with it");
    } else {
        holder.assert_code(123).assert_stderr("the lock was lost");
    }
    let lost = report.crowd.iter().filter(|code| **code == Some(123)).count();
    let done = report.crowd.iter().filter(|code| **code == Some(0)).count();
    assert!(lost <= 1 && lost + done == report.crowd.len(), "{report}");
}

#[test]
fn restarting_each_server_costs_no_command() {
    costs_nothing(&Scene::start("restart").during(restart_each));
}

#[test]
fn replacing_each_server_by_an_empty_one_costs_no_command() {
    costs_nothing(&Scene::start("replace").during(replace_each_by_an_empty_one));
}

#[test]
fn an_emptied_ensemble_costs_the_lock_and_no_waiter() {
    costs_held_locks(&Scene::start("emptied").during(the_ensemble_is_emptied));
}

#[test]
fn a_server_that_joins_and_a_leader_that_is_removed_cost_no_command() {
    costs_nothing(&Scene::start("reconfigure").during(another_joins_and_one_leaves));
}
