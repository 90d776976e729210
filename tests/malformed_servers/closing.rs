//! Servers that close the connection at a request, or answer that the session has moved to another one.

use super::attacker::Attacker;
use crate::support::{Bytes, DEADLINE, Server, Zklock, assert_no_processes, end, new_marker, op};
use std::net::Shutdown;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// ZooKeeper's error codes.
const NO_NODE: i32 = -101;
const SESSION_MOVED: i32 = -118;

/// The session timeout that zklock asks for by default, in milliseconds.
const DEFAULT_TIMEOUT_MS: i32 = 30_000;

/// Closes the connection at each of these requests. The lock path and its parent are missing.
fn closing_at(ops: &'static [i32]) -> Attacker {
    Attacker::granting(DEFAULT_TIMEOUT_MS, move |victim, asked| {
        if ops.contains(&asked.op) {
            victim.0.shutdown(Shutdown::Both).ok();
        } else if asked.path.starts_with("/t/") && asked.op != op::CREATE_CONTAINER[0] {
            victim.reply(asked.xid, NO_NODE, &Bytes::default()).ok();
        } else {
            return Continue(());
        }
        Break(())
    })
}

/// zklock says what happened.
#[track_caller]
fn is_named(hosts: &str, what: &str) {
    let reason = format!("the server closed the connection each time zklock tried to {what}");
    let marker = new_marker();
    let output = Zklock::at(hosts, &marker).args(["/t/closing", "--", "echo", "must not run"]).run();
    output.assert_code(125).assert_stderr(&format!("/t/closing: {reason}")).assert_stderr("jute.maxbuffer");
    assert_eq!(output.stdout, "");
    assert_no_processes(&marker, Duration::from_secs(20));
}

#[test]
fn a_server_that_closes_the_connection_at_a_create_is_named() {
    for (ops, what) in [(op::CREATE, "create its lock node"), (op::CREATE_CONTAINER, "create the lock path")]
    {
        let server = closing_at(ops);
        is_named(server.address(), what);
        assert!(server.lied(), "{what}");
    }
}

#[test]
fn a_server_that_allows_only_tiny_requests_is_named() {
    let server = Server::builder().java_option("-Djute.maxbuffer=160").start();
    is_named(&server.connect_string(), "create its lock node");
}

/// A path that loses large packets without a word does so.
#[test]
fn a_server_that_is_silent_at_each_create_is_asked_again() {
    let creates = AtomicUsize::new(0);
    let server = Attacker::granting(2_000, move |victim, asked| {
        if op::CREATE.contains(&asked.op) && creates.fetch_add(1, Ordering::SeqCst) < 12 {
            while victim.asked().is_some() {}
            return Break(());
        }
        Continue(())
    });
    let marker = new_marker();
    let zklock = Zklock::at(server.address(), &marker).args(["--session-timeout", "2", "/t/silent", "--"]);
    let output = zklock.args(["echo", "ran"]).spawn().wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    assert!(server.lied() && server.accepted() > 12, "{}", server.accepted());
}

/// A server answers a transaction so if it still has the old connection of a session that has moved.
#[test]
fn an_answer_that_the_session_has_moved_makes_it_connect_again() {
    let told = AtomicUsize::new(0);
    let server = Attacker::granting(DEFAULT_TIMEOUT_MS, move |victim, asked| {
        if !op::MULTI.contains(&asked.op) || told.fetch_add(1, Ordering::SeqCst) > 0 {
            return Continue(());
        }
        // The result of the only check in the transaction, and its end.
        let moved = Bytes::default()
            .int(-1)
            .raw(&[0])
            .int(SESSION_MOVED)
            .int(SESSION_MOVED)
            .int(-1)
            .raw(&[1])
            .int(-1);
        victim.reply(asked.xid, 0, &moved).ok();
        Break(())
    });
    let marker = new_marker();
    let zklock = Zklock::at(server.address(), &marker).args(["-vv", "/t/moved", "--", "sh", "-c"]);
    let running = zklock.args(["echo ran; exec sleep 60"]).spawn();
    running.wait_for_stdout("ran", DEADLINE);
    running.wait_for_line("connected again", DEADLINE);
    end(running);
    assert!(server.lied() && server.accepted() > 1);
}
