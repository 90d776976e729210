//! Whom a signal reaches: each that another process sends zklock while its command runs, those of a terminal's keys, and the
//! first of a forced stop. The command has two children, one in its process group and one in a session of its own.
//!
//! A row is a place, a call of zklock, who sends which signals, and whom they reach once. To add one, add a line to [`ROWS`].

use super::{Family, OWN, WHO, each, got};
use crate::support::{Case, DEADLINE, Place, Placed, Proxy, shared, try_rows};
use nix::libc::{SIGCONT, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use zklock::process::sys;
use zklock_core::signal::{RTMAX, RTMIN};

#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    /// Another process sends them to zklock.
    Process,
    Key,
    /// zklock itself, when its lock is revoked or lost.
    Revoke,
    RevokeByForce,
    Delete,
    Silence,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    First,
    Group,
    All,
}

use By::{Delete, Key, Process, Revoke, RevokeByForce, Silence};
use Place::{Pid1, Plain, Terminal};
use To::{All, First, Group};

type Row = (Place, &'static str, By, &'static [i32], To);

/// [`each`].
const EACH: &[i32] = &[];
const STOP: &[i32] = &[SIGTERM, SIGCONT];

/// The words are those of [`Family::start`].
#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Plain,    "PATH --",                                       Process, EACH, Group),
    (Plain,    "-s PATH --",                                    Process, EACH, Group),
    (Plain,    "-x PATH --",                                    Process, EACH, Group),
    (Plain,    "--slots 2 PATH --",                             Process, EACH, Group),
    (Plain,    "PATH-b PATH --",                                Process, EACH, Group),
    (Plain,    "--single-child PATH --",                        Process, EACH, First),
    (Plain,    "--config YES PATH --",                          Process, EACH, First),
    (Plain,    "--config NO PATH --",                           Process, EACH, Group),
    (Terminal, "PATH --",                                       Process, EACH, Group),
    (Terminal, "--single-child PATH --",                        Process, EACH, First),
    (Terminal, "--single-child PATH --",                        Key,     &[SIGINT, SIGQUIT], Group),
    (Pid1,     "PATH --",                                       Process, EACH, Group),
    (Pid1,     "--single-child PATH --",                        Process, EACH, First),
    (Plain,    "PATH --",                                       Revoke,  STOP, All),
    (Terminal, "PATH --",                                       Delete,  STOP, All),
    (Pid1,     "PATH --",                                       Revoke,  STOP, All),
    (Plain,    "--signal RTMIN+3 PATH --",                      Revoke,  &[RTMIN + 3, SIGCONT], All),
    (Plain,    "--signal sigrtmax-2 PATH --",                   Revoke,  &[RTMAX - 2, SIGCONT], All),
    (Plain,    "--signal 50 PATH --",                           Revoke,  &[50, SIGCONT], All),
    (Plain,    "--single-child PATH --",                        Revoke,  STOP, First),
    (Plain,    "--single-child --signal RTMIN+3 PATH --",       RevokeByForce, &[RTMIN + 3, SIGCONT], First),
    (Plain,    "--single-child PATH --",                        Delete,  STOP, First),
    // The lease gives the sixth part of the timeout between the first signal and KILL.
    (Plain,    "--single-child --session-timeout 14 --signal RTMIN+3 PATH --", Silence, &[RTMIN + 3, SIGCONT], First),
    // A zklock inside the lock becomes its command.
    (Plain,    "--single-child PATH -- ZKLOCK PATH --",         Process, &[SIGTERM], First),
    (Plain,    "PATH -- ZKLOCK --single-child PATH --",         Process, &[SIGTERM], Group),
    // With another lock it is the first process, and forwards what it gets.
    (Plain,    "--single-child PATH -- ZKLOCK PATH-b --",       Revoke,  STOP, Group),
];

#[test]
fn each_signal_reaches_those_that_it_is_meant_for_once() {
    assert_eq!(each().count(), 19 + 30);
    let places: Vec<Place> = Place::possible().collect();
    try_rows(ROWS.iter().copied().filter(|(place, ..)| places.contains(place)), try_row);
}

fn try_row((place, words, by, signals, to): Row) {
    let proxy = Proxy::to(shared());
    let case = Case::new("reaches").through(&proxy.connect_string());
    let family = Family::start(&case, place, words, None);
    // At a terminal CONT only continues a stopped command.
    let is_sent = |signal: &i32| place != Terminal || *signal != SIGCONT;
    let signals = if signals == EACH { each().filter(is_sent).collect() } else { signals.to_vec() };
    let is_stop = !matches!(by, Process | Key);
    let is_meant = [true, to != First, to == All];
    let meant = WHO.into_iter().zip(is_meant).filter(|(_, is_meant)| *is_meant);
    let meant: Vec<&str> = meant.map(|(who, _)| who).collect();
    match by {
        Process | Key => send(&family, by, &signals, &meant),
        Revoke | RevokeByForce => {
            let force = (by == RevokeByForce).then_some("--force");
            case.zklock().arg("revoke").args(force).arg(case.path()).run().assert_code(0);
        }
        Delete => case.delete_node(0),
        Silence => proxy.blackhole(),
    }
    for who in &meant {
        for signal in &signals {
            family.wait_for(who, *signal, 1);
        }
    }
    if !is_stop {
        for (who, pid) in WHO.into_iter().zip(family.pids) {
            sys::send(pid, RTMAX).expect("a process of the command");
            family.wait_for(who, RTMAX, 1);
        }
    }
    let output = if is_stop {
        // Within the grace this is KILL.
        family.signal(SIGINT);
        let output = family.assert_all_gone();
        output.assert_code(123);
        output
    } else {
        sys::send(family.pids[0], SIGKILL).expect("the first process");
        let output = family.assert_all_gone();
        place.assert_died(&output, SIGKILL);
        output
    };
    let last = if is_stop { None } else { Some(RTMAX) };
    for (who, is_meant) in WHO.into_iter().zip(is_meant) {
        let sent = if is_meant { &*signals } else { &[] };
        let expected: Vec<i32> = sent.iter().copied().chain(last).collect();
        assert_eq!(sorted(got(&output.stdout, who)), sorted(expected), "{who}: {output}");
    }
    proxy.pass();
    for path in [case.path(), &format!("{}-b", case.path())] {
        case.observer().wait_for_contenders(path, 0, DEADLINE);
    }
}

fn sorted(mut signals: Vec<i32>) -> Vec<i32> {
    signals.sort_unstable();
    signals
}

/// Sends each when the one before has come: a stop signal would undo a CONT that waits.
fn send(family: &Family, by: By, signals: &[i32], meant: &[&str]) {
    OWN.into_iter().filter(|_| by == Process).for_each(|signal| family.signal(signal));
    for &signal in signals {
        match (&family.zklock, by, signal) {
            (Placed::Tty(terminal, _), Key, SIGINT) => terminal.send(b"\x03"),
            (Placed::Tty(terminal, _), Key, _) => terminal.send(b"\x1c"),
            _ => family.signal(signal),
        }
        for who in meant {
            family.wait_for(who, signal, 1);
        }
    }
}
