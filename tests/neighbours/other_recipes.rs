//! Recipes whose clients ignore zklock's nodes: zklock refuses to run beside them.

use super::{KAZOO, RW_WRITE, end, start_zklock, take_neighbour_lock, wait_until_it_runs};
use crate::support::{Case, DEADLINE};
use zookeeper::CreateMode;

#[track_caller]
fn is_refused(case: &Case, options: &[&str], node: &str) {
    let refused = case.lock(options, ["echo", "must not run"]).run();
    refused
        .assert_code(125)
        .assert_stderr(node)
        .assert_stderr("of another lock recipe")
        .assert_stderr("choose another path");
    assert_eq!(refused.stdout, "");
    let left = case.observer().children(case.path());
    assert!(!left.iter().any(|name| name.starts_with("_c_") && name.contains("-lock-")), "{left:?}");
}

#[test]
fn zklock_refuses_a_path_that_another_recipe_uses() {
    for kind in ["semaphore", "semaphore-mutex", "latch", "write-lock", "election", "kazoo semaphore"] {
        let case = Case::new("other-recipe");
        case.observer().mkdirs(case.path());
        let holder = take_neighbour_lock(&case, kind);
        holder.wait_held();
        for options in
            [&[][..], &["-n", "-E", "0"], &["-w", "30"], &["-s"], &["--slots", "2"], KAZOO, RW_WRITE]
        {
            is_refused(&case, options, "");
        }
        holder.give();
        case.remove_semaphore();
    }
}

/// A name decides, whether or not its owner is alive: an empty semaphore may be taken at any time.
#[test]
fn the_node_that_shows_another_recipe_is_named() {
    for (name, mode) in [
        ("leases", CreateMode::Persistent),
        ("locks", CreateMode::Container),
        ("write-", CreateMode::PersistentSequential),
        ("ex-", CreateMode::EphemeralSequential),
    ] {
        let case = Case::new("named");
        case.observer().mkdirs(case.path());
        let node = case.observer().create(&format!("{}/{name}", case.path()), "", mode);
        is_refused(&case, &[], node.rsplit('/').next().unwrap());
        case.observer().delete(&node);
        assert_eq!(case.lock(&[], ["echo", "ran"]).run().assert_code(0).stdout, "ran\n");
    }
}

/// Its node would block all later contenders.
#[test]
fn a_waiter_that_finds_another_recipe_leaves_the_queue() {
    let case = Case::new("meanwhile");
    let holder = start_zklock(&case, &[]);
    wait_until_it_runs(&holder);
    let first = start_zklock(&case, &[]);
    case.wait_for_contenders(2);
    let last = start_zklock(&case, &[]);
    let middle = format!("{}/{}", case.path(), case.wait_for_contenders(3)[1]);
    last.wait_for_line(": position ", DEADLINE);
    let latch = take_neighbour_lock(&case, "latch");
    latch.wait_held();
    // The last contender lists again when its predecessor disappears.
    first.signal(nix::sys::signal::Signal::SIGTERM);
    first.wait(DEADLINE);
    assert!(!case.observer().exists(&middle));
    last.wait(DEADLINE).assert_code(125).assert_stderr("-latch-");
    end(holder);
    latch.give();
}

#[test]
fn a_refusal_for_another_naming_names_the_option() {
    for (kind, naming) in [("mutex", "curator"), ("write", "curator-rw"), ("kazoo lock", "kazoo")] {
        let case = Case::new("right-option");
        let holder = take_neighbour_lock(&case, kind);
        holder.wait_held();
        let options = if naming == "kazoo" { &[] } else { KAZOO };
        let refused = case.lock(options, ["true"]).run();
        refused.assert_code(125).assert_stderr(&format!("--naming {naming} queues with it"));
        holder.give();
    }
}
