//! zklock and locks of other projects, taken by their own libraries: Curator 5 and kazoo. Go's client isn't available
//! here; a node with a name of its form represents it.

mod client_specific;
mod mutual_exclusion;
mod other_namings;
mod other_recipes;
mod queue_order;

use crate::support::{Case, DEADLINE, NeighbourLock, Running, curator, end, kazoo, shared, wait_until};

/// Options for a zklock that shares a queue with the neighbour.
const CURATOR: &[&str] = &[];
const CURATOR_SHARED: &[&str] = &["-s"];
const RW_WRITE: &[&str] = &["--naming", "curator-rw"];
const RW_READ: &[&str] = &["--naming", "curator-rw", "-s"];
const KAZOO: &[&str] = &["--naming", "kazoo"];
const KAZOO_READ: &[&str] = &["--naming", "kazoo", "-s"];

/// Takes a lock of this kind on the case's path with the library that it belongs to.
fn take_neighbour_lock(case: &Case, kind: &str) -> NeighbourLock {
    match kind.split_once(' ') {
        Some(("kazoo", kind)) => kazoo().take(kind, case.path()),
        _ => curator().take(kind, case.path()),
    }
}

/// Starts a zklock on the case's path; its command prints `running` and waits for a signal.
fn start_zklock(case: &Case, options: &[&str]) -> Running {
    let options = [&["-v"], options].concat();
    case.lock(&options, ["sh", "-c", "echo running; exec sleep 60"]).spawn()
}

fn runs(zklock: &Running) -> bool {
    zklock.stdout().count("running") > 0
}

#[track_caller]
fn wait_until_it_runs(zklock: &Running) {
    zklock.wait_for_stdout("running", DEADLINE);
}

#[track_caller]
fn wait_until_it_waits(zklock: &Running) {
    zklock.wait_for_line(": position ", DEADLINE);
}

/// The neighbour watches zklock's only node, as zklock itself does.
#[track_caller]
fn wait_until_the_neighbour_waits_for_zklock(case: &Case) {
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    wait_until("the neighbour to wait for zklock", DEADLINE, || shared().watchers_of(&node) == 2);
}
