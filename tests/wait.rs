//! `zklock wait`: returns when locks are free of all that held them or queued for them when it began, and takes none.

use crate::support::{
    At, Case, DEADLINE, Output, Proxy, Running, STEADY, Zklock, end, holder, op, shared, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::Value;
use zookeeper::Permission;

/// `zklock wait` with these words.
fn wait(case: &Case, words: &[&str]) -> Zklock {
    case.zklock().arg("wait").args(words)
}

/// A case whose zklocks reach the server by the proxy.
fn behind_proxy(name: &str) -> (Proxy, Case) {
    let proxy = Proxy::to(shared());
    let case = Case::new(name).through(&proxy.connect_string());
    (proxy, case)
}

/// Starts a wait for the case's lock with these options, and returns when it waits for so many contenders.
#[track_caller]
fn waiting(case: &Case, options: &[&str], count: usize) -> Running {
    let running = wait(case, &[&["-vv"], options, &[case.path()]].concat()).spawn();
    running.wait_for_line(&format!("position {}", count + 1), DEADLINE);
    running
}

/// Starts a contender behind the others.
#[track_caller]
fn queue(case: &Case, options: &[&str]) -> Running {
    let ahead = case.contenders().len();
    let contender = case.lock(options, ["sh", "-c", "echo running; exec sleep 60"]).spawn();
    case.wait_for_contenders(ahead + 1);
    contender
}

/// The wait has ended because the lock was free.
#[track_caller]
fn assert_free(running: Running) -> Output {
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).assert_stderr(": free after ").stdout, "");
    output
}

#[test]
fn a_free_lock_costs_one_listing_and_leaves_nothing() {
    let (proxy, case) = behind_proxy("wait-free");
    for options in [&[][..], &["-n"], &["-w", "0"], &["-w", "60"]] {
        let output = wait(&case, &[options, &[case.path()]].concat()).run();
        assert_eq!((output.assert_code(0).stdout.as_str(), output.stderr.as_str()), ("", ""));
    }
    assert!(!case.observer().exists(case.path()), "not even the parent");
    for request in [op::CONNECT, op::SYNC, op::GET_CHILDREN, op::CLOSE] {
        assert_eq!(proxy.count(request), 4, "op {request:?}");
    }
    assert_eq!(proxy.count_all(), 16, "no other requests");
}

#[test]
fn only_the_last_contender_is_watched_and_nothing_is_written() {
    let (proxy, case) = behind_proxy("wait-watch");
    let contenders: Vec<_> = (0..3).map(|_| case.add_contender("not a zklock")).collect();
    let waits = waiting(&case, &[], 3);
    let [first, second, last] = contenders.as_slice() else { panic!() };
    let watched = |node: &String| shared().watchers_of(node) == 1;
    wait_until("the watch", DEADLINE, || watched(last) && !watched(first) && !watched(second));
    case.observer().delete(first);
    let later = case.add_contender("not a zklock");
    // Events arrive in order: when this one is here, the earlier changes caused none.
    case.observer().delete(last);
    waits.wait_for_line("position 2", DEADLINE);
    assert_eq!((proxy.events(), proxy.count(op::GET_CHILDREN)), (1, 2));
    case.observer().delete(second);
    assert_free(waits);
    let writes = [op::CREATE, op::CREATE_CONTAINER, op::SET_DATA, op::DELETE, op::MULTI, op::REMOVE_WATCHES];
    assert!(writes.iter().all(|write| proxy.count(write) == 0));
    case.observer().delete(&later);
}

#[test]
fn a_busy_lock_gives_the_code_of_a_busy_lock() {
    let case = Case::new("wait-busy");
    let (first, second) = (holder(&case, &["--label", "first"]), queue(&case, &["--label", "second"]));
    let config = case.dir().join("zklock.toml");
    std::fs::write(&config, "timeout = 6\nconflict-exit-code = 9\n").unwrap();
    let config = config.to_str().unwrap();
    // They run at the same time, so that each has long to see that the lock is busy.
    let runs = [
        (&["wait", "-n"][..], 124, " (first)"),
        (&["-w", "0", "-E", "0", "wait"], 0, " (first)"),
        (&["wait", "-w", "6", "-E", "7"], 7, " (second)"),
        (&["wait", "-n", "-q"], 124, ""),
        (&["wait", "--config", config], 9, " (second)"),
    ];
    let runs = runs.map(|(words, code, who)| (case.zklock().args(words).arg(case.path()).spawn(), code, who));
    for (run, code, who) in runs {
        let output = run.wait(DEADLINE);
        // The holder's node may say by then since when it holds the lock.
        assert!(output.assert_code(code).stderr.contains(who), "{output}");
        assert_eq!(output.stderr.contains(": busy: "), !who.is_empty(), "{output}");
    }
    [second, first].into_iter().for_each(end);
}

#[test]
fn a_hidden_node_is_waited_for() {
    let case = Case::new("wait-refused");
    let node = case.observer().contend(case.path(), "", Permission::DELETE);
    wait(&case, &["-n", case.path()]).run().assert_code(124).assert_stderr("busy: held by node ");
    let waits = waiting(&case, &[], 1);
    case.observer().delete(&node);
    assert_free(waits);
}

/// Whoever waits behind the surrounding command waits for its end.
#[test]
fn inside_a_lock_it_waits_only_for_those_ahead_of_the_surrounding_command() {
    let case = Case::new("wait-inside");
    for outer in [&[][..], &["-s"]] {
        let first = (!outer.is_empty()).then(|| holder(&case, outer));
        let words = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), "wait", "-v", case.path()];
        let go = case.dir().join("go");
        let script = format!("echo inside; until [ -e {} ]; do sleep 0.01; done; exec \"$@\"", go.display());
        let outer = case.lock(outer, ["sh", "-c", &script, "sh"].into_iter().chain(words)).spawn();
        outer.wait_for_stdout("inside", DEADLINE);
        let behind = queue(&case, &[]);
        std::fs::write(&go, "").unwrap();
        if let Some(first) = first {
            outer.wait_for_line("position 2", DEADLINE);
            end(first);
        }
        outer.wait(DEADLINE).assert_code(0).assert_stderr(": free after ");
        behind.wait_for_stdout("running", DEADLINE);
        end(behind);
        std::fs::remove_file(&go).unwrap();
    }
}

#[test]
fn after_a_gap_it_goes_on_with_those_that_are_left() {
    let (proxy, case) = behind_proxy("wait-gap");
    let (first, last) = (case.add_contender("first"), case.add_contender("last"));
    let waits = waiting(&case, &[], 2);
    proxy.refuse_new(true);
    proxy.cut_all();
    waits.wait_for_line("no connection to the servers for ", DEADLINE);
    case.observer().delete(&last);
    let later = case.add_contender("later");
    proxy.refuse_new(false);
    waits.wait_for_line("position 2", DEADLINE);
    case.observer().delete(&first);
    assert_free(waits);
    case.observer().delete(&later);
}

#[test]
fn a_lost_session_changes_nothing_of_whom_it_waits_for() {
    let (proxy, case) = behind_proxy("wait-expired");
    let first = case.add_contender("first");
    let waits = waiting(&case, &["--session-timeout", "1"], 1);
    proxy.blackhole();
    waits.wait_for_line("the session is over", DEADLINE);
    let later = case.add_contender("later");
    let sessions = proxy.count(op::CONNECT);
    proxy.pass();
    wait_until("another session", DEADLINE, || proxy.count(op::CONNECT) > sessions);
    case.observer().delete(&first);
    assert_free(waits);
    case.observer().delete(&later);
}

#[test]
fn a_limit_without_a_connection_is_a_failure() {
    let (proxy, case) = behind_proxy("wait-silence");
    let first = case.add_contender("first");
    let waits = waiting(&case, &["-w", "10", "-E", "4"], 1);
    proxy.refuse_new(true);
    proxy.cut_all();
    waits.wait(DEADLINE).assert_code(125).assert_stderr("last seen busy; no connection to the servers");
    proxy.refuse_new(false);
    proxy.once(op::GET_CHILDREN, At::Hold);
    // With a shorter session it would ask again over another connection before that.
    let words = ["-n", "-E", "0", "--session-timeout", STEADY, "--connect-timeout", "4", case.path()];
    wait(&case, &words).run().assert_code(125).assert_stderr("no answer within ");
    case.observer().delete(&first);
}

#[test]
fn a_terminal_shows_whom_it_waits_for_until_the_end_or_ctrl_c() {
    let case = Case::new("wait-line");
    let first = queue(&case, &["--label", "migration"]);
    let second = queue(&case, &["--label", "behind"]);
    let on_terminal = || {
        let zklock = wait(&case, &[case.path()]).prelude("stty cols 250").env("TERM", "xterm");
        let mut terminal = zklock.in_terminal();
        terminal.expect(&format!("zklock: {}: position 3, behind ", case.path()), DEADLINE);
        terminal
    };
    let mut terminal = on_terminal();
    terminal.send(b"\x03");
    let status = terminal.wait(DEADLINE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::SIGINT as i32));
    assert_eq!(terminal.text().rsplit("\x1b[2K").next(), Some(""), "{:?}", terminal.text());
    let mut terminal = on_terminal();
    end(second);
    terminal.expect("position 2, behind ", DEADLINE);
    end(first);
    assert!(terminal.wait(DEADLINE).success());
    assert_eq!(terminal.text().rsplit("\x1b[2K").next(), Some(""), "{:?}", terminal.text());
}

#[test]
fn it_ends_by_signals() {
    let case = Case::new("wait-signal");
    let node = case.add_contender("first");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let waits = waiting(&case, &[], 1);
        waits.signal(signal);
        waits.wait(DEADLINE).assert_signal(signal);
    }
    case.observer().delete(&node);
}

#[test]
fn each_message_can_be_json() {
    let case = Case::new("wait-json");
    let first = queue(&case, &[]);
    let waits = wait(&case, &["--log-format", "json", case.path()]).spawn();
    waits.wait_for_line("\"event\":\"waiting\"", DEADLINE);
    wait(&case, &["--log-format", "json", "-n", case.path()]).run().assert_stderr("\"event\":\"busy\"");
    end(first);
    let output = waits.wait(DEADLINE);
    let free: Value = serde_json::from_str(output.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&free["event"], &free["lock"]), (&"free".into(), &case.path().into()));
    assert!(free["waited"].as_f64().is_some(), "{free}");
}
