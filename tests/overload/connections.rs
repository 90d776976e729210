//! A server that takes no more connections from this host.

use super::crowd::Crowd;
use crate::support::{Case, DEADLINE, Server};

/// The server counts connections by address, and all tests come from the same.
const MOST: usize = 3;

/// A server of which every connection is taken. Waiting for it to be ready takes one for a moment.
fn full() -> (Server, Vec<Crowd>) {
    let server = Server::builder().config(&format!("maxClientCnxns={MOST}")).start();
    let crowd = (0..MOST).map(|_| Crowd::of(&server)).collect();
    (server, crowd)
}

#[test]
fn a_server_without_a_free_connection_is_named_and_never_busy() {
    let (server, crowd) = full();
    let case = Case::on(&server, "connections");
    let all =
        [&["--connect-timeout", "12"][..], &["-n", "--connect-timeout", "12", "-E", "0"], &["-w", "12"]];
    for running in all.map(|options| case.lock(options, ["echo", "ran"]).spawn()) {
        let output = running.wait(DEADLINE);
        output
            .assert_code(125)
            .assert_stderr(case.hosts())
            .assert_stderr("too many connections from this host (maxClientCnxns), in all (maxCnxns)");
        assert_eq!(output.stdout, "");
    }
    crowd.into_iter().for_each(Crowd::leave);
}

#[test]
fn a_connection_that_becomes_free_in_time_is_used() {
    let (server, mut crowd) = full();
    let case = Case::on(&server, "free-again");
    let running = case.lock(&["-vv", "--connect-timeout", "30"], ["echo", "ran"]).spawn();
    running.wait_for_line("no session with", DEADLINE);
    crowd.remove(0).leave();
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    crowd.into_iter().for_each(Crowd::leave);
}
