//! A fault while an inner zklock looks whether the lock is held: it must not come to wait for itself.

use super::{end, outer, shell, words};
use crate::support::{At, Case, Proxy, SOON, Server, op, shared, wait_until};

/// An outer zklock on the server, and an inner one behind the proxy that is about to fail.
fn run(proxy: &Proxy, options: &[&str], case: &Case) -> crate::support::Zklock {
    let within = words(&proxy.connect_string(), options, &[case.path()]);
    outer(case, &[], &[within, shell("echo inside; exit 5")])
}

#[test]
fn a_connection_that_is_lost_in_the_middle_of_the_look_is_no_reason_to_queue() {
    for at in [At::BeforeServer, At::BeforeReply] {
        let proxy = Proxy::to(shared());
        let case = Case::new("look-cut");
        proxy.once(op::GET_DATA, at);
        let output = run(&proxy, &["-w", "10"], &case).run();
        output.assert_code(5);
        assert_eq!(output.stdout, "inside\n");
    }
}

#[test]
fn a_session_that_ends_in_the_middle_of_the_look_is_no_reason_to_queue() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "look-expired");
    proxy.once(op::GET_DATA, At::Hold);
    let options = ["--session-timeout", "1", "-w", "15"];
    let running = run(&proxy, &options, &case).spawn();
    proxy.wait_fired(1, SOON);
    let sessions = server.sessions();
    proxy.blackhole();
    wait_until("its session to end", SOON, || server.sessions() < sessions);
    proxy.pass();
    proxy.release();
    running.wait(SOON).assert_code(5);
}

#[test]
fn a_server_that_cannot_be_reached_is_said_as_anywhere() {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    let case = Case::new("look-refused");
    let output = run(&proxy, &["--connect-timeout", "0.5"], &case).run();
    output.assert_code(125).assert_stderr("no ZooKeeper server could be reached");
    assert_eq!(output.stdout, "");
}

#[test]
fn a_signal_ends_the_look() {
    let proxy = Proxy::to(shared());
    let case = Case::new("look-signal");
    proxy.once(op::GET_DATA, At::Hold);
    let running = run(&proxy, &[], &case).spawn();
    proxy.wait_fired(1, SOON);
    end(running);
    proxy.release();
}
