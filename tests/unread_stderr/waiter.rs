//! A waiter acquires the lock in the queue's order, and ends on a signal.

use super::{UnreadStderr, VERBOSITIES, for_each_unread_stderr};
use crate::support::{Case, DEADLINE, end};
use nix::sys::signal::Signal;
use std::time::Duration;

/// Three seconds are for messages that nobody reads; a worker that doesn't react is ended after fifteen.
const SOON: Duration = Duration::from_secs(14);

for_each_unread_stderr! {
    a_waiter_that_becomes_first_runs_its_command
    a_signal_ends_a_waiter
    a_signal_ends_a_waiter_without_a_server
}

fn a_waiter_that_becomes_first_runs_its_command(stderr: UnreadStderr) {
    for verbosity in VERBOSITIES {
        let case = Case::new("unheard-first");
        let ran = case.dir().join("ran");
        let holder = case.holder();
        let waiter = stderr.start(&case, verbosity, &format!("echo ran >'{}'; exit 5", ran.display()));
        end(holder);
        assert_eq!(waiter.end(DEADLINE), Ok(5), "{verbosity:?}");
        assert!(ran.exists());
    }
}

fn a_signal_ends_a_waiter(stderr: UnreadStderr) {
    let case = Case::new("unheard-signal");
    let holder = case.holder();
    for verbosity in VERBOSITIES {
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            let waiter = stderr.start(&case, verbosity, "echo must not run");
            waiter.signal(signal);
            assert_eq!(waiter.end(SOON), Err(signal), "{verbosity:?}");
            case.wait_for_contenders(1);
        }
    }
    end(holder);
}

/// The client library logs every failure to connect.
fn a_signal_ends_a_waiter_without_a_server(stderr: UnreadStderr) {
    let proxy = crate::support::Proxy::to(crate::support::shared());
    let case = Case::new("unheard-away").through(&proxy.connect_string());
    let holder = case.direct_holder(&[]);
    let options = ["-vvvv", "--session-timeout", "2"];
    let waiter = stderr.start(&case, &options, "echo must not run");
    proxy.refuse_new(true);
    proxy.cut_all();
    case.observer().wait_for_contenders(case.path(), 1, DEADLINE);
    waiter.signal(Signal::SIGTERM);
    assert_eq!(waiter.end(SOON), Err(Signal::SIGTERM));
    end(holder);
}
