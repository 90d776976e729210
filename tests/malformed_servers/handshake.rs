//! A server that does the connecting its own way.

use super::attacked::Attacked;
use super::attacker::{Attacker, SESSION, TIMEOUT_MS};
use crate::support::Bytes;
use std::ops::ControlFlow::Continue;

/// After none of these answers to the connect request, lengths in front included, there is a session; and the
/// user hears of the server.
#[track_caller]
fn no_session(answers: impl IntoIterator<Item = Vec<u8>>) {
    let attackers = answers.into_iter().map(|answer| {
        Attacker::new(move |mut victim| {
            victim.packet();
            victim.send(&answer).ok();
            // It stays open: nothing is said by closing.
            while victim.packet().is_some() {}
        })
    });
    let attackers: Vec<_> = attackers.collect();
    let attacked: Vec<_> = attackers.iter().map(|attacker| Attacked::by(attacker.address())).collect();
    for (attacked, attacker) in attacked.into_iter().zip(&attackers) {
        attacked.fails().assert_stderr(attacker.address());
    }
}

fn granted(version: i32, timeout: i32, session: i64) -> Bytes {
    Bytes::default().int(version).int(timeout).long(session)
}

#[test]
fn garbage_is_no_session() {
    let garbage = |length| (0..length).map(|at: u32| (at * 167 + 13).to_le_bytes()[0]).collect();
    no_session([1, 3, 4, 5, 20, 40, 64, 4096].map(garbage));
}

#[test]
fn a_handshake_that_makes_no_sense_is_no_session() {
    let password = |bytes: Bytes| bytes.buffer(&[7; 16]).raw(&[0]);
    let answers = [
        // No session, which is what an expired one is told.
        password(granted(0, TIMEOUT_MS, 0)),
        password(granted(0, -1, SESSION)),
        password(granted(0, i32::MIN, SESSION)),
        password(granted(9, TIMEOUT_MS, SESSION)),
        // A read-only server, which was not asked for.
        granted(0, TIMEOUT_MS, SESSION).buffer(&[7; 16]).raw(&[1]),
        granted(0, TIMEOUT_MS, SESSION).buffer(&[7; 16]).raw(&[9]),
        granted(0, TIMEOUT_MS, SESSION).int(i32::MAX),
        granted(0, TIMEOUT_MS, SESSION).int(-1),
        granted(0, TIMEOUT_MS, SESSION),
        Bytes::default().int(0),
        Bytes::default(),
    ];
    no_session(answers.map(Bytes::packet));
}

#[test]
fn a_packet_longer_than_anything_real_is_no_session() {
    no_session(
        [i32::MAX, i32::MIN, -1, 0, 1 << 30].map(|length| Bytes::default().int(length).raw(&[0; 64]).0),
    );
}

#[test]
fn a_server_that_closes_within_its_handshake_is_no_session() {
    let answer = granted(0, TIMEOUT_MS, SESSION).buffer(&[7; 16]).raw(&[0]).packet();
    let closing_after = |end: usize| {
        let answer = answer[..end].to_vec();
        Attacker::new(move |mut victim| {
            victim.packet();
            victim.send(&answer).ok();
        })
    };
    // As servers of one ensemble, so that one zklock meets them all.
    let attackers: Vec<_> = (0..answer.len()).map(closing_after).collect();
    let hosts: Vec<_> = attackers.iter().map(Attacker::address).collect();
    Attacked::by(&hosts.join(",")).fails();
    assert!(attackers.iter().all(|attacker| attacker.accepted() > 0));
}

#[test]
fn a_session_without_any_time_runs_nothing() {
    // Apart from that it is as good as a server: it says that we are the first, and confirms it.
    let granting = |timeout| Attacker::granting(timeout, |_, _| Continue(()));
    let attackers = [0, 1, 7].map(granting);
    let attacked: Vec<_> = attackers.iter().map(|attacker| Attacked::by(attacker.address())).collect();
    for attacked in attacked {
        attacked.fails();
    }
}
