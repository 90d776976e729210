//! The server grants another session timeout than the requested one, and zklock uses the granted one.

use super::holder::{assert_dead_in_time, confirmations, now, steady, wait_for_job, wait_until_steady};
use crate::support::{Case, DEADLINE, Proxy, Server, end, holder, op, wait_until};
use std::thread;
use std::time::Duration;

const GRANTED: Duration = Duration::from_secs(8);

/// A server that grants the same session timeout to every client.
fn server() -> Server {
    Server::builder().config("minSessionTimeout=8000").config("maxSessionTimeout=8000").start()
}

/// The session timeouts of a server's current connections, in milliseconds.
fn session_timeouts(server: &Server) -> Vec<u64> {
    let connections = server.four_letter("cons");
    let timeouts = connections.lines().filter_map(|line| line.split(",to=").nth(1)?.split(',').next());
    timeouts.map(|timeout| timeout.parse().unwrap()).collect()
}

#[test]
fn another_timeout_is_agreed_on_before_anything_is_created() {
    let server = server();
    for asked in ["30", "4", "8"] {
        let proxy = Proxy::to(&server);
        // The observer opens its session with its first request.
        let case = Case::on(&server, "agreed").through(&proxy.connect_string());
        let options = ["--session-timeout", asked];
        let running = holder(&case, &options);
        let sessions = if asked == "8" { 1 } else { 2 };
        assert_eq!(proxy.count(op::CONNECT), sessions, "asked for {asked} s");
        assert_eq!(proxy.count(op::CLOSE), sessions - 1, "asked for {asked} s");
        // One of the sessions may have found that the lock path was missing.
        assert!(proxy.count(op::CREATE) <= 2);
        assert_eq!(session_timeouts(&server), [8000], "asked for {asked} s");
        end(running);
    }
}

#[test]
fn the_lease_follows_what_was_granted() {
    let server = server();
    let start = |asked: &str| {
        let proxy = Proxy::to(&server);
        let case = Case::on(&server, "granted").through(&proxy.connect_string());
        let history = case.history();
        let running = steady(&case, &history, &["-v", "--session-timeout", asked], "job", "exit 7").spawn();
        wait_for_job(&running, &history, "job");
        (running, history, case, proxy)
    };
    let (long, short) = (start("60"), start("1"));
    // The other holder began before this one.
    wait_until_steady(&short.3, 1);
    let since = now();
    long.3.blackhole();
    short.3.blackhole();
    // More than one second, and less than five twelfths of eight seconds.
    thread::sleep(Duration::from_millis(1100));
    short.3.pass();
    let before = confirmations([&short.3]);
    wait_until("a confirmation", DEADLINE, || confirmations([&short.3]) > before);
    short.1.finish("job");
    let output = short.0.wait(DEADLINE);
    output.assert_code(7);
    assert!(!output.stderr.contains("lock is lost"), "{output}");

    long.0.wait_for_line("was stopped", DEADLINE);
    long.3.pass();
    long.0.wait(DEADLINE).assert_code(123);
    assert_dead_in_time(&long.1, "job", since, GRANTED);
    for case in [long.2, short.2] {
        case.wait_for_contenders(0);
    }
}
