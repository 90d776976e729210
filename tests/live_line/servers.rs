//! The live line of a wait for the servers.

use super::on_terminal;
use crate::support::{Case, DEADLINE, Proxy, Server, shared};

#[test]
fn a_search_for_servers_is_shown_and_the_line_removed() {
    let proxy = Proxy::to(shared());
    let case = Case::new("line-subcommand");
    let hosts = proxy.connect_string();
    let case = case.through(&hosts);
    for (words, result) in [
        (&[case.path(), "echo", "work"][..], "work\r\n"),
        (&["status", case.path()], "free"),
        (&["revoke", case.path()], "it is free"),
        (&["forget", case.path()], "no success"),
    ] {
        proxy.refuse_new(true);
        let zklock = case.zklock().env("TERM", "xterm").args(["--connect-timeout", "5m"]).args(words);
        let mut terminal = zklock.prelude("stty cols 250").in_terminal();
        terminal.expect("connecting for ", DEADLINE);
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
