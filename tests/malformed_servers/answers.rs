//! A server that grants a session and then lies.

use super::attacked::{Attacked, FAILED, LOST};
use super::attacker::{Asked, Attacker, SESSION, Victim};
use crate::support::{Bytes, Zklock, new_marker, op};
use nix::sys::signal::Signal::SIGABRT;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::atomic::{AtomicBool, Ordering};

/// Every request of this kind gets this answer.
fn lies(ops: &'static [i32], error: i32, body: Bytes) -> Attacker {
    Attacker::lying(move |victim, asked| {
        if !ops.contains(&asked.op) {
            return Continue(());
        }
        victim.reply(asked.xid, error, &body).ok();
        Break(())
    })
}

/// In answer to every request of this kind the attacker does this instead.
fn instead(ops: &'static [i32], act: impl Fn(&mut Victim, &Asked) + Send + Sync + 'static) -> Attacker {
    Attacker::lying(move |victim, asked| {
        if !ops.contains(&asked.op) {
            return Continue(());
        }
        act(victim, asked);
        Break(())
    })
}

/// None of these attackers makes zklock run anything.
#[track_caller]
fn nothing_runs(attackers: impl IntoIterator<Item = Attacker>) {
    let attackers: Vec<_> = attackers.into_iter().collect();
    let attacked: Vec<_> = attackers.iter().map(|attacker| Attacked::by(attacker.address())).collect();
    for (attacked, attacker) in attacked.into_iter().zip(&attackers) {
        attacked.fails();
        assert!(attacker.lied(), "otherwise it proves nothing");
    }
}

/// These tell us that we are the first, so that the command may have begun when the lie is seen through.
#[track_caller]
fn nothing_goes_on(attackers: impl IntoIterator<Item = Attacker>) {
    let attackers: Vec<_> = attackers.into_iter().collect();
    let attacked: Vec<_> = attackers.iter().map(|attacker| Attacked::by(attacker.address())).collect();
    for (attacked, attacker) in attacked.into_iter().zip(&attackers) {
        let output = attacked.ends();
        assert!(matches!(output.code, Some(FAILED | LOST)), "{output}");
        assert!(attacker.lied(), "otherwise it proves nothing");
    }
}

#[test]
fn without_a_lie_the_attacker_would_be_believed() {
    let attacker = Attacker::granting(12_000, |_, _| Continue(()));
    let zklock = Zklock::at(attacker.address(), &new_marker()).args(["--session-timeout", "12", "-w", "20"]);
    let output = zklock.args(["/t/hostile", "--", "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn a_created_node_with_another_name_is_not_adopted() {
    let paths = [
        "",
        "/",
        "lock-0000000000",
        "/t/hostile",
        "/t/hostile/",
        "/t/hostile/_c_11111111-7a5e-4d5b-8a67-0123456789ab-lock-0000000000",
        "/elsewhere/_c_11111111-7a5e-4d5b-8a67-0123456789ab-lock-0000000000",
        "/t/hostile/../x/lock-0000000000",
        "/t/hostile/\x1b[2J\x1b]0;owned\x07",
        "/t/hostile/\u{202e}lock-0000000000\n",
    ];
    nothing_runs(
        paths.map(|path| lies(op::CREATE, 0, Bytes::default().buffer(path.as_bytes()).stat(SESSION, 5))),
    );
}

#[test]
fn a_created_node_with_an_impossible_number_is_not_adopted() {
    let numbers = ["", "x", "7", "-0000000001", "+0000000001", "99999999999999999999", "0000000000\x1b[2J"];
    nothing_runs(numbers.map(|number| {
        instead(op::CREATE, move |victim, asked| {
            let path = format!("{}{number}", asked.path);
            victim.reply(asked.xid, 0, &Bytes::default().buffer(path.as_bytes()).stat(SESSION, 5)).ok();
        })
    }));
}

/// Bodies that are too short for what they should be, or no text.
fn unreadable() -> [Bytes; 6] {
    let whole = Bytes::default().buffer(b"/t/hostile/lock-0000000000").stat(SESSION, 5);
    [
        Bytes::default(),
        Bytes::default().raw(&[0]),
        Bytes::default().int(-1),
        Bytes::default().int(3).raw(&[0xff, 0xfe, 0x80]),
        Bytes::default().int(1 << 20).raw(&[0; 64]),
        Bytes(whole.0[..40].to_vec()),
    ]
}

#[test]
fn answers_that_cannot_be_read_end_it() {
    let before = [op::CREATE, op::GET_CHILDREN].map(|ops| unreadable().map(|body| lies(ops, 0, body)));
    nothing_runs(before.into_iter().flatten());
    nothing_goes_on(unreadable().map(|body| lies(op::GET_DATA, 0, body)));
}

#[test]
fn errors_that_make_no_sense_end_it() {
    // Marshalling, a connection that is lost, one that does not exist, and a node that nobody asked for.
    let errors = [-5, -4, -999, -110, 1, i32::MIN, i32::MAX];
    let all = |ops| errors.map(|error| lies(ops, error, Bytes::default()));
    nothing_runs([op::CREATE, op::GET_CHILDREN].map(all).into_iter().flatten());
}

#[test]
fn a_list_without_the_own_node_means_that_it_is_gone() {
    let unknown = "_c_11111111-7a5e-4d5b-8a67-0123456789ab-lock-0000000000".to_owned();
    let lists = [vec![], vec![unknown], vec!["\x1b[2J\u{202e}".to_owned(); 3]];
    nothing_runs(lists.map(|list| lies(op::GET_CHILDREN, 0, Bytes::default().strings(&list))));
}

/// The client library makes room for as many as are promised. Where the system grants that, nothing comes of it; where
/// it doesn't, the standard library aborts the worker, and the monitor when it looks for the node.
#[test]
fn a_list_that_promises_more_than_memory_holds_runs_nothing() {
    let attacker = lies(op::GET_CHILDREN, 0, Bytes::default().int(i32::MAX).raw(&[0; 64]));
    let output = Attacked::by(attacker.address()).ends();
    assert!(output.code == Some(FAILED) || output.signal == Some(SIGABRT as i32), "{output}");
    assert_eq!(output.stdout, "");
}

#[test]
fn the_own_node_owned_by_another_session_is_not_adopted() {
    let stats = [(0, 5), (SESSION + 1, 5), (SESSION, 6)];
    nothing_goes_on(
        stats.map(|(owner, czxid)| lies(op::GET_DATA, 0, Bytes::default().buffer(b"").stat(owner, czxid))),
    );
}

#[test]
fn unrequested_replies_end_the_run() {
    nothing_runs([0, 77, -2, -3, -4, -8, i32::MIN, i32::MAX].map(|xid| {
        instead(op::CREATE, move |victim, _| {
            victim.reply(xid, 0, &Bytes::default().buffer(b"/t/hostile/x").stat(SESSION, 5)).ok();
        })
    }));
}

/// A watch event of this type about this path.
fn event(kind: i32, state: i32, path: &str) -> Bytes {
    Bytes::default().int(kind).int(state).buffer(path.as_bytes())
}

#[test]
fn unrequested_events_change_nothing() {
    let events =
        [(1, 3, "/t/hostile"), (2, 3, "/elsewhere/\x1b[2J"), (3, 3, ""), (4, 3, "\u{e9}//"), (2, 3, "/")];
    nothing_runs(events.map(|(kind, state, path)| {
        instead(op::CREATE, move |victim, _| {
            victim.reply(-1, 0, &event(kind, state, path)).ok();
        })
    }));
}

/// The first answer about the surrounding lock says neither that it is there nor that it is gone.
#[test]
fn a_surrounding_lock_that_cannot_be_looked_up_is_not_taken_for_released() {
    for (error, said) in [(-102, "needs READ on /t/hostile"), (-1, "/t/hostile: ")] {
        let is_refused = AtomicBool::new(false);
        let attacker = Attacker::lying(move |victim, asked| {
            let error = match asked {
                asked if op::GET_DATA.contains(&asked.op) => -102,
                asked if op::GET_CHILDREN.contains(&asked.op) && is_refused.load(Ordering::SeqCst) => error,
                _ => return Continue(()),
            };
            is_refused.store(true, Ordering::SeqCst);
            victim.reply(asked.xid, error, &Bytes::default()).ok();
            Break(())
        });
        let held = r#"[{"path":"/t/hostile","node":"/t/hostile/n","fencing_token":7,"session":7,"mode":"exclusive","slots":1}]"#;
        let zklock = Zklock::at(attacker.address(), &new_marker()).env("ZKLOCK_HELD", held);
        let output = zklock.args(["-w", "5", "/t/hostile", "--", "echo", "ran"]).run();
        assert_eq!(output.assert_code(125).stdout, "", "{output}");
        output.assert_stderr(said);
        assert!(attacker.lied(), "otherwise it proves nothing");
    }
}
