//! A server of ZooKeeper 3.4, which knows no create that zklock could use.

use super::attacker::Attacker;
use crate::support::{Bytes, Server, Zklock, assert_no_processes, new_marker, op, release};
use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

/// What such a server answers to a request that it doesn't know.
const UNIMPLEMENTED: i32 = -6;

#[track_caller]
fn is_too_old(hosts: &str) {
    for options in [&[][..], &["-n", "-E", "0"], &["-w", "30"], &["-q"], &["--once-per", "60"]] {
        let marker = new_marker();
        let zklock = Zklock::at(hosts, &marker).args(["--connect-timeout", "60"]).args(options);
        let output = zklock.args(["/t/old/lock", "--", "echo", "must not run"]).run();
        output.assert_code(125).assert_stderr("/t/old/lock: ZooKeeper 3.4 is too old: 3.5 or newer");
        assert_eq!(output.stdout, "", "{options:?}");
        assert!(output.elapsed < Duration::from_secs(25), "at once, not after {:?}", output.elapsed);
        assert_no_processes(&marker, Duration::from_secs(20));
    }
}

/// The jars are there once `scripts/versions` has fetched them. Without them a server stands in that answers the one
/// request as 3.4 does.
#[test]
fn zookeeper_3_4_is_refused_at_once_and_3_5_named() {
    if let Some(home) = release("3.4.14") {
        let server = Server::builder().release(&home).start();
        assert!(server.four_letter("srvr").starts_with("Zookeeper version: 3.4"));
        is_too_old(&server.connect_string());
        return;
    }
    let old = Attacker::granting(30_000, |victim, asked| {
        // 1 is the create that 3.4 knows.
        if asked.op == 1 || !op::CREATE.contains(&asked.op) {
            return Continue(());
        }
        victim.reply(asked.xid, UNIMPLEMENTED, &Bytes::default()).ok();
        Break(())
    });
    is_too_old(old.address());
    assert!(old.lied());
}
