//! Which servers zklock connects to.

use crate::support::{Case, DEADLINE, Proxy, Server, Zklock, shared};
use std::time::Duration;

/// A loopback port where nothing listens, reserved by its proxy.
fn dead() -> Proxy {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    proxy
}

#[test]
fn the_environment_names_the_servers_and_the_option_wins() {
    let case = Case::new("environment");
    let (dead, path) = (dead().connect_string(), case.path());
    let run = |environment: &str, words: &[&str]| {
        let zklock = Zklock::bare(case.marker()).env("ZKLOCK_ZOOKEEPER", environment);
        zklock.args(words).run()
    };
    run(case.hosts(), &[path, "true"]).assert_code(0);
    run(&dead, &["-z", case.hosts(), path, "true"]).assert_code(0);
    let output = run(&dead, &["--connect-timeout", "0.2", path, "true"]);
    output.assert_code(125).assert_stderr(&dead);
    let output = run(case.hosts(), &["-z", &dead, "--connect-timeout", "0.2", path, "true"]);
    output.assert_code(125).assert_stderr(&dead);
}

#[test]
fn a_dead_server_among_several_does_no_harm() {
    let case = Case::new("one-dead");
    let dead = dead();
    // The client starts with any of the servers. After this many runs it has tried the dead one.
    for hosts in [
        format!("{},{}", dead.connect_string(), case.hosts()),
        format!("{},nosuch.invalid:1,{}", case.hosts(), dead.connect_string()),
    ] {
        for _ in 0..4 {
            let zklock = Zklock::at(&hosts, case.marker());
            let output = zklock.args([case.path(), "echo", "ran"]).run();
            assert_eq!(output.assert_code(0).stdout, "ran\n");
        }
    }
}

#[test]
fn a_search_for_servers_is_told_from_the_first_second_on() {
    let case = Case::new("told-search");
    let dead = dead();
    let hosts = dead.connect_string();
    let refused = format!("{hosts}: connection refused");
    let case = case.through(&hosts);
    let running = case.lock(&["-v", "--connect-timeout", "300"], ["echo", "ran"]).spawn();
    let told = running.wait_for_line(": connecting for ", DEADLINE);
    assert!(told.contains(case.path()) && told.contains(" s, 4 min "), "{told}");
    assert!(told.ends_with(&format!(" left; {refused}")), "{told}");
    dead.refuse_new(false);
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    assert!(!output.stderr.contains("nothing listens there"), "no remedy yet: {output}");
    let output = case.lock(&["-v"], ["true"]).run();
    let is_silent = !output.assert_code(0).stderr.contains("connecting");
    // There is something to tell after a second.
    assert!(is_silent || output.elapsed >= Duration::from_secs(1), "{output}");
}

/// Also in so short a time, what is wrong is told before its end.
#[test]
fn a_short_search_for_servers_tells_what_is_wrong_before_it_ends() {
    let case = Case::new("told-short");
    let hosts = dead().connect_string();
    let refused = format!(" s left; {hosts}: connection refused");
    for limit in ["2", "1.6"] {
        let is_told = |line: &str| line.contains(": connecting for 1 s, ") && line.ends_with(&refused);
        let told = (0..5).any(|_| {
            let output = case.zklock().args(["-v", "-z", &hosts, "-w", limit, case.path(), "true"]).run();
            output.assert_code(125).stderr.lines().any(is_told)
        });
        assert!(told, "-w {limit}");
    }
}

/// A server that doesn't answer may still be frozen, or far away.
#[test]
fn with_n_a_silent_server_has_the_connect_timeout() {
    let server = Server::start();
    let case = Case::on(&server, "silent");
    let refusing = dead();
    server.freeze();
    let hosts = format!("{},{}", refusing.connect_string(), case.hosts());
    let case = case.through(&hosts);
    let running = case.lock(&["-n", "-vv", "--connect-timeout", "2m"], ["echo", "ran"]).spawn();
    running.wait_for_line("no session with", DEADLINE);
    server.thaw();
    assert_eq!(running.wait(Duration::from_secs(100)).assert_code(0).stdout, "ran\n");
    case.lock(&["-n", "-w", "1m"], ["true"]).run().assert_code(0);
}

#[test]
fn an_ipv6_address_stands_in_brackets() {
    // The server listens on all addresses, including those of IPv6.
    let server = Server::builder().config("clientPortAddress=::").start();
    let case = Case::on(&server, "ipv6");
    let hosts = format!("[::1]:{}", server.port());
    let case = case.through(&hosts);
    let output = case.lock(&[], ["echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    let bare = format!("::1:{}", server.port());
    let output = Zklock::at(&bare, case.marker()).args([case.path(), "true"]).run();
    output.assert_code(125).assert_stderr("brackets");
}
