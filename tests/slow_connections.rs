//! Connections that are too slow for a lease: zklock reports that before it starts the command, and leaves the queue.

use crate::support::{
    At, Case, DEADLINE, Output, Proxy, assert_no_processes, end, holder, op, pass_time, shared, wait_until,
};
use std::thread;
use std::time::{Duration, Instant};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A case behind a proxy with this round trip.
fn behind(name: &str, trip: Duration) -> (Proxy, Case) {
    let proxy = Proxy::to(shared());
    proxy.delay(trip / 2);
    let case = Case::new(name).through(&proxy.connect_string());
    case.observer().mkdirs(case.path());
    (proxy, case)
}

/// The session timeout that the message proposes.
fn proposal(stderr: &str) -> u64 {
    let rest = stderr.split_once("use --session-timeout ").expect("a proposal").1;
    rest.split_once(' ').expect("a unit").0.parse().expect("a number of seconds")
}

#[test]
fn a_too_slow_connection_is_reported_before_the_command_starts() {
    for (timeout, trip) in [("4", 290), ("8", 700)] {
        let (_proxy, case) = behind("slow-line", ms(trip));
        let output = case.lock(&["--session-timeout", timeout], ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(case.path()).assert_stderr(case.hosts());
        output.assert_stderr("is too slow").assert_stderr(&format!("a session timeout of {timeout} s"));
        output.assert_stderr("it was not started");
        assert_eq!(output.stdout, "");
        assert!(proposal(&output.stderr) > timeout.parse().unwrap(), "{output}");
        case.wait_for_contenders(0);
        // On such a connection the session may expire: then zklock looks for its node, for at most the timeout.
        assert_no_processes(case.marker(), DEADLINE);
    }
}

/// Each answer of a server may take T/8.
#[test]
fn on_a_connection_too_slow_to_open_a_session_a_longer_timeout_is_proposed() {
    let (_proxy, case) = behind("slower-line", ms(400));
    let output = case.lock(&["--session-timeout", "2", "-w", "3"], ["echo", "ran"]).run();
    output.assert_code(125).assert_stderr("opened no session in time; on a slow connection use a longer");
    assert_eq!(output.stdout, "");
    case.wait_for_contenders(0);
}

/// A twelfth of the session timeout is too short for the three round trips that it takes.
#[test]
fn a_session_on_a_slow_connection_is_connected_again() {
    let (proxy, case) = behind("slow-line-again", ms(300));
    let running = holder(&case, &["-v", "--session-timeout", "8"]);
    proxy.cut_all();
    running.wait_for_line("connected again", DEADLINE);
    end(running);
}

/// It is the smallest one, so it works only as long as the line is as fast as before: if it isn't, the
/// line is measured again.
#[test]
fn the_proposed_session_timeout_works() {
    let (_proxy, case) = behind("slow-line-better", ms(350));
    let mut outputs = (0..20).map(|_| {
        let refused = case.lock(&["--session-timeout", "4"], ["echo", "ran"]).run();
        let timeout = proposal(&refused.assert_code(125).stderr).to_string();
        // Longer than a lease that isn't renewed.
        let command = ["sh", "-c", &format!("sleep {timeout}; sleep {timeout}; echo ran")];
        case.lock(&["--session-timeout", &timeout], command).run()
    });
    let is_slower = |output: &Output| output.code == Some(123) && output.stderr.contains("no answer for");
    let output = outputs.find(|output| !is_slower(output)).expect("a line that is as fast as before");
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn a_single_delay_does_not_make_zklock_refuse() {
    let (proxy, case) = behind("hiccup", Duration::ZERO);
    proxy.once(op::CREATE, At::Hold);
    let running = case.lock(&["--session-timeout", "8"], ["echo", "ran"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    pass_time(ms(900));
    proxy.release();
    assert_eq!(running.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn a_host_on_a_slow_connection_blocks_no_other_host() {
    let (proxy, slow) = behind("slow-line-ahead", Duration::ZERO);
    let holder = slow.holder();
    let first = slow.lock(&["-v", "--session-timeout", "6"], ["echo", "ran"]).spawn();
    first.wait_for_line(": position ", DEADLINE);
    let hosts = shared().connect_string();
    let behind = crate::support::Zklock::at(&hosts, slow.marker()).args([slow.path(), "--", "echo", "next"]);
    let behind = behind.spawn();
    slow.wait_for_contenders(3);
    proxy.delay(ms(210));
    // The lease that was earned before.
    pass_time(Duration::from_secs(6));
    end(holder);
    let output = first.wait(DEADLINE);
    output.assert_code(125).assert_stderr("is too slow");
    assert_eq!(output.stdout, "");
    assert_eq!(behind.wait(DEADLINE).assert_code(0).stdout, "next\n");
}

#[test]
fn zklock_pauses_before_it_reconnects_to_a_server_that_drops_connections() {
    let (proxy, case) = behind("dropping", Duration::ZERO);
    let running = holder(&case, &["-v"]);
    let connected = || running.stderr().count("connected again");
    let (mut before, mut dropped) = (connected(), 0);
    let began = Instant::now();
    proxy.cut_all();
    // A connection that is cut before it is accepted doesn't count: the client has a pause of its own after that.
    let span = |dropped: u64| if dropped < 2 { Duration::from_secs(15) } else { Duration::from_secs(4) };
    while began.elapsed() < span(dropped) {
        if connected() > before {
            (before, dropped) = (connected(), dropped + 1);
            proxy.cut_all();
        }
        thread::sleep(ms(5));
    }
    // The pauses are some 50 ms, 100 ms and so on up to a second; they start again after a connection that lasted a second.
    let seconds = began.elapsed().as_secs();
    assert!((2..4 * seconds).contains(&dropped), "{dropped} connections in {seconds} s");
    wait_until("the connection to last", DEADLINE, || connected() > before || proxy.answered(op::MULTI) > 0);
    end(running);
}
