//! The live line of a wait for the servers.

use super::{LINE, on_terminal};
use crate::support::{Case, DEADLINE, Proxy, Server, holder, shared};

#[test]
fn a_search_for_servers_shows_what_each_said_and_how_long_it_lasts_still() {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    let refusing = proxy.connect_string();
    let case = Case::new("line-connecting");
    let case = case.through(&format!("{refusing},nosuch.invalid:1"));
    let mut terminal = on_terminal(&case, &["-w", "300"], &["echo", "work"]).in_terminal();
    terminal.expect(&format!("zklock: {}: connecting for ", case.path()), DEADLINE);
    terminal.expect(" s, 4 min ", DEADLINE);
    terminal.expect(" left; ", DEADLINE);
    terminal.expect(&format!("{refusing}: connection refused"), DEADLINE);
    terminal.expect("nosuch.invalid:1: unknown host", DEADLINE);
    terminal.expect("connecting for ", DEADLINE);
    proxy.refuse_new(false);
    terminal.expect("work\r\n", DEADLINE);
    assert!(terminal.wait(DEADLINE).success());
    assert_eq!(super::screen::visible(&terminal.text()), ["work"]);
}

#[test]
fn a_subcommand_shows_a_search_for_servers_and_removes_the_line() {
    let proxy = Proxy::to(shared());
    let case = Case::new("line-subcommand");
    let hosts = proxy.connect_string();
    let case = case.through(&hosts);
    for (subcommand, result) in [("status", "free"), ("revoke", "it is free"), ("forget", "no success")] {
        proxy.refuse_new(true);
        let zklock = case.zklock().env("TERM", "xterm").args(["--connect-timeout", "5m", subcommand]);
        let mut terminal = zklock.arg(case.path()).prelude("stty cols 250").in_terminal();
        terminal.expect("zklock: connecting for ", DEADLINE);
        terminal.expect(" s, 4 min ", DEADLINE);
        terminal.expect(&format!(" left; {hosts}: connection refused"), DEADLINE);
        terminal.expect("connecting for ", DEADLINE);
        proxy.refuse_new(false);
        terminal.expect(result, DEADLINE);
        terminal.wait(DEADLINE);
        let visible = super::screen::visible(&terminal.text());
        assert!(!visible.iter().any(|line| line.contains("connecting")), "{visible:?}");
    }
    for hidden in ["-q", "--log-format=json"] {
        proxy.refuse_new(true);
        let zklock = case.zklock().env("TERM", "xterm").args([hidden, "--connect-timeout", "2", "status"]);
        let mut terminal = zklock.in_terminal();
        terminal.expect("could be reached", DEADLINE);
        terminal.wait(DEADLINE);
        assert!(!terminal.text().contains("connecting"), "{:?}", terminal.text());
    }
}

/// It has a session, and one of the servers doesn't say what it is.
#[test]
fn check_shows_that_it_waits_for_the_answer_of_a_server() {
    let silent = Server::start();
    let case = Case::new("line-check");
    silent.freeze();
    let hosts = format!("{},{}", case.hosts(), silent.connect_string());
    let zklock = case.zklock().env("TERM", "xterm").args(["-z", &hosts, "--connect-timeout", "5m", "check"]);
    let mut terminal = zklock.in_terminal();
    terminal.expect("zklock: waiting for an answer of each server, ", DEADLINE);
    terminal.expect("4 min ", DEADLINE);
    silent.thaw();
    terminal.expect("latency", DEADLINE);
    terminal.wait(DEADLINE);
    let visible = super::screen::visible(&terminal.text());
    assert!(!visible.iter().any(|line| line.contains("waiting for")), "{visible:?}");
}

#[test]
fn a_waiter_shows_that_the_servers_are_silent() {
    let server = Server::start();
    let case = Case::on(&server, "line-silent");
    let holder = holder(&case, &["--label", "one"]);
    case.wait_for_held_since(1);
    let options = ["--session-timeout", "6"];
    let mut terminal = on_terminal(&case, &options, &["echo", "work"]).in_terminal();
    terminal.expect(LINE, DEADLINE);
    server.freeze();
    terminal.expect(": no connection to the servers for ", DEADLINE);
    terminal.expect("accepts connections but doesn't answer", DEADLINE);
    server.thaw();
    terminal.expect(LINE, DEADLINE);
    drop(holder);
    terminal.send(b"\x03");
    terminal.wait(DEADLINE);
}

#[test]
fn a_release_without_an_answer_shows_how_long_it_lasts_still() {
    let server = Server::start();
    let case = Case::on(&server, "line-release");
    let options = ["--session-timeout", "30"];
    let mut terminal = on_terminal(&case, &options, &["sh", "-c", "echo work; read line"]).in_terminal();
    terminal.expect("work\r\n", DEADLINE);
    server.freeze();
    terminal.send(b"\n");
    for _ in 0..2 {
        terminal.expect(&format!("zklock: {}: releasing for ", case.path()), DEADLINE);
        terminal.expect(" s left", DEADLINE);
    }
    server.thaw();
    assert!(terminal.wait(DEADLINE).success());
    let screen = super::screen::visible(&terminal.text());
    assert!(!screen.iter().any(|line| line.contains("releasing")), "{screen:?}");
}
