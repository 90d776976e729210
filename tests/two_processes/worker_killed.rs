//! The worker is killed by `kill -9` or the out-of-memory killer.

use super::{kill_worker, worker_of};
use crate::support::{Case, DEADLINE, Proxy, freeze, shared, start};

const KILLED: &str = "the worker process was killed by signal 9";

#[test]
fn a_monitor_that_waits_for_the_servers_to_delete_the_node_says_so() {
    let proxy = Proxy::to(shared());
    let case = Case::new("worker-deleted").through(&proxy.connect_string());
    let running = start(&case, &[], "echo ready; sleep 60; :");
    proxy.blackhole();
    kill_worker(&running);
    running.wait_for_line("deleting the lock node in place of the worker: connecting", DEADLINE);
    proxy.pass();
    running.wait(DEADLINE).assert_code(123).assert_stderr(KILLED);
}

/// The node's ACL was changed, so the monitor can't see whether it is still zklock's. It must not say that it is gone.
#[test]
fn a_node_that_the_monitor_can_not_read_is_not_reported_as_gone() {
    let case = Case::new("worker-hidden");
    let running = start(&case, &["--session-timeout", "6"], "echo ready; exec sleep 60");
    let node = format!("{}/{}", case.path(), case.wait_for_contenders(1)[0]);
    // Otherwise the worker could notice first that it can't read its node.
    freeze(worker_of(running.pid()));
    case.observer().hide(&node);
    kill_worker(&running);
    let output = running.wait(DEADLINE);
    output.assert_code(123).assert_stderr("the lock node is deleted when its session times out");
    assert!(!output.stderr.contains("the lock node is gone"), "{output}");
    case.wait_for_contenders(0);
}
