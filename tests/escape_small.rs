//! No process escapes: a few trials with each fault. `scripts/chaos --escape` makes hundreds, also on a loaded machine.

use crate::escape_trial::{Beat, Environment, trial};
use crate::support::{Fault, Observer, Rng, shared};

#[track_caller]
fn assert_no_process_escapes(fault: Fault) {
    assert_none_escapes_in(3, fault);
}

#[track_caller]
fn assert_none_escapes_in(trials: u64, fault: Fault) {
    let observer = Observer::new(&shared().connect_string());
    observer.mkdirs("/escape");
    let beat = Beat::build();
    let program = env!("CARGO_BIN_EXE_zklock").into();
    let environment = Environment { program, server: shared(), observer: &observer, beat: &beat, session: 2 };
    // The draws are the same each time. The phase that a fault hits differs with the machine, and isn't checked here.
    for seed in 0..trials {
        if let Some(report) = trial(&environment, fault, &mut Rng::new(seed)) {
            assert!(report.wrong.is_empty(), "seed {seed}: {}\n{}", report.wrong.join("\n"), report.story);
        }
    }
}

#[test]
fn when_the_monitor_is_killed() {
    assert_no_process_escapes(Fault::KillMonitor);
}

#[test]
fn when_the_worker_is_killed() {
    assert_none_escapes_in(8, Fault::KillWorker);
}

#[test]
fn when_the_worker_s_loop_fails() {
    assert_no_process_escapes(Fault::FailWorker);
}

#[test]
fn when_both_are_killed_except_what_has_left_the_process_group() {
    assert_no_process_escapes(Fault::KillBoth);
}

#[test]
fn when_all_that_is_found_by_name_is_killed() {
    assert_no_process_escapes(Fault::KillFound);
}

#[test]
fn when_the_monitor_and_the_command_are_killed() {
    assert_no_process_escapes(Fault::KillCommand);
}

#[test]
fn when_the_monitor_is_stopped_and_the_command_finishes_under_its_lock() {
    assert_no_process_escapes(Fault::StopMonitor);
}

#[test]
fn when_the_worker_is_stopped() {
    assert_no_process_escapes(Fault::StopWorker);
}

#[test]
fn when_the_lock_node_is_deleted() {
    assert_no_process_escapes(Fault::DeleteNode);
}

#[test]
fn when_the_server_is_out_of_reach_until_the_lease_is_over() {
    assert_no_process_escapes(Fault::Blackhole);
}
