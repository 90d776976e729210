//! Orphans. Those of the command become children of the worker, and what else loses its parent in a container becomes a child of
//! its process 1.

use crate::support::{
    Case, DEADLINE, Place, children_of, end, processes_of, wait_until, worker_of, zombies_below,
};
use nix::libc::SIGTERM;
use nix::unistd::geteuid;
use std::process::Command;

#[test]
fn orphans_of_the_command_are_reaped_while_it_runs() {
    for place in [Place::Plain, Place::Pid1] {
        if !place.is_possible() {
            continue;
        }
        let case = Case::new("orphans");
        let script =
            "for i in 1 2 3 4 5 6 7 8; do (sleep 0.1 &); (setsid sleep 0.1 &); done; echo ready; sleep 60; :";
        let running = place.start(case.lock(&[], ["bash", "-c", script]));
        running.wait_for("ready");
        let zklock = running.pid();
        let worker = worker_of(zklock);
        // zklock, its worker, the shell and its sleep; and unshare.
        let left = if place == Place::Pid1 { 5 } else { 4 };
        wait_until("the end of the orphans", DEADLINE, || processes_of(case.marker()).len() == left);
        wait_until("them to be reaped", DEADLINE, || zombies_below(zklock) + zombies_below(worker) == 0);
        running.signal(SIGTERM);
        place.assert_died(&running.wait(), SIGTERM);
    }
}

/// For instance the processes that `docker exec` leaves behind.
#[test]
fn other_orphans_are_reaped_while_process_1_waits_and_while_its_command_runs() {
    if !Place::Pid1.is_possible() {
        return;
    }
    let case = Case::new("pid1-strangers");
    let holder = case.holder();
    let running = Place::Pid1.start(case.lock(&["-v"], ["sh", "-c", "echo ready; sleep 60; :"]));
    wait_until("its place", DEADLINE, || running.said().contains(": position "));
    let zklock = running.pid();
    let leave_an_orphan = || {
        let before = children_of(zklock).len();
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &zklock.to_string(), "--pid"]);
        if !geteuid().is_root() {
            enter.args(["--user", "--preserve-credentials"]);
        }
        enter.args(["sh", "-c", "(sleep 0.1 &)"]);
        let output = enter.output().expect("nsenter");
        assert!(output.status.success(), "{output:?}");
        wait_until("the orphan to be reaped", DEADLINE, || {
            zombies_below(zklock) == 0 && children_of(zklock).len() == before
        });
    };
    leave_an_orphan();
    end(holder);
    running.wait_for("ready");
    leave_an_orphan();
    running.signal(SIGTERM);
    Place::Pid1.assert_died(&running.wait(), SIGTERM);
}
