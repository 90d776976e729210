//! A server that never stops talking.

use super::attacked::{Attacked, LOST};
use super::attacker::{Attacker, SESSION, TIMEOUT_MS, Victim};
use crate::support::{Bytes, Output, op};
use std::ops::ControlFlow::{Break, Continue};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Sends events until the victim hangs up. Its client library does nothing but read then, and would not notice that its
/// time is over. It keeps what it reads.
fn flood(victim: &mut Victim) {
    let event = Bytes::default().int(-1).long(7).int(0).int(3).int(3).buffer(b"/t/hostile/x").packet();
    let events = event.repeat(1000);
    while victim.send(&events).is_ok() {}
}

#[test]
fn endless_events_instead_of_answers_end_in_time() {
    let attacker = Attacker::new(|mut victim| {
        victim.grant(TIMEOUT_MS, SESSION);
        flood(&mut victim);
    });
    Attacked::by(attacker.address()).at_any_cost().fails();
}

/// Whoever cleans up after a worker meets the same server.
#[test]
fn endless_events_to_whoever_deletes_the_node_end_in_time() {
    let begun = AtomicBool::new(false);
    let attacker = Attacker::lying(move |victim, asked| {
        let creates = op::CREATE.contains(&asked.op);
        if !creates && !begun.load(Ordering::SeqCst) {
            return Continue(());
        }
        begun.store(true, Ordering::SeqCst);
        flood(victim);
        Break(())
    });
    Attacked::by(attacker.address()).at_any_cost().fails();
    assert!(attacker.lied() && attacker.accepted() > 1, "otherwise it proves nothing");
}

#[test]
fn endless_events_instead_of_a_confirmation_end_the_command_in_time() {
    let mut outcomes = (0..4).map(|_| {
        let confirmed = AtomicUsize::new(0);
        let attacker = Attacker::lying(move |victim, asked| {
            if !op::MULTI.contains(&asked.op) || confirmed.fetch_add(1, Ordering::SeqCst) < 4 {
                return Continue(());
            }
            flood(victim);
            Break(())
        });
        let output = Attacked::with(attacker.address(), &["-w", "20"]).at_any_cost().ends();
        (output, attacker.lied())
    });
    // zklock may find the server too slow for so short a session timeout.
    let is_refused = |output: &Output| output.stderr.contains("is too slow");
    let (output, lied) = outcomes.find(|(output, _)| !is_refused(output)).expect("a command that starts");
    assert_eq!(output.assert_code(LOST).stdout, "ran\n", "{output}");
    assert!(lied, "otherwise it proves nothing");
}
