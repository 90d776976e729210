//! `--log-format json`: messages for programs, one object per line.

use crate::support::{Case, DEADLINE, Output, Proxy, end, holder, host, pass_time, shared};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The lines on stderr, every one of them JSON.
#[track_caller]
fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect()
}

/// The lines of this run without waits for the servers, which are told if they last for a second.
fn steps(output: &Output, mut lines: Vec<Value>) -> Vec<Value> {
    if output.elapsed >= Duration::from_secs(1) {
        lines.retain(|line| line["event"] != "awaiting_servers");
    }
    lines
}

fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
}

/// The output of a run with these options and this command.
#[track_caller]
fn told(case: &Case, options: &[&str], command: &[&str]) -> (Output, Vec<Value>) {
    let output = case.lock(&[&["--log-format", "json"], options].concat(), command).run();
    let lines = lines(&output.stderr);
    (output, lines)
}

#[test]
fn a_run_tells_its_steps_each_with_lock_node_token_and_time() {
    let case = Case::new("log-json");
    let command = ["sh", "-c", "echo $ZKLOCK_NODE $ZKLOCK_FENCING_TOKEN"];
    let (output, lines) = told(&case, &[], &command);
    output.assert_code(0);
    let lines = steps(&output, lines);
    assert_eq!(events(&lines), ["queued", "acquired", "started", "released"]);
    let said = output.stdout.trim_end().split_once(' ').unwrap();
    for line in &lines {
        assert_eq!(line["lock"], case.path());
        assert_eq!((line["node"].as_str().unwrap(), line["token"].to_string().as_str()), said, "{line}");
        let time: Timestamp = line["time"].as_str().unwrap().parse().unwrap();
        assert_eq!(format!("{time:.3}"), line["time"], "to the millisecond, in UTC");
        assert!(line["message"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(lines[1]["waited"].is_f64() && lines[2]["command"] == "sh", "{lines:#?}");
    assert_eq!(lines[3]["message"], "released");
}

#[test]
fn quiet_leaves_errors_alone_and_verbose_adds_everything() {
    let case = Case::new("log-json-levels");
    let (output, _) = told(&case, &["-q"], &["true"]);
    assert_eq!(output.assert_code(0).stderr, "");
    let (output, lines) = told(&case, &["-vvv"], &["true"]);
    output.assert_code(0);
    assert!(lines.iter().any(|line| line["target"].is_string()), "{lines:#?}");
    let (output, lines) = told(&case, &["-q"], &["/nonexistent"]);
    output.assert_code(127);
    assert_eq!((events(&lines), &lines[0]["reason"]), (vec!["error"], &json!("not_started")));
    let status =
        case.zklock().args(["-z", "127.0.0.1:1", "--connect-timeout", "0.3", "--log-format", "json"]);
    let output = status.arg("status").run();
    assert_eq!(events(&self::lines(&output.assert_code(125).stderr)), ["error"]);
}

#[test]
fn a_busy_lock_is_told_with_its_holder_and_since_when_it_is_held() {
    let case = Case::new("log-json-busy");
    let job = holder(&case, &["--label", "one"]);
    case.wait_for_held_since(1);
    let (output, lines) = told(&case, &["-n"], &["true"]);
    let lines = steps(&output, lines);
    output.assert_code(124);
    assert_eq!(events(&lines), ["busy"]);
    assert_eq!(lines[0]["holder"], format!("{}:{} (one)", host(), job.pid()));
    assert!(lines[0]["held_since"].as_str().is_some_and(|since| since.ends_with('Z')), "{lines:#?}");
    assert!(lines[0]["node"].is_null(), "{lines:#?}");
    end(job);
}

/// The lease of a waiter that hears nothing for long is over, and must be earned again.
#[test]
fn a_lock_is_acquired_when_the_command_may_start() {
    let proxy = Proxy::to(shared());
    let case = Case::new("log-json-lease");
    let job = holder(&case, &[]);
    let case = case.through(&proxy.connect_string());
    let options = ["--log-format", "json", "--session-timeout", "9"];
    let waiter = case.lock(&options, ["true"]).spawn();
    case.wait_for_contenders(2);
    waiter.wait_for_line("\"event\":\"waiting\"", DEADLINE);
    proxy.refuse_new(true);
    let cut = Instant::now();
    proxy.cut_all();
    waiter.wait_for_line("\"awaited\":\"connection\"", DEADLINE);
    end(job);
    // The lease lasts for at most seven twelfths of the session timeout.
    pass_time(Duration::from_millis(5400).saturating_sub(cut.elapsed()));
    proxy.refuse_new(false);
    let output = waiter.wait(DEADLINE);
    let lines = lines(&output.assert_code(0).stderr);
    let lines: Vec<&Value> = lines.iter().skip_while(|line| line["awaited"] != "connection").collect();
    let time = |event: &str| -> Timestamp {
        let line = lines.iter().find(|line| line["event"] == event).unwrap();
        line["time"].as_str().unwrap().parse().unwrap()
    };
    let started = time("started").duration_since(time("acquired")).as_millis();
    assert!(started < 2500, "started {started} ms after it was acquired: {lines:#?}");
    assert!(lines.iter().any(|line| line["awaited"] == "lease"), "{lines:#?}");
}

/// A terminal shows no live line in this format, and a configuration file can set the format.
#[test]
fn on_a_terminal_it_is_json_alone() {
    let case = Case::new("log-json-terminal");
    let job = holder(&case, &[]);
    let config = case.dir().join("config.toml");
    std::fs::write(&config, "log-format = \"json\"\nprogress = 0.3\n").unwrap();
    let zklock = case.zklock().arg("--config").arg(&config).args([case.path(), "--", "true"]);
    let mut terminal = zklock.env("TERM", "xterm").in_terminal();
    (0..3).for_each(|_| drop(terminal.expect("\"event\":\"waiting\"", DEADLINE)));
    end(job);
    terminal.expect("\"event\":\"released\"", DEADLINE);
    terminal.expect("\r\n", DEADLINE);
    assert!(terminal.wait(DEADLINE).success());
    assert!(!terminal.text().contains('\x1b') && lines(&terminal.text()).len() > 4, "{:?}", terminal.text());
}
