//! Servers as operators run them, with the settings as shipped: the table in `docs/safety.md`.

mod trial;

use std::process::ExitCode;
use trial::{
    Report, SHIPPED, Scene, all_are_down, another_joins_and_one_leaves, costs_held_locks, costs_nothing,
    leader_pauses, one_disk_is_full, replace_each_by_an_empty_one, restart_each, the_ensemble_is_emptied,
};

/// One row of the table: its name, what operators do, and what that may cost.
type Row = (&'static str, fn(&mut Scene), fn(&Report));

const ROWS: [Row; 7] = [
    ("restart each", restart_each, costs_nothing),
    ("replace each by an empty one", replace_each_by_an_empty_one, costs_nothing),
    ("one joins, the leader is removed", another_joins_and_one_leaves, costs_nothing),
    ("pauses of the leader", leader_pauses, costs_nothing),
    ("full disk", one_disk_is_full, costs_nothing),
    ("all down", all_are_down, costs_held_locks),
    ("emptied", the_ensemble_is_emptied, costs_held_locks),
];

/// Ends with a panic if an operation costs more than it may.
pub(crate) fn check() -> ExitCode {
    for (name, operation, judge) in ROWS {
        let has_small_disks = name == "full disk";
        let scene = if has_small_disks {
            Scene::with_small_disks("operations", SHIPPED)
        } else {
            Some(Scene::start("operations", SHIPPED))
        };
        let Some(scene) = scene else {
            println!("\n{name}: skipped");
            continue;
        };
        let report = scene.during(operation);
        println!("\n{name}: {report}");
        judge(&report);
    }
    ExitCode::SUCCESS
}
