//! Orphans of the command, which become children of the worker.

use crate::pid1::zombies_below;
use crate::support::{Case, DEADLINE, processes_of, start, wait_until, worker_of};
use nix::sys::signal::Signal;

#[test]
fn orphans_are_reaped_while_the_command_runs() {
    let case = Case::new("orphans");
    let script =
        "for i in 1 2 3 4 5 6 7 8; do (sleep 0.1 &); (setsid sleep 0.1 &); done; echo ready; sleep 60; :";
    let running = start(&case, &[], script);
    let worker = worker_of(running.pid());
    // Left: zklock, its worker, the shell and its sleep.
    wait_until("the end of the orphans", DEADLINE, || processes_of(case.marker()).len() == 4);
    let zombies = || zombies_below(running.pid()) + zombies_below(worker);
    wait_until("them to be reaped", DEADLINE, || zombies() == 0);
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
}
