//! Servers as operators run them: what becomes of a holder, of waiters, of a queue that moves and of `status --watch`.
//! The times are short here; `scripts/chaos --operations` has those of shipped settings, and more operations.

use crate::operations_trial::{
    SHORT, Scene, another_joins_and_one_leaves, costs_held_locks, costs_nothing,
    replace_each_by_an_empty_one, restart_each, the_ensemble_is_emptied,
};

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
