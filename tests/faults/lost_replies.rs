//! One request is lost, or the reply to it, and zklock can't tell which. Each node is created once, waits once, and is
//! deleted.
//!
//! To add a row, add a line to [`ROWS`].

use super::holder::confirmations;
use crate::support::{At, Case, DEADLINE, Proxy, end, holder, op, shared, try_rows, wait_until};
use nix::sys::signal::Signal;
use std::fs;
use std::time::{Duration, Instant};

const LOST: [At; 2] = [At::BeforeServer, At::BeforeReply];

/// A case whose lock path exists, and the proxy to its server.
fn through_a_proxy(name: &str) -> (Proxy, Case) {
    let proxy = Proxy::to(shared());
    let case = Case::new(name).through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    (proxy, case)
}

/// What a call of zklock does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    /// It acquires a free lock, and holds it until it gets TERM.
    Holds,
    /// It waits for a holder.
    Waits,
    /// It finds the lock busy.
    Skips,
    /// It releases the lock: its command exits with 7.
    Ends,
}

use Call::{Ends, Holds, Skips, Waits};
use op::{CLOSE, CONNECT, CREATE, DELETE, GET_CHILDREN, GET_DATA, SYNC};

/// The call, its options, which requests are lost, after how many others of their kind. Each row is tried twice: the request
/// is lost, or the reply to it.
type Row = (Call, &'static [&'static str], &'static [(&'static [i32], usize)]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Holds, &[],           &[(CONNECT, 0)]),
    (Holds, &[],           &[(CREATE, 0)]),
    (Holds, &["-w", "20"], &[(CREATE, 0)]),
    (Holds, &["-n"],       &[(CREATE, 0)]),
    // The search for the node is lost as well. The create is lost on the first connection.
    (Holds, &[],           &[(CREATE, 0), (SYNC, 0)]),
    (Holds, &[],           &[(CREATE, 0), (GET_DATA, 0)]),
    (Holds, &[],           &[(CREATE, 0), (CONNECT, 1)]),
    (Holds, &[],           &[(GET_CHILDREN, 0)]),
    (Holds, &[],           &[(GET_DATA, 0)]),
    (Holds, &["-n"],       &[(CONNECT, 0)]),
    (Holds, &["-n"],       &[(GET_CHILDREN, 0)]),
    (Holds, &["-n"],       &[(GET_DATA, 0)]),
    (Waits, &[],           &[(CONNECT, 0)]),
    (Waits, &[],           &[(CREATE, 0)]),
    (Waits, &[],           &[(CREATE, 0), (SYNC, 0)]),
    (Waits, &[],           &[(GET_CHILDREN, 0)]),
    (Waits, &[],           &[(GET_DATA, 0)]),
    (Waits, &[],           &[(GET_DATA, 1)]),
    (Waits, &[],           &[(GET_DATA, 0), (GET_DATA, 2)]),
    (Skips, &["-n"],       &[(CONNECT, 0)]),
    (Skips, &["-n"],       &[(GET_CHILDREN, 0)]),
    (Skips, &["-n"],       &[(GET_DATA, 0)]),
    (Skips, &["-n"],       &[(CLOSE, 0)]),
    (Ends,  &[],           &[(DELETE, 0)]),
    (Ends,  &[],           &[(CLOSE, 0)]),
    (Ends,  &["-n"],       &[(DELETE, 0)]),
    (Ends,  &["-n"],       &[(CLOSE, 0)]),
];

#[test]
fn a_node_is_created_once_and_deleted_whatever_is_lost() {
    try_rows(LOST.into_iter().flat_map(|at| ROWS.iter().map(move |row| (at, *row))), try_row);
}

fn try_row((at, (call, options, lost)): (At, Row)) {
    let (proxy, case) = through_a_proxy("lost");
    let holder = matches!(call, Waits | Skips).then(|| case.direct_holder(&[]));
    for (number, (ops, skip)) in lost.iter().enumerate() {
        // Only a node that was created is searched for.
        let is_created = call == Holds && number == 0 && lost.len() > 1;
        proxy.once_after(*skip, ops, if is_created { At::BeforeReply } else { at });
    }
    let script = if call == Holds { "echo ran; exec sleep 60" } else { "echo ran; exit 7" };
    let running = case.lock(&[&["-v"], options].concat(), ["sh", "-c", script]).spawn();
    if call == Waits {
        proxy.wait_fired(1, DEADLINE);
        running.wait_for_line(": position ", DEADLINE);
        case.wait_for_contenders(2);
        assert_eq!(running.stdout().text(), "", "the other still holds it");
        holder.into_iter().for_each(end);
        assert_eq!(running.wait(DEADLINE).assert_code(7).stdout, "ran\n");
        return;
    }
    if call == Holds {
        running.wait_for_stdout("ran", DEADLINE);
        proxy.wait_fired(lost.len(), DEADLINE);
        assert_eq!(case.contenders().len(), 1);
        running.signal(Signal::SIGTERM);
    }
    let output = running.wait(DEADLINE);
    proxy.wait_fired(lost.len(), DEADLINE);
    let left = usize::from(call == Skips);
    assert_eq!(case.contenders().len(), left, "by the time it has ended: {output}");
    assert!(!output.stderr.contains("no server confirmed"), "{output}");
    match call {
        Skips => {
            assert_eq!(output.assert_code(124).assert_stderr("busy").stdout, "");
            assert_eq!(proxy.count(CREATE), 0);
        }
        Holds => {
            assert_eq!(output.assert_signal(Signal::SIGTERM).stdout, "ran\n");
            let is_repeated = lost[0].0 == CREATE && lost.len() == 1 && at == At::BeforeServer;
            assert!(lost[0].0 != CREATE || proxy.count(CREATE) == 1 + usize::from(is_repeated), "{output}");
        }
        _ => assert_eq!(output.code, Some(7), "{output}"),
    }
    holder.into_iter().for_each(end);
}

#[test]
fn a_race_that_is_lost_leaves_no_node_though_the_delete_is_lost_too() {
    for at in LOST {
        let (proxy, case) = through_a_proxy("lost-race");
        proxy.once(CREATE, At::Hold);
        proxy.once(DELETE, at);
        let late = case.lock(&["-n"], ["echo", "ran"]).spawn();
        proxy.wait_fired(1, DEADLINE);
        let holder = case.direct_holder(&[]);
        proxy.release();
        let output = late.wait(DEADLINE);
        assert_eq!(output.assert_code(124).stdout, "", "{at:?}");
        assert_eq!(case.contenders().len(), 1, "the holder alone, by the time it has ended: {at:?}");
        proxy.wait_fired(2, DEADLINE);
        end(holder);
    }
}

/// The request to close the session is sent immediately, and only its answer is held back; or there is no server any more, and
/// the node goes with the session.
#[test]
fn a_signal_while_the_reply_to_a_create_is_awaited_leaves_no_node() {
    for is_alone in [false, true] {
        let (proxy, case) = through_a_proxy("signal-awaited");
        proxy.once(CREATE, At::Hold);
        let options = if is_alone { &["--session-timeout", "3"][..] } else { &[] };
        let running = case.lock(options, ["echo", "ran"]).spawn();
        proxy.wait_fired(1, DEADLINE);
        proxy.blackhole_to_client();
        proxy.release();
        let node = format!("{}/{}", case.path(), case.wait_for_contenders(1)[0]);
        if is_alone {
            proxy.refuse_new(true);
            proxy.cut_all();
        }
        running.signal(Signal::SIGTERM);
        let told = Instant::now();
        if !is_alone {
            case.observer().wait_until_gone(&node, DEADLINE);
            proxy.pass();
        }
        let output = running.wait(DEADLINE);
        assert_eq!(output.assert_signal(Signal::SIGTERM).stdout, "");
        assert!(is_alone || case.contenders().is_empty(), "by the time it has ended: {output}");
        assert!(told.elapsed() < Duration::from_secs(20), "{:?}", told.elapsed());
        assert!(!output.stderr.contains("hung"), "{output}");
        case.wait_for_contenders(0);
    }
}

#[test]
fn an_unanswered_release_ends_in_time_and_is_reported() {
    let (proxy, case) = through_a_proxy("no-release");
    let go = case.dir().join("go");
    let command = ["sh", "-c", "echo up; until [ -e go ]; do sleep 0.02; done; exit 7"];
    let running = case.lock(&["--session-timeout", "4"], command).dir(case.dir()).spawn();
    running.wait_for_stdout("up", DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    let cut = Instant::now();
    fs::write(go, "").unwrap();
    let output = running.wait(DEADLINE);
    output.assert_code(7).assert_stderr("no server confirmed the release").assert_stderr(case.path());
    assert!(cut.elapsed() < Duration::from_secs(20), "{:?}", cut.elapsed());
    // The server ends the session without a request from zklock.
    case.wait_for_contenders(0);
}

#[test]
fn a_watch_on_the_node_that_was_lost_is_set_again() {
    for at in LOST {
        let (proxy, case) = through_a_proxy("watch-lost");
        proxy.once(GET_DATA, at);
        // The fault may come before the command is started. Only -vv reports the new connection then.
        let holder = holder(&case, &["-vv"]);
        proxy.wait_fired(1, DEADLINE);
        holder.wait_for_line("connected again", DEADLINE);
        // Confirmations don't notice this change.
        case.observer().set_data(&format!("{}/{}", case.path(), case.contenders()[0]), "__REVOKE__");
        holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock was revoked");
    }
}

#[test]
fn a_confirmation_that_is_lost_costs_nothing() {
    let (proxy, case) = through_a_proxy("lost-multi");
    let options = ["-v", "--session-timeout", "8"];
    let running = holder(&case, &options);
    let node = case.wait_for_contenders(1);
    for (fault, at) in LOST.into_iter().enumerate() {
        proxy.once(op::MULTI, at);
        proxy.wait_fired(fault + 1, DEADLINE);
        let before = confirmations([&proxy]);
        wait_until("two more", DEADLINE, || confirmations([&proxy]) >= before + 2);
    }
    assert_eq!(case.contenders(), node);
    running.signal(Signal::SIGTERM);
    let output = running.wait(DEADLINE);
    output.assert_signal(Signal::SIGTERM).assert_stderr("connected again");
    assert!(!output.stderr.contains("is lost"), "{output}");
    assert_eq!(output.stdout, "holding\n");
}
