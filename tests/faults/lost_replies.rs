//! One request is lost, or the reply to it, and zklock can't tell which. Each node is created once, waits once, and is
//! deleted.

use super::holder::confirmations;
use crate::support::{At, Case, DEADLINE, Proxy, end, holder, op, shared, wait_until};
use nix::sys::signal::Signal;
use std::fs;
use std::time::{Duration, Instant};

/// A fault: the requests that it can hit, how many of them pass first, and what happens to the next one.
type Fault = (&'static [i32], usize, At);

const LOST: [At; 2] = [At::BeforeServer, At::BeforeReply];

/// A case whose lock path exists, and the proxy to its server.
fn through_a_proxy(name: &str) -> (Proxy, Case) {
    let proxy = Proxy::to(shared());
    let case = Case::new(name).through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    (proxy, case)
}

/// Checks that a free lock is acquired in spite of the faults: there is one node while the command runs, and the
/// command runs once. Returns how many creates were sent.
#[track_caller]
fn takes_a_free_lock(options: &[&str], faults: &[Fault]) -> usize {
    let (proxy, case) = through_a_proxy("lost-free");
    for (ops, skip, at) in faults {
        proxy.once_after(*skip, ops, *at);
    }
    let running = holder(&case, options);
    proxy.wait_fired(faults.len(), DEADLINE);
    assert_eq!(case.contenders().len(), 1, "{options:?} {faults:?}");
    running.signal(Signal::SIGTERM);
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_signal(Signal::SIGTERM).stdout, "holding\n", "{options:?} {faults:?}");
    assert!(case.contenders().is_empty(), "by the time it has ended: {options:?} {faults:?}");
    proxy.count(op::CREATE)
}

/// A create that was carried out is found again, and one that never arrived is made again. The search for the node may be
/// lost as well.
#[test]
fn a_free_lock_is_taken_with_one_node_whatever_is_lost() {
    for options in [&[][..], &["-w", "20"], &["-n"]] {
        for (at, creates) in [(At::BeforeReply, 1), (At::BeforeServer, 2)] {
            assert_eq!(takes_a_free_lock(options, &[(op::CREATE, 0, at)]), creates, "{options:?}");
        }
    }
    for at in LOST {
        for search in [op::SYNC, op::GET_DATA, op::CONNECT] {
            // The create is lost on the first connection.
            let skip = usize::from(search == op::CONNECT);
            let faults = [(op::CREATE, 0, At::BeforeReply), (search, skip, at)];
            assert_eq!(takes_a_free_lock(&[], &faults), 1, "{search:?} {at:?}");
        }
        for options in [&[][..], &["-n"]] {
            for ops in [op::CONNECT, op::GET_CHILDREN, op::GET_DATA] {
                takes_a_free_lock(options, &[(ops, 0, at)]);
            }
        }
    }
}

#[test]
fn a_waiter_has_one_place_in_the_queue_and_runs_whatever_is_lost() {
    let faults: [&[(&'static [i32], usize)]; 7] = [
        &[(op::CONNECT, 0)],
        &[(op::CREATE, 0)],
        &[(op::CREATE, 0), (op::SYNC, 0)],
        &[(op::GET_CHILDREN, 0)],
        &[(op::GET_DATA, 0)],
        &[(op::GET_DATA, 1)],
        &[(op::GET_DATA, 0), (op::GET_DATA, 2)],
    ];
    for at in LOST {
        for lost in faults {
            let (proxy, case) = through_a_proxy("lost-waiter");
            let holder = case.direct_holder(&[]);
            for (ops, skip) in lost {
                proxy.once_after(*skip, ops, at);
            }
            let waiter = case.lock(&["-v", "-w", "30"], ["echo", "ran"]).spawn();
            proxy.wait_fired(1, DEADLINE);
            waiter.wait_for_line(": position ", DEADLINE);
            case.wait_for_contenders(2);
            assert_eq!(waiter.stdout().text(), "", "the other still holds it: {lost:?} {at:?}");
            end(holder);
            assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n", "{lost:?} {at:?}");
        }
    }
}

#[test]
fn a_busy_lock_is_seen_busy_and_nothing_is_created_whatever_is_lost() {
    for at in LOST {
        for ops in [op::CONNECT, op::GET_CHILDREN, op::GET_DATA, op::CLOSE] {
            let (proxy, case) = through_a_proxy("lost-busy");
            let holder = case.direct_holder(&[]);
            proxy.once(ops, at);
            let output = case.lock(&["-n"], ["echo", "ran"]).run();
            assert_eq!(output.assert_code(124).assert_stderr("busy").stdout, "");
            proxy.wait_fired(1, DEADLINE);
            assert_eq!(proxy.count(op::CREATE), 0, "{ops:?} {at:?}");
            assert_eq!(case.contenders().len(), 1, "the holder alone: {ops:?} {at:?}");
            end(holder);
        }
    }
}

#[test]
fn a_race_that_is_lost_leaves_no_node_though_the_delete_is_lost_too() {
    for at in LOST {
        let (proxy, case) = through_a_proxy("lost-race");
        proxy.once(op::CREATE, At::Hold);
        proxy.once(op::DELETE, at);
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

#[test]
fn a_signal_while_the_reply_to_a_create_is_awaited_leaves_no_node() {
    let (proxy, case) = through_a_proxy("signal-awaited");
    proxy.once(op::CREATE, At::Hold);
    let running = case.lock(&[], ["echo", "ran"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    proxy.blackhole_to_client();
    proxy.release();
    let node = case.wait_for_contenders(1).remove(0);
    running.signal(Signal::SIGTERM);
    // The request to close the session is sent immediately; only its answer is held back.
    case.observer().wait_until_gone(&format!("{}/{node}", case.path()), DEADLINE);
    proxy.pass();
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_signal(Signal::SIGTERM).stdout, "");
    assert!(case.contenders().is_empty(), "by the time it has ended: {output}");
}

#[test]
fn a_signal_without_any_server_ends_it_in_time_and_the_node_goes_with_the_session() {
    let (proxy, case) = through_a_proxy("signal-alone");
    proxy.once(op::CREATE, At::Hold);
    let running = case.lock(&["--session-timeout", "3"], ["echo", "ran"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    proxy.blackhole_to_client();
    proxy.release();
    case.wait_for_contenders(1);
    proxy.refuse_new(true);
    proxy.cut_all();
    running.signal(Signal::SIGTERM);
    let told = Instant::now();
    let output = running.wait(DEADLINE);
    assert!(told.elapsed() < Duration::from_secs(20), "{:?}", told.elapsed());
    assert_eq!(output.assert_signal(Signal::SIGTERM).stdout, "");
    assert!(!output.stderr.contains("hung"), "{output}");
    case.wait_for_contenders(0);
}

#[test]
fn a_release_that_is_lost_is_done_all_the_same_and_the_exit_code_stands() {
    for at in LOST {
        for ops in [op::DELETE, op::CLOSE] {
            for options in [&[][..], &["-n"]] {
                let (proxy, case) = through_a_proxy("lost-release");
                proxy.once(ops, at);
                let output = case.lock(options, ["sh", "-c", "exit 7"]).run();
                proxy.wait_fired(1, DEADLINE);
                output.assert_code(7);
                assert!(case.contenders().is_empty(), "{ops:?} {at:?}: {output}");
                assert!(!output.stderr.contains("no server confirmed"), "{ops:?} {at:?}: {output}");
            }
        }
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
