//! A server that has too much to do, and turns requests away until it has less.

use super::crowd::Crowd;
use crate::malformed_servers::attacker::Attacker;
use crate::support::{Bytes, Case, Server, Zklock, new_marker, op};
use std::net::Shutdown;
use std::ops::ControlFlow::{Break, Continue};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What a server answers to a request that it turns away.
const THROTTLED: i32 = -127;

/// What it answers about a node that the client may not read.
const NO_AUTH: i32 = -102;

/// One request at a time, and whatever had to wait for its turn is turned away.
fn throttling() -> Server {
    let server = Server::builder().java_option("-Dzookeeper.request_throttle_max_requests=1");
    let server = server.java_option("-Dzookeeper.request_throttle_stall_time=20");
    server.java_option("-Dzookeeper.throttled_op_wait_time=1").start()
}

#[test]
fn behind_a_throttling_server_a_lock_takes_longer_and_is_taken() {
    let server = throttling();
    let case = Case::on(&server, "throttled");
    case.observer().mkdirs(case.path());
    case.observer().mkdirs("/t/pestered");
    let pestering = AtomicBool::new(true);
    thread::scope(|scope| {
        let errors = scope.spawn(|| {
            let mut crowd = Crowd::of(&server);
            let errors = crowd.pester("/t/pestered", || pestering.load(Ordering::SeqCst));
            crowd.leave();
            errors
        });
        let ran = catch_unwind(AssertUnwindSafe(|| {
            // Beside other load, its turn comes seldom.
            let patient = ["--connect-timeout", "60"];
            for options in [&["-w", "60"][..], &["-n", "--connect-timeout", "60"], &patient] {
                let output = case.lock(options, ["echo", "ran"]).run();
                assert_eq!(output.assert_code(0).stdout, "ran\n");
            }
        }));
        pestering.store(false, Ordering::SeqCst);
        assert!(errors.join().unwrap().contains(&THROTTLED), "nothing was turned away");
        ran.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

/// Which of its requests a server turns away is chance. Here it is each in turn, once.
#[test]
fn whatever_is_turned_away_is_asked_again_and_never_a_failure() {
    for ops in [op::CREATE, op::GET_CHILDREN, op::GET_DATA, op::SYNC, op::MULTI] {
        let (once, cut) = (AtomicBool::new(false), AtomicBool::new(false));
        let attacker = Attacker::granting(12_000, move |victim, asked| {
            let turned_away = ops.contains(&asked.op) && !once.swap(true, Ordering::SeqCst);
            if turned_away {
                victim.reply(asked.xid, THROTTLED, &Bytes::default()).ok();
                return Break(());
            }
            // Whoever lost the answer to a create has the server catch up before it lists.
            if ops == op::SYNC && op::CREATE.contains(&asked.op) && !cut.swap(true, Ordering::SeqCst) {
                victim.0.shutdown(Shutdown::Both).ok();
            }
            Continue(())
        });
        let zklock =
            Zklock::at(attacker.address(), &new_marker()).args(["--session-timeout", "12", "-w", "60"]);
        // Confirmations come every second.
        let command = if ops == op::MULTI { "echo ran; sleep 3" } else { "echo ran; sleep 1" };
        let output = zklock.args(["/t/hostile", "--", "sh", "-c", command]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n", "{ops:?}");
        assert!(attacker.lied(), "{ops:?}: otherwise it proves nothing");
    }
}

/// A node that can't be read is looked for in the list of its parent, or by its stat.
#[test]
fn a_hidden_node_is_looked_for_again_when_that_is_turned_away() {
    let name = "_c_8cf93ea4-96c2-4d3d-a2a7-5a9e5b5c5d5e-lock-0000000000";
    let hiding = |turned_away: &'static [i32]| {
        let once = AtomicBool::new(false);
        Attacker::lying(move |victim, asked| {
            let (error, body) = if turned_away.contains(&asked.op) && !once.swap(true, Ordering::SeqCst) {
                (THROTTLED, Bytes::default())
            } else if op::GET_DATA.contains(&asked.op) {
                (NO_AUTH, Bytes::default())
            } else if op::GET_CHILDREN.contains(&asked.op) {
                (0, Bytes::default().strings(&[name.to_owned()]))
            } else if op::EXISTS.contains(&asked.op) {
                (0, Bytes::default().stat(7, 7))
            } else {
                return Continue(());
            };
            victim.reply(asked.xid, error, &body).ok();
            Break(())
        })
    };
    let attacker = hiding(op::GET_CHILDREN);
    // This process, which is above zklock, stands for the zklock that holds the lock.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let started = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap();
    let holder = format!(r#""pid":{},"started":{started}"#, std::process::id());
    let held = format!(
        r#"[{{"path":"/t/hostile","node":"/t/hostile/{name}","fencing_token":7,"session":7,"mode":"exclusive","slots":1,{holder}}}]"#
    );
    let zklock = Zklock::at(attacker.address(), &new_marker()).env("ZKLOCK_HELD", held);
    let output = zklock.args(["-n", "/t/hostile", "--", "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n", "inside the lock: {output}");
    let attacker = hiding(op::EXISTS);
    let output = Zklock::at(attacker.address(), &new_marker()).args(["status", "/t/hostile"]).run();
    assert!(output.assert_code(0).stdout.contains("held by 1;"), "{output}");
}
