//! Lines that are too slow for a lease: that is told before the command is started, and nobody waits for such a host.

use crate::support::{At, Case, Proxy, SOON, end, op, pass_time, shared};
use std::time::Duration;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A case behind a line with this round trip.
fn behind(name: &str, trip: Duration) -> (Proxy, Case) {
    let proxy = Proxy::to(shared());
    proxy.delay(trip / 2);
    let case = Case::new(name).through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    (proxy, case)
}

/// The smallest session timeout that works, as the message has it.
fn proposal(stderr: &str) -> u64 {
    let rest = stderr.split_once("it takes --session-timeout ").expect("a proposal").1;
    rest.split_once(' ').expect("words behind it").0.parse().expect("a number of seconds")
}

#[test]
fn a_line_that_is_too_slow_is_told_with_what_it_takes_and_nothing_was_started() {
    for (timeout, trip) in [("2", 400), ("4", 700), ("4", 1_500)] {
        let (_proxy, case) = behind("slow-line", ms(trip));
        let output = case.lock(&["--session-timeout", timeout], ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(case.path()).assert_stderr(case.hosts());
        output.assert_stderr("is too slow").assert_stderr(&format!("a session timeout of {timeout} s"));
        output.assert_stderr("It was not started");
        assert_eq!(output.stdout, "");
        assert!(proposal(&output.stderr) > timeout.parse().unwrap(), "{output}");
        case.wait_for_contenders(0);
    }
}

#[test]
fn what_is_proposed_works() {
    let (_proxy, case) = behind("slow-line-better", ms(400));
    let refused = case.lock(&["--session-timeout", "2"], ["echo", "ran"]).run();
    let timeout = proposal(&refused.assert_code(125).stderr).to_string();
    // Longer than a lease lasts that isn't renewed.
    let command = ["sh", "-c", &format!("sleep {timeout}; sleep {timeout}; echo ran")];
    let output = case.lock(&["--session-timeout", &timeout], command).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn one_hiccup_refuses_no_good_line() {
    let (proxy, case) = behind("hiccup", Duration::ZERO);
    proxy.once(op::CREATE, At::Hold);
    let running = case.lock(&["--session-timeout", "8"], ["echo", "ran"]).spawn();
    proxy.wait_fired(1, SOON);
    pass_time(ms(900));
    proxy.release();
    assert_eq!(running.wait(SOON).assert_code(0).stdout, "ran\n");
}

#[test]
fn a_host_on_a_slow_line_blocks_nobody() {
    let (proxy, slow) = behind("slow-line-ahead", Duration::ZERO);
    let holder = slow.holder();
    let first = slow.lock(&["-v", "--session-timeout", "4"], ["echo", "ran"]).spawn();
    first.wait_for_line("waiting for", SOON);
    let hosts = shared().connect_string();
    let behind = crate::support::Zklock::at(&hosts, slow.marker()).args([slow.path(), "--", "echo", "next"]);
    let behind = behind.spawn();
    slow.wait_for_contenders(3);
    proxy.delay(ms(400));
    end(holder);
    let output = first.wait(SOON);
    output.assert_code(125).assert_stderr("is too slow");
    assert_eq!(output.stdout, "");
    assert_eq!(behind.wait(SOON).assert_code(0).stdout, "next\n");
}
