//! `--recursive`: every lock at or below a path; without a path, every lock.

use super::{end, end_all, holder, json, status};
use crate::support::{Case, DEADLINE, Server, Zklock};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use zookeeper::{CreateMode, Permission};

/// The paths of the found locks, in order.
fn paths(found: &Value) -> Vec<String> {
    let locks = found["locks"].as_array().unwrap();
    locks.iter().map(|lock| lock["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn locks_are_found_at_any_depth_and_other_nodes_are_not_shown() {
    let case = Case::new("recursive");
    let observer = case.observer();
    let base = format!("{}-tree", case.path());
    let deep = format!("{base}/a/b/c/d/e/f/g/deep");
    let locks = [base.clone(), format!("{base}/a"), deep, format!("{base}/z")];
    let nodes: Vec<_> = locks.iter().map(|lock| observer.contend(lock, "", Permission::ALL)).collect();
    for other in ["empty", "config/leases", "a/node-0000000001"] {
        observer.mkdirs(&format!("{base}/{other}"));
    }
    assert_eq!(paths(&json(&case, &["--recursive", &base])), locks);
    assert_eq!(paths(&json(&case, &["--recursive", &format!("{base}/a")])), locks[1..3]);
    let above = format!("{base}/a/b");
    let hint = format!("{above}  free; locks in use below it: 1; --recursive shows them\n");
    assert_eq!(status(&case, &["--exit-code", &above]).assert_code(0).stdout, hint);
    let several = json(&case, &["--recursive", &format!("{base}/z"), &format!("{base}/a/b")]);
    assert_eq!(paths(&several), locks[2..]);
    assert_eq!(status(&case, &["--recursive", &format!("{base}/empty")]).assert_code(0).stdout, "no locks\n");
    for node in &nodes {
        observer.delete(node);
    }
}

/// The server deletes an empty lock node; the record of its last success remains.
#[test]
fn a_deleted_lock_is_found_by_its_record() {
    let case = Case::new("recursive-gone");
    let lock = format!("{}-gone/job", case.path());
    case.zklock().args(["--once-per", "60", &lock, "true"]).run().assert_code(0);
    case.observer().delete(&lock);
    let found = json(&case, &["--recursive", &format!("{}-gone", case.path())]);
    assert_eq!(paths(&found), [lock.as_str()]);
    assert_eq!(found["locks"][0]["contenders"], serde_json::json!([]));
    assert!(found["locks"][0]["last_success"]["at"].is_string(), "{found}");
}

/// More nodes than `status` reads at a time.
#[test]
fn a_wide_tree_is_shown_completely() {
    let case = Case::new("recursive-wide");
    let base = format!("{}-wide", case.path());
    case.observer().mkdirs(&base);
    let (made, made_so_far) = (base.clone(), AtomicUsize::new(0));
    case.observer()
        .call("create", move |client| {
            // It goes on after what was made in time.
            for index in made_so_far.load(SeqCst)..1_200 {
                let acl = zookeeper::Acl::open_unsafe().clone();
                let path = format!("{made}/.job{index:04}.zklock-last");
                match client.create(&path, vec![], acl, CreateMode::Persistent) {
                    Ok(_) | Err(zookeeper::ZkError::NodeExists) => made_so_far.fetch_max(index, SeqCst),
                    Err(error) => return Err(error),
                };
            }
            Ok(())
        })
        .unwrap();
    let found = paths(&json(&case, &["--recursive", &base]));
    assert_eq!(found.len(), 1_200);
    assert_eq!(found.last().unwrap(), &format!("{base}/job1199"));
}

/// A server of its own, because other tests' locks would be shown too.
#[test]
fn without_a_path_all_locks_below_the_root_are_shown() {
    let server = Server::start();
    let case = Case::on(&server, "bare");
    assert_eq!(status(&case, &[]).assert_code(0).stdout, "no locks\n");
    status(&case, &["--exit-code"]).assert_code(0);
    let job = holder(&case, &[]);
    let others = ["/top", "/app/zookeeper/job", "/app/job", "/zookeeper/job"];
    let nodes: Vec<_> =
        others.iter().map(|lock| case.observer().contend(lock, "", Permission::ALL)).collect();
    // ZooKeeper's own nodes are no locks, whatever they contain.
    assert_eq!(paths(&json(&case, &[])), ["/app/job", "/app/zookeeper/job", case.path(), "/top"]);
    status(&case, &["--exit-code"]).assert_code(1);

    let below = |words: &[&str]| {
        let hosts = format!("{}/app", case.hosts());
        let output = Zklock::at(&hosts, case.marker()).args(["status", "--json"]).args(words).run();
        paths(&super::parsed(&output.assert_code(0).stdout))
    };
    assert_eq!(below(&[]), ["/job", "/zookeeper/job"], "a chroot has no nodes of ZooKeeper's own");
    assert_eq!(below(&["/job"]), ["/job"]);
    assert_eq!(below(&["--recursive", "/job"]), ["/job"]);
    for node in &nodes {
        case.observer().delete(node);
    }
    end(job);
}

#[test]
fn a_recursive_watch_shows_a_new_lock() {
    let case = Case::new("recursive-watch");
    let base = format!("{}-watched", case.path());
    case.observer().mkdirs(&base);
    let watch = case.zklock().args(["status", "--watch", "--json", "--recursive", &base]).spawn();
    watch.wait_for_stdout("\"locks\":[]", DEADLINE);
    let node = case.observer().contend(&format!("{base}/a/b"), "", Permission::ALL);
    watch.wait_for_stdout(&node, DEADLINE);
    case.observer().delete(&node);
    super::wait_for_documents(&watch, |documents| paths(documents.last().unwrap()).is_empty());
    end_all(vec![watch]);
}
