//! Servers as operators run them: what becomes of a holder, of waiters, of a queue that moves and of `status --watch`.
//!
//! The first tests have short times. The last ones have the settings as shipped, take minutes, and measure the table in
//! `docs/safety.md`:
//!
//! ```console
//! $ cargo test --test behaviour operations -- --ignored --nocapture --test-threads 1
//! ```

mod course;
mod scene;

use course::{
    all_are_down, another_joins_and_one_leaves, leader_pauses, one_disk_is_full,
    replace_each_by_an_empty_one, restart_each, the_ensemble_is_emptied,
};
use scene::{Report, SHIPPED, SHORT, Scene};

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
    holder.assert_code(123).assert_stderr("the lock was lost");
    let lost = report.crowd.iter().filter(|code| **code == Some(123)).count();
    let done = report.crowd.iter().filter(|code| **code == Some(0)).count();
    assert!(lost <= 1 && lost + done == report.crowd.len(), "{report}");
}

#[test]
fn restarting_each_server_costs_no_command() {
    costs_nothing(&Scene::start("restart", SHORT).during(restart_each));
}

#[test]
fn replacing_each_server_by_an_empty_one_costs_no_command() {
    costs_nothing(&Scene::start("replace", SHORT).during(replace_each_by_an_empty_one));
}

#[test]
fn an_emptied_ensemble_costs_the_lock_and_no_waiter() {
    costs_held_locks(&Scene::start("emptied", SHORT).during(the_ensemble_is_emptied));
}

#[test]
fn a_server_that_joins_and_a_leader_that_is_removed_cost_no_command() {
    costs_nothing(&Scene::start("reconfigure", SHORT).during(another_joins_and_one_leaves));
}

/// The settings as shipped, for the table in `docs/safety.md`.
mod as_shipped {
    use super::*;

    #[allow(clippy::print_stdout, reason = "the figures of the table")]
    fn prints(name: &str, scene: Scene, operation: fn(&mut Scene), judge: fn(&Report)) {
        let report = scene.during(operation);
        println!("\n{name}: {report}");
        judge(&report);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn restart() {
        prints("restart", Scene::start("restart", SHIPPED), restart_each, costs_nothing);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn replace() {
        prints("replace", Scene::start("replace", SHIPPED), replace_each_by_an_empty_one, costs_nothing);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn reconfigure() {
        prints(
            "reconfigure",
            Scene::start("reconfigure", SHIPPED),
            another_joins_and_one_leaves,
            costs_nothing,
        );
    }

    #[test]
    #[ignore = "takes minutes"]
    fn pauses() {
        prints("pauses", Scene::start("pauses", SHIPPED), leader_pauses, costs_nothing);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn full_disk() {
        if let Some(scene) = Scene::with_small_disks("full-disk", SHIPPED) {
            prints("full disk", scene, one_disk_is_full, costs_nothing);
        }
    }

    #[test]
    #[ignore = "takes minutes"]
    fn down() {
        prints("down", Scene::start("down", SHIPPED), all_are_down, costs_held_locks);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn emptied() {
        prints("emptied", Scene::start("emptied", SHIPPED), the_ensemble_is_emptied, costs_held_locks);
    }
}
