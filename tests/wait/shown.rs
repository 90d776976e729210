//! What people, logs and other programs see of a wait, and how a signal ends it.

use super::{end, queue, wait, waiting, watched};
use crate::support::{Case, DEADLINE, Proxy, Terminal, Zklock, host, shared};
use nix::sys::signal::Signal;
use serde_json::Value;

fn on_terminal(case: &Case, hosts: &str, options: &[&str]) -> Terminal {
    let zklock = Zklock::at(hosts, case.marker()).prelude("stty cols 250").env("TERM", "xterm");
    zklock.arg("wait").args(options).arg(case.path()).in_terminal()
}

#[test]
fn a_terminal_shows_who_holds_the_lock_the_position_and_the_time_that_is_left() {
    let case = Case::new("wait-line");
    let first = queue(&case, &["--label", "migration"]);
    let second = queue(&case, &["--label", "behind"]);
    case.wait_for_held_since(1);
    let mut terminal = on_terminal(&case, case.hosts(), &["-w", "600"]);
    terminal.expect(&format!("zklock: {}: position 3, waiting ", case.path()), DEADLINE);
    terminal.expect(&format!(" left; held by {}:{} (migration) for ", host(), first.pid()), DEADLINE);
    terminal.expect(&format!("; behind {}:{} (behind)", host(), second.pid()), DEADLINE);
    end(second);
    terminal.expect("position 2, waiting ", DEADLINE);
    end(first);
    assert!(terminal.wait(DEADLINE).success());
    assert_eq!(
        terminal.text().rsplit('\n').next().unwrap().rsplit("\x1b[2K").next(),
        Some(""),
        "the line is gone"
    );
}

#[test]
fn a_terminal_shows_a_wait_for_the_servers() {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    let case = Case::new("wait-line-servers");
    let node = case.add_contender("first");
    let mut terminal = on_terminal(&case, &proxy.connect_string(), &["--connect-timeout", "5m"]);
    terminal.expect(&format!("{}: connecting for ", case.path()), DEADLINE);
    terminal.expect(" s, 4 min ", DEADLINE);
    terminal.expect("connection refused", DEADLINE);
    proxy.refuse_new(false);
    terminal.expect("position 2, waiting ", DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    terminal.expect("no connection to the servers for ", DEADLINE);
    proxy.refuse_new(false);
    terminal.expect("position 2, waiting ", DEADLINE);
    case.observer().delete(&node);
    assert!(terminal.wait(DEADLINE).success());
}

#[test]
fn a_limit_without_a_connection_removes_the_line() {
    let proxy = Proxy::to(shared());
    let case = Case::new("wait-line-limit");
    let node = case.add_contender("first");
    let mut terminal = on_terminal(&case, &proxy.connect_string(), &["-w", "10"]);
    terminal.expect("position 2, waiting ", DEADLINE);
    proxy.refuse_new(true);
    proxy.cut_all();
    terminal.expect("no connection to the servers for ", DEADLINE);
    assert_eq!(terminal.wait(DEADLINE).code(), Some(124));
    assert!(terminal.text().ends_with('\n'), "nothing behind the message: {:?}", terminal.text());
    case.observer().delete(&node);
}

#[test]
fn ctrl_c_removes_the_line() {
    let case = Case::new("wait-line-end");
    let node = case.add_contender("first");
    let mut terminal = on_terminal(&case, case.hosts(), &[]);
    terminal.expect("position 2, waiting ", DEADLINE);
    terminal.send(b"\x03");
    let status = terminal.wait(DEADLINE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::SIGINT as i32));
    assert_eq!(terminal.text().rsplit("\x1b[2K").next(), Some(""), "{:?}", terminal.text());
    case.observer().delete(&node);
}

#[test]
fn ctrl_z_removes_the_line_and_fg_draws_it_again() {
    let case = Case::new("wait-line-stop");
    let node = case.add_contender("first");
    let mut shell = case.shell();
    shell.run("stty cols 250", DEADLINE);
    shell.enter(&format!("TERM=xterm $zklock wait {}", case.path()), DEADLINE);
    shell.terminal().expect("position 2, waiting ", DEADLINE);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    let shown = shell.terminal().text();
    assert!(!shown.rsplit("\x1b[2K").next().unwrap().contains("waiting"), "{shown:?}");
    shell.enter("fg", DEADLINE);
    shell.terminal().expect("position 2, waiting ", DEADLINE);
    case.observer().delete(&node);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn a_signal_ends_a_wait_as_it_ends_other_subcommands() {
    let case = Case::new("wait-signal");
    let node = case.add_contender("first");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let waits = waiting(&case, &[], 1);
        waits.signal(signal);
        waits.wait(DEADLINE).assert_signal(signal);
        watched(&case, 0);
    }
    let waits = wait(&case, &["-v", case.path()]).prelude("trap '' HUP").spawn();
    waits.wait_for_line(", 1 ahead", DEADLINE);
    waits.signal(Signal::SIGHUP);
    case.observer().delete(&node);
    super::assert_free(waits);
}

#[test]
fn progress_says_now_and_then_who_holds_the_lock() {
    let case = Case::new("wait-progress");
    let (first, second) = (queue(&case, &["--label", "migration"]), queue(&case, &["--label", "behind"]));
    let waits = wait(&case, &["--progress", "1.5", "-w", "60", case.path()]).spawn();
    let line = waits.wait_for_line(": position 3, waiting ", DEADLINE);
    assert!(line.contains(" left; held by ") && line.contains(" (migration)"), "{line}");
    assert!(line.contains("; behind ") && line.contains(" (behind)"), "{line}");
    end(first);
    second.wait_for_stdout("running", DEADLINE);
    waits.wait_for_line(" (behind) ", DEADLINE);
    end(second);
    waits.wait(DEADLINE).assert_code(0);
}

#[test]
fn each_message_can_be_json() {
    let case = Case::new("wait-json");
    let first = queue(&case, &["--label", "migration"]);
    let json = ["--log-format", "json"];
    let waits = wait(&case, &[&json[..], &[case.path()]].concat()).spawn();
    waits.wait_for_line("\"event\":\"waiting\"", DEADLINE);
    let busy = wait(&case, &[&json[..], &["-n", case.path()]].concat()).run();
    end(first);
    let output = waits.wait(DEADLINE);
    // A busy machine tells waits for the servers too.
    let events = |text: &str| -> Vec<Value> {
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|line| line["event"] != "awaiting_servers").collect()
    };
    let seen = events(&output.assert_code(0).stderr);
    let [waiting, free] = seen.as_slice() else { panic!("{output}") };
    assert_eq!((&waiting["lock"], &waiting["position"]), (&case.path().into(), &2.into()));
    assert!(waiting["predecessor"].as_str().unwrap().ends_with(" (migration)"), "{waiting}");
    assert_eq!(
        (&free["event"], &free["lock"], &free["level"]),
        (&"free".into(), &case.path().into(), &"info".into())
    );
    assert!(free["waited"].as_f64().is_some() && free["node"].is_null() && free["token"].is_null());
    let [busy] = <[Value; 1]>::try_from(events(&busy.assert_code(124).stderr)).unwrap();
    assert_eq!(busy["event"], "busy");
    assert!(busy["holder"].as_str().unwrap().ends_with(" (migration)"), "{busy}");
    let unreachable =
        case.zklock().args(["-z", "127.0.0.1:1", "wait", "-n"]).args(json).arg(case.path()).run();
    let [unreachable] = <[Value; 1]>::try_from(events(&unreachable.assert_code(125).stderr)).unwrap();
    assert_eq!((&unreachable["event"], &unreachable["reason"]), (&"error".into(), &"unreachable".into()));
}
