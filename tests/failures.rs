//! Servers that can't be used: zklock reports the reason, and in time.

use crate::support::{
    DEADLINE, Ensemble, Output, Proxy, Server, ServerBuilder, Zklock, free_port, new_marker, shared,
    wait_until,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// How much longer than its deadline zklock may take. On a busy machine, finding the reason takes a while.
const SLACK: Duration = Duration::from_secs(20);

/// Starts a server that treats every connection like this, and returns its address.
fn fake(treat: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let treat = treat.clone();
            thread::spawn(move || treat(stream));
        }
    });
    address
}

/// Reads until the data contains `enough`, then answers like a web server that didn't understand the request.
fn answer_as_http(mut stream: TcpStream, enough: &[u8]) {
    let mut seen = Vec::new();
    let mut bytes = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..count]);
        if enough.is_empty() || seen.windows(enough.len()).any(|window| window == enough) {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").ok();
            return;
        }
    }
}

/// Runs zklock with these servers, which it can't use, and checks that it gives up in time.
#[track_caller]
fn fails(hosts: &str, options: &[&str], limit: Duration) -> Output {
    let zklock = Zklock::at(hosts, &new_marker()).args(options);
    let output = zklock.args(["/t/failures", "--", "echo", "ran"]).run();
    output.assert_code(125).assert_stderr("/t/failures: ");
    assert_eq!(output.stdout, "");
    assert!(output.elapsed < limit + SLACK, "took {:?}: {output}", output.elapsed);
    output
}

/// The same with five seconds for connecting. Checks that each server is named with its finding, at the latest in the third
/// try: zklock asks in the last second, and the machine may hang just then.
#[track_caller]
fn is_told(hosts: &str, findings: &[(&str, &str)]) {
    for last in [false, false, true] {
        let output = fails(hosts, &["--connect-timeout", "5"], Duration::from_secs(5));
        let is_named = |(server, finding): &&(&str, &str)| {
            let line = output.stderr.lines().find(|line| line.contains(&format!("{server}: ")));
            line.is_some_and(|line| line.contains(finding))
        };
        match findings.iter().find(|finding| !is_named(finding)) {
            None => return,
            Some((server, finding)) => assert!(!last, "no {finding:?} for {server}: {output}"),
        }
    }
}

#[test]
fn each_server_is_named_with_what_it_said() {
    let refusing = Proxy::to(shared());
    refusing.refuse_new(true);
    let (refusing, silent) = (refusing.connect_string(), fake(|_| thread::park()));
    let hosts = format!("{refusing},nosuch.invalid:2182,{silent}");
    let findings = [
        (refusing.as_str(), "refused"),
        ("nosuch.invalid:2182", "unknown host"),
        (&silent, "doesn't answer"),
    ];
    is_told(&hosts, &findings);
}

#[test]
fn a_web_server_is_told_from_a_zookeeper() {
    let hasty = fake(|stream| answer_as_http(stream, b""));
    is_told(&hasty, &[(&hasty, "not a ZooKeeper"), (&hasty, "HTTP/1.1 400")]);
}

#[test]
fn a_web_server_that_waits_for_an_empty_line_is_told_too() {
    let patient = fake(|stream| answer_as_http(stream, b"\r\n\r\n"));
    is_told(&patient, &[(&patient, "not a ZooKeeper")]);
}

#[test]
fn a_server_that_closes_at_once_is_told() {
    let closing = fake(drop);
    is_told(&closing, &[(&closing, "closed the connection")]);
}

#[test]
fn a_frozen_server_is_told() {
    let server = Server::start();
    server.freeze();
    let hosts = server.connect_string();
    is_told(&hosts, &[(&hosts, "doesn't answer")]);
    server.thaw();
}

/// One of three members; the others never start. A member that can't bind its own ports ends after some seconds.
fn lone_member() -> ServerBuilder {
    let (quorum, election) = (free_port(), free_port());
    let member = Server::builder().id(1).config("initLimit=20").config("syncLimit=5");
    member.config(&format!(
        "server.1=127.0.0.1:{quorum}:{election}\nserver.2=127.0.0.1:3:4\nserver.3=127.0.0.1:5:6"
    ))
}

#[test]
fn a_member_without_a_quorum_is_told() {
    let server = lone_member().launch();
    wait_until("the member", DEADLINE, || server.try_four_letter("ruok").is_ok());
    let hosts = server.connect_string();
    is_told(&hosts, &[(&hosts, "no quorum")]);
}

/// A member that may serve readers without a quorum answers, but opens no session to a client that wants to write.
#[test]
fn a_member_that_is_read_only_is_told() {
    let server = lone_member().java_option("-Dreadonlymode.enabled=true").launch();
    wait_until("the member", DEADLINE, || {
        server.try_four_letter("srvr").is_ok_and(|said| said.contains("Mode: read-only"))
    });
    let hosts = server.connect_string();
    is_told(&hosts, &[(&hosts, "read-only, because it has lost its quorum: start the other servers")]);
}

#[test]
fn servers_with_local_sessions_alone_are_told_what_to_set() {
    let ensemble = Ensemble::builder().config("localSessionsEnabled=true").start();
    let options = ["--connect-timeout", "20"];
    let output = fails(&ensemble.connect_string(), &options, Duration::from_secs(20));
    output.assert_stderr("local sessions").assert_stderr("localSessionsUpgradingEnabled=true");
    for path in [&[][..], &["/t/local"]] {
        let check = Zklock::at(&ensemble.connect_string(), &new_marker()).arg("check").args(path).run();
        assert!(check.assert_code(125).stdout.contains("localSessionsUpgradingEnabled=true"), "{check}");
    }
}

#[test]
fn servers_that_upgrade_local_sessions_are_as_good_as_any() {
    let config = "localSessionsEnabled=true\nlocalSessionsUpgradingEnabled=true";
    let ensemble = Ensemble::builder().config(config).start();
    let zklock = Zklock::at(&ensemble.connect_string(), &new_marker());
    let output = zklock.args(["/t/upgraded", "--", "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn the_wait_bounds_connecting_unless_there_is_none() {
    let silent = fake(|_| thread::park());
    let long = "60";
    let short = Duration::from_millis(700);
    for options in [
        &["-w", "0.7", "--connect-timeout", long][..],
        &["-w", "0.7", "-E", "0", "--connect-timeout", long],
        &["-n", "--connect-timeout", "0.7"],
        &["-w", "0", "--connect-timeout", "0.7"],
    ] {
        fails(&silent, options, short);
    }
}

#[test]
fn a_bad_connect_string_is_refused_at_once() {
    for (hosts, reason) in [
        ("", "'' isn't a server: write HOST:PORT[,HOST:PORT...][/CHROOT]"),
        ("zk1,,zk2", "'' isn't a server"),
        ("zk1 zk2", "'zk1 zk2' isn't a server"),
        ("::1", "'::1' isn't a server: write"),
        ("zk1:0", "'zk1:0' isn't a server"),
        ("zk1,2182", "'2182' isn't a server"),
        ("127.1", "'127.1' isn't a server"),
        ("zk1/a,zk2/a", "the chroot stands once"),
        ("zk1/a/", "chroot"),
        ("zk1/a//b", "chroot"),
    ] {
        let marker = new_marker();
        let by_variable = Zklock::bare(&marker).env("ZKLOCK_ZOOKEEPER", hosts);
        // An empty variable counts as unset.
        let by_variable = (!hosts.is_empty()).then_some(by_variable);
        for zklock in [Some(Zklock::at(hosts, &marker)), by_variable].into_iter().flatten() {
            let output = zklock.args(["--connect-timeout", "60", "/a", "true"]).run();
            output.assert_code(125).assert_stderr(reason);
            assert!(output.elapsed < SLACK, "{hosts}: {:?}", output.elapsed);
        }
    }
}
