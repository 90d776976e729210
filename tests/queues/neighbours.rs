//! What Curator, kazoo and other clients do besides holding a lock.

use super::party::{Kind, Spec};
use super::{Cause, Queue, THIS};
use crate::support::{
    Case, DEADLINE, Neighbour, NeighbourLock, Output, curator, end, holder, kazoo, shared, wait_until,
};
use std::thread;
use std::time::{Duration, Instant};
use zookeeper::CreateMode;

/// A kind of lock of the library, and a zklock that it excludes.
type Locks = &'static [(&'static str, &'static str)];

/// Its session timeout is six seconds. Nobody else lets the next one run.
#[test]
fn the_lock_of_a_killed_neighbour_is_free_when_its_session_has_ended() {
    let of_curator: Locks =
        &[("mutex", "-s"), ("write", "--naming curator-rw -s"), ("read", "--naming curator-rw")];
    let of_kazoo: Locks =
        &[("lock", "--naming kazoo"), ("write", "--naming kazoo -s"), ("read", "--naming kazoo")];
    thread::scope(|scope| {
        scope.spawn(|| is_killed(Neighbour::curator(6), Kind::Curator, of_curator));
        scope.spawn(|| is_killed(Neighbour::kazoo(6), Kind::Kazoo, of_kazoo));
    });
}

fn is_killed(neighbour: Neighbour, kind: Kind, locks: Locks) {
    let neighbour: &Neighbour = Box::leak(Box::new(neighbour));
    let mut queues: Vec<Queue> = Vec::new();
    for (lock, options) in locks {
        let mut queue = Queue::new(THIS);
        // A waiter that is killed lets nobody in, either.
        queue.add_started(Spec::of(kind, lock), |case| Box::new(neighbour.take(lock, case.path())));
        queue.add(options);
        queue.add_started(Spec::of(kind, lock), |case| Box::new(neighbour.take(lock, case.path())));
        queue.add(options);
        queue.assert_holders(&[1]);
        queues.push(queue);
    }
    neighbour.kill();
    let killed = Instant::now();
    for mut queue in queues {
        let nodes = [1, 3].map(|number| queue.member(number).node.clone());
        wait_until("the end of its session", DEADLINE, || {
            let runs = queue.holders().contains(&2);
            let is_there = queue.case.observer().exists(&nodes[0]);
            assert!(!(runs && is_there), "it runs beside the killed neighbour");
            !is_there
        });
        assert!(killed.elapsed() > Duration::from_secs(2), "{:?}", killed.elapsed());
        queue.forget(&[1, 3]);
        let both = queue.member(2).spec.is_shared();
        queue.assert_holders(if both { &[2, 4] } else { &[2] });
        queue.finish();
    }
}

/// Curator 5.5 and later gives the reader the number of the writer, which no other node has then. Nodes with its names
/// represent it, whatever version is installed.
#[test]
fn a_curator_writer_that_became_a_reader_still_excludes_a_waiting_writer() {
    let mut queue = Queue::new(THIS);
    let name = |kind| format!("_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-__{kind}__");
    queue.add(&format!("node {}", name("WRIT")));
    queue.add("--naming curator-rw");
    let writer = queue.member(1).node.clone();
    let reader = format!("{}/{}{}", queue.case.path(), name("READ"), &writer[writer.len() - 10..]);
    queue.case.observer().create(&reader, "", CreateMode::Ephemeral);
    queue.leave(Cause::End, &[1]);
    wait_until("the waiter to watch the reader", DEADLINE, || shared().watchers_of(&reader) == 1);
    queue.assert_holders(&[]);
    queue.case.observer().delete(&reader);
    queue.assert_holders(&[2]);
    queue.finish();
}

/// Its node would block all later contenders.
#[test]
fn a_waiter_that_finds_another_recipe_leaves_the_queue() {
    let mut queue = Queue::new(THIS);
    queue.add_all(&["zklock", "zklock", "zklock", "curator latch"]);
    queue.assert_holders(&[1, 4]);
    // The last zklock lists again when its predecessor disappears.
    queue.leave(Cause::End, &[2]);
    queue.leave(Cause::Refuse, &[3]);
    queue.assert_holders(&[1, 4]);
    queue.finish();
}

/// The outer lock doesn't exclude the clients that the inner lock is for.
#[test]
fn nesting_in_a_lock_of_another_naming_is_refused() {
    let case = Case::new("inside-family");
    let program = env!("CARGO_BIN_EXE_zklock");
    let within = [program, "-z", case.hosts(), "--naming", "kazoo", case.path(), "echo", "must not run"];
    let refused = case.lock(&[], within).run();
    refused.assert_code(125).assert_stderr("the surrounding command holds it in the naming of curator");
    assert_eq!(refused.stdout, "");
}

#[track_caller]
fn revoke(case: &Case, words: &[&str]) -> Output {
    case.zklock().args(["revoke", case.path()]).args(words).run()
}

/// Takes a lock, and returns it with its node.
#[track_caller]
fn held(neighbour: &'static Neighbour, kind: &str, case: &Case) -> (NeighbourLock, String) {
    let lock = neighbour.take(kind, case.path());
    lock.wait_held();
    (lock, format!("{}/{}", case.path(), case.contenders()[0]))
}

/// A second request would change nothing.
#[test]
fn a_curator_lock_without_a_listener_is_asked_once_and_kept() {
    let case = Case::new("revoke-curator-twice");
    let (lock, _) = held(curator(), "mutex", &case);
    for says in [": asked to stop\n", ": was asked to stop before\n"] {
        assert!(revoke(&case, &[]).assert_code(0).stdout.ends_with(says));
    }
    assert!(lock.is_held());
    let status = |options: &[&str]| case.zklock().arg("status").args(options).arg(case.path()).run().stdout;
    let text = status(&[]);
    assert!(text.contains("held, asked to stop") && !text.contains("__REVOKE__"), "{text}");
    assert!(status(&["--json"]).contains("\"label\": null"));
    case.lock(&["-n"], ["true"]).run().assert_code(124).assert_stderr(", asked to stop");
    lock.give();
}

#[test]
fn a_kazoo_lock_can_only_be_revoked_with_force() {
    for (kind, owner) in [("lock", "node "), ("named", "kazoo-host:4711 (node ")] {
        let case = Case::new("revoke-kazoo");
        let (lock, node) = held(kazoo(), kind, &case);
        let data = case.observer().data(&node);
        for words in [&[][..], &["--all"]] {
            let output = revoke(&case, words);
            output.assert_code(125).assert_stderr("kazoo").assert_stderr("--force").assert_stderr(&node);
        }
        assert_eq!(case.observer().data(&node), data, "untouched");
        let message = revoke(&case, &["--force"]).assert_code(0).stdout.clone();
        let name = node.rsplit('/').next().unwrap();
        assert!(message.starts_with(&format!("{}: {owner}{name}", case.path())), "{message}");
        lock.give();
    }
}

/// If one of the contenders can't be asked, none is.
#[test]
fn a_zklock_beside_a_kazoo_lock_is_not_revoked_with_it() {
    let case = Case::new("revoke-kazoo-ours");
    let zklock = holder(&case, &["--naming", "kazoo"]);
    let lock = kazoo().take("lock", case.path());
    case.wait_for_contenders(2);
    revoke(&case, &["--all"]).assert_code(125);
    assert_eq!(zklock.stderr().text(), "");
    end(zklock);
    lock.wait_held();
    lock.give();
}
