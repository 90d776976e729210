//! One operation on servers that are in use, and what it may cost.

mod course;
mod scene;

pub(crate) use course::{
    all_are_down, another_joins_and_one_leaves, leader_pauses, one_disk_is_full,
    replace_each_by_an_empty_one, restart_each, the_ensemble_is_emptied,
};
pub(crate) use scene::{Report, SHIPPED, SHORT, Scene};

/// The holder keeps its lock, and all commands of the queue run, in order.
pub(crate) fn costs_nothing(report: &Report) {
    let (_, holder) = &report.holder;
    holder.assert_code(0);
    report.limited.assert_code(124);
    assert_eq!(report.crowd, vec![Some(0); report.crowd.len()], "{report}");
    let queue: Vec<_> = (0..report.crowd.len()).map(|number| number.to_string()).collect();
    assert_eq!(report.order, queue, "not in the order of the queue: {report}");
}

/// The holders are stopped, and all waiters run when there are servers again, although in another order.
pub(crate) fn costs_held_locks(report: &Report) {
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
