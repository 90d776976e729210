//! Orphans of the command, which become children of the worker.

use crate::pid1::zombies_below;
use crate::support::{Case, DEADLINE, is_alive, kill_all, processes_of, start, wait_until, worker_of};
use nix::sys::signal::Signal;
use nix::unistd::Pid;

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

#[test]
fn a_background_process_of_the_command_outlives_a_normal_end() {
    let case = Case::new("background-lives");
    let output = case.lock(&[], ["bash", "-c", "sleep 61 >&- 2>&- & echo $!"]).run();
    output.assert_code(0);
    let pid = output.stdout.trim().parse().expect("a pid");
    assert!(is_alive(Pid::from_raw(pid)));
    kill_all(case.marker());
}
