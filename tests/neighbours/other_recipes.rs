//! Recipes whose clients ignore zklock's nodes: zklock refuses to run beside them.

use super::{KAZOO, RW_WRITE, end, start_zklock, take_neighbour_lock, wait_until_it_runs};
use crate::support::{Case, DEADLINE};
use zookeeper::CreateMode;

const RECIPES: [(&str, &str, &str); 6] = [
    ("semaphore", "Curator's InterProcessSemaphoreV2", "InterProcessMutex"),
    ("semaphore-mutex", "Curator's InterProcessSemaphoreV2", "InterProcessMutex"),
    ("latch", "Curator's LeaderLatch", "LeaderSelector"),
    ("write-lock", "ZooKeeper's WriteLock", "InterProcessMutex"),
    ("election", "ZooKeeper's LeaderElectionSupport", "InterProcessMutex"),
    ("kazoo semaphore", "kazoo's Semaphore", "--naming kazoo"),
];

#[track_caller]
fn is_refused(case: &Case, options: &[&str], words: &[&str]) {
    let refused = case.lock(options, ["echo", "must not run"]).run();
    refused.assert_code(125).assert_stderr("would run beside zklock").assert_stderr("use another path");
    for word in words {
        refused.assert_stderr(word);
    }
    assert_eq!(refused.stdout, "");
}

#[test]
fn zklock_refuses_a_path_that_another_recipe_uses() {
    for (kind, recipe, remedy) in RECIPES {
        let case = Case::new("other-recipe");
        case.observer().mkdirs(case.path());
        let holder = take_neighbour_lock(&case, kind);
        holder.wait_held();
        for options in
            [&[][..], &["-n", "-E", "0"], &["-w", "30"], &["-s"], &["--slots", "2"], KAZOO, RW_WRITE]
        {
            is_refused(&case, options, &[recipe, remedy]);
        }
        holder.give();
        let output = case.lock(&[], ["echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n", "{kind}: its empty nodes don't count");
        case.remove_semaphore();
    }
}

/// Curator removes an empty `locks` node, and holders keep only a node below `leases`.
#[test]
fn a_semaphore_is_refused_when_only_its_leases_are_left() {
    let case = Case::new("leases-alone");
    let holder = take_neighbour_lock(&case, "semaphore");
    holder.wait_held();
    let locks = format!("{}/locks", case.path());
    if case.observer().exists(&locks) {
        case.observer().delete(&locks);
    }
    is_refused(&case, &[], &["leases/_c_"]);
    holder.give();
    case.remove_semaphore();
}

#[test]
fn a_lock_above_a_path_called_locks_is_an_ordinary_lock() {
    let case = Case::new("above");
    for below in ["locks/job", "locks", "leases/job", "leases"] {
        let path = format!("{}/{below}", case.path());
        let holder = case.zklock().args([&path, "--", "sh", "-c", "echo holding; exec sleep 60"]).spawn();
        holder.wait_for_stdout("holding", DEADLINE);
        assert_eq!(case.lock(&["-n"], ["echo", "ran"]).run().assert_code(0).stdout, "ran\n", "above {below}");
        end(holder);
        if case.observer().exists(&path) {
            case.observer().delete(&path);
        }
        case.remove_semaphore();
    }
}

/// Persistent nodes have no owner that could be running.
#[test]
fn persistent_children_with_names_of_other_recipes_are_ignored() {
    let case = Case::new("persistent");
    case.observer().mkdirs(&format!("{}/leases", case.path()));
    let names = ["latch-", "x-72057649634639872-", "n_", "write-", "leases/lease-"];
    let path = |name: &str| format!("{}/{name}", case.path());
    let mut nodes: Vec<_> = names
        .iter()
        .map(|name| case.observer().create(&path(name), "", CreateMode::PersistentSequential))
        .collect();
    nodes.push(case.observer().create(&path(&case.marker().replace('-', "")), "", CreateMode::Persistent));
    for options in [&[][..], &["-n"], KAZOO] {
        assert_eq!(case.lock(options, ["echo", "ran"]).run().assert_code(0).stdout, "ran\n");
    }
    for node in &nodes {
        case.observer().delete(node);
    }
    case.remove_semaphore();
}

#[test]
fn an_ephemeral_node_of_an_unknown_recipe_is_refused() {
    let case = Case::new("unknown");
    case.observer().mkdirs(case.path());
    let node = case.observer().create(&format!("{}/ex-", case.path()), "", CreateMode::EphemeralSequential);
    is_refused(&case, &[], &["an unknown lock recipe", node.rsplit('/').next().unwrap()]);
    case.observer().delete(&node);
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
    last.wait_for_line("waiting for", DEADLINE);
    let latch = take_neighbour_lock(&case, "latch");
    latch.wait_held();
    // The last contender lists again when its predecessor disappears.
    first.signal(nix::sys::signal::Signal::SIGTERM);
    first.wait(DEADLINE);
    assert!(!case.observer().exists(&middle));
    last.wait(DEADLINE).assert_code(125).assert_stderr("Curator's LeaderLatch");
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
