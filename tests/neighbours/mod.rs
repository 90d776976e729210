//! Beside the locks of other projects, with their own libraries: Curator 5 and kazoo. For Go's client there
//! is no library here: a node with a name of its making stands for it.

mod ahead_and_behind;
mod other_families;
mod other_recipes;
mod particular;
mod queues;

use crate::support::{Case, Running, SOON, Theirs, curator, end, kazoo, shared, wait_until};

/// Words before the path, for a lock of ours that theirs is to meet.
const CURATOR: &[&str] = &[];
const CURATOR_SHARED: &[&str] = &["-s"];
const RW_WRITE: &[&str] = &["--naming", "curator-rw"];
const RW_READ: &[&str] = &["--naming", "curator-rw", "-s"];
const KAZOO: &[&str] = &["--naming", "kazoo"];
const KAZOO_READ: &[&str] = &["--naming", "kazoo", "-s"];

/// Has the library that `kind` belongs to take such a lock on the case's path.
fn theirs(case: &Case, kind: &str) -> Theirs {
    match kind.split_once(' ') {
        Some(("kazoo", kind)) => kazoo().take(kind, case.path()),
        _ => curator().take(kind, case.path()),
    }
}

/// Begins to take a lock of ours; the job prints `running` and waits for a signal.
fn ours(case: &Case, options: &[&str]) -> Running {
    let options = [&["-v"], options].concat();
    case.lock(&options, ["sh", "-c", "echo running; exec sleep 60"]).spawn()
}

fn runs(ours: &Running) -> bool {
    ours.stdout().count("running") > 0
}

#[track_caller]
fn wait_until_it_runs(ours: &Running) {
    ours.wait_for_stdout("running", SOON);
}

#[track_caller]
fn wait_until_it_waits(ours: &Running) {
    ours.wait_for_line("waiting for", SOON);
}

/// Theirs watches the only node of ours, as we do ourselves.
#[track_caller]
fn wait_until_the_neighbour_waits_for_zklock(case: &Case) {
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    wait_until("the neighbour to wait for us", SOON, || shared().watchers_of(&node) == 2);
}
