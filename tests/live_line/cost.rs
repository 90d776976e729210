//! The live line's cost on the servers: nothing.

use super::{LINE, end, on_terminal};
use crate::support::{Case, DEADLINE, Proxy, op, shared, wait_until};
use nix::sys::signal::Signal;

/// Waits for some seconds behind the others, and counts the requests, without pings and confirmations, whose number depends
/// on time.
#[track_caller]
fn wait_for_a_while(case: &Case, proxy: &Proxy, terminal: bool) -> usize {
    let counted = || proxy.count_all() - proxy.count(op::MULTI);
    let (before, position) = (counted(), case.contenders().len() + 1);
    let by_time = || proxy.count(op::MULTI) + proxy.count(op::PING);
    let started = by_time();
    // A connection isn't given up as silent within seven seconds: a new one would cost requests. Its
    // pings come every three seconds, and the first at once.
    let options = &["--session-timeout", "60", "-w", "3000"][..];
    if terminal {
        let mut waiter = on_terminal(case, options, &["echo", "work"]).in_terminal();
        wait_until("several redraws", DEADLINE, || waiter.text().matches(LINE).count() >= 4);
        wait_until("time to pass", DEADLINE, || by_time() >= started + 2);
        waiter.send(b"\x03");
        case.wait_for_contenders(position - 1);
        // The close of its session is counted too.
        waiter.wait(DEADLINE);
    } else {
        let waiter = case.lock(options, ["echo", "work"]).spawn();
        case.wait_for_contenders(position);
        wait_until("time to pass", DEADLINE, || by_time() >= started + 2);
        waiter.signal(Signal::SIGINT);
        waiter.wait(DEADLINE).assert_signal(Signal::SIGINT);
    }
    counted() - before
}

#[test]
fn the_live_line_costs_no_request() {
    let proxy = Proxy::to(shared());
    let case = Case::new("line-cost").through(&proxy.connect_string());
    let holder = case.direct_holder(&["--label", "one"]);
    // A later change of the holder's node would cost another read.
    case.wait_for_held_since(1);
    let without = wait_for_a_while(&case, &proxy, false);
    let with = wait_for_a_while(&case, &proxy, true);
    assert_eq!(with, without);
    end(holder);
}
