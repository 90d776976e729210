//! A server that has too much to do, and turns requests away until it has less.

use super::crowd::Crowd;
use crate::malformed_servers::attacker::Attacker;
use crate::malformed_servers::wire::Bytes;
use crate::support::{Case, Server, Zklock, new_marker, op};
use std::net::Shutdown;
use std::ops::ControlFlow::{Break, Continue};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What a server answers to a request that it turns away.
const THROTTLED: i32 = -127;

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
            for options in [&["-w", "20"][..], &["-n"], &[]] {
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
        let attacker = Attacker::lying(move |victim, asked| {
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
            Zklock::at(attacker.address(), &new_marker()).args(["--session-timeout", "2", "-w", "20"]);
        let output = zklock.args(["/t/hostile", "--", "sh", "-c", "echo ran; sleep 1"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n", "{ops:?}");
        assert!(attacker.lied(), "{ops:?}: otherwise it proves nothing");
    }
}
