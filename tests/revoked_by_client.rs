//! Another client revokes a holder or a waiter by writing to its node.

use crate::support::{Case, DEADLINE};

/// The data that Curator's `Revoker` writes.
const MARK: &str = "__REVOKE__";

#[test]
fn a_revoked_holder_stops_its_command_and_releases() {
    let case = Case::new("revoked-holder");
    let holder = case.lock(&[], ["sh", "-c", "echo up; exec sleep 60"]).spawn();
    holder.wait_for_stdout("up", DEADLINE);
    let node = case.wait_for_contenders(1).remove(0);
    case.observer().set_data(&format!("{}/{node}", case.path()), MARK);
    let output = holder.wait(DEADLINE);
    output.assert_code(123).assert_stderr("the lock is revoked by another client");
}

#[test]
fn the_message_names_the_client_that_revoked_the_lock() {
    let case = Case::new("revoked-by");
    let holder = case.lock(&[], ["sh", "-c", "echo up; exec sleep 60"]).spawn();
    holder.wait_for_stdout("up", DEADLINE);
    let path = format!("{}/{}", case.path(), case.wait_for_contenders(1).remove(0));
    let record = case.observer().data(&path).unwrap();
    let marked = record.replacen('{', r#"{"revoked_by":"host-b:7","#, 1);
    case.observer().set_data(&path, &marked);
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is revoked by host-b:7");
}

#[test]
fn a_revoked_waiter_leaves_the_queue_and_never_runs() {
    let case = Case::new("revoked-waiter");
    let holder = case.holder();
    let waiter = case.lock(&[], ["echo", "ran"]).spawn();
    let node = case.wait_for_contenders(2).remove(1);
    case.observer().set_data(&format!("{}/{node}", case.path()), MARK);
    let output = waiter.wait(DEADLINE);
    output.assert_code(125).assert_stderr("revoked by another client");
    assert_eq!(output.stdout, "");
    case.wait_for_contenders(1);
    holder.signal(nix::sys::signal::Signal::SIGTERM);
    holder.wait(DEADLINE);
}
