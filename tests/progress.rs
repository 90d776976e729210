//! `--progress`: the messages of a long wait without a terminal.

use crate::support::{Case, DEADLINE, Proxy, end, holder, host, shared, wait_until};

#[test]
fn progress_reports_position_holder_and_times_repeatedly() {
    let case = Case::new("progress");
    let job = holder(&case, &["--label", "one"]);
    case.wait_for_held_since(1);
    let second = case.lock(&["--label", "two"], ["sleep", "60"]).spawn();
    case.wait_for_contenders(2);
    let third = case.lock(&["--progress", "300ms"], ["echo", "ran"]).spawn();
    let reported = || {
        let text = third.stderr().text();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    wait_until("three messages", DEADLINE, || reported().len() >= 3);
    for line in reported() {
        let begin = format!("zklock: {}: position 3, waiting ", case.path());
        let holder = format!("; held by {}:{} (one) for ", host(), job.pid());
        let end = format!("s ago; behind {}:{} (two)", host(), second.pid());
        assert!(line.starts_with(&begin) && line.contains(&holder) && line.ends_with(&end), "{line}");
    }
    end(second);
    let behind = format!("position 2, waiting 0 s; held by {}:{} (one) for ", host(), job.pid());
    let (start, rest) = behind.split_once(" 0 s").unwrap();
    wait_until("the next position", DEADLINE, || {
        reported()
            .last()
            .is_some_and(|line| line.contains(start) && line.contains(rest) && !line.contains("behind"))
    });
    end(job);
    third.wait(DEADLINE).assert_code(0);
}

#[test]
fn progress_is_silent_by_default_with_quiet_and_beside_the_live_line() {
    let case = Case::new("progress-none");
    let job = holder(&case, &[]);
    let reported = case.lock(&["--progress", "100ms"], ["true"]).spawn();
    case.wait_for_contenders(2);
    let silent: Vec<_> = [&[][..], &["-q", "--progress", "100ms"]]
        .into_iter()
        .map(|options| case.lock(options, ["true"]).spawn())
        .collect();
    case.wait_for_contenders(4);
    let zklock = case.lock(&["--progress", "100ms"], ["true"]).env("TERM", "xterm");
    let mut terminal = zklock.prelude("stty cols 250").in_terminal();
    terminal.expect("position 5, waiting 2 s", DEADLINE);
    wait_until("the other waiter's messages", DEADLINE, || reported.stderr().count(", waiting ") > 10);
    assert!(!terminal.text().contains('\n'), "{:?}", terminal.text());
    end(job);
    reported.wait(DEADLINE).assert_code(0);
    for waiter in silent {
        assert_eq!(waiter.wait(DEADLINE).assert_code(0).stderr, "");
    }
    assert!(terminal.wait(DEADLINE).success());
}

#[test]
fn progress_reports_that_no_server_answers() {
    let proxy = Proxy::to(shared());
    let case = Case::new("progress-away");
    let job = holder(&case, &[]);
    let case = case.through(&proxy.connect_string());
    let waiter = case.lock(&["--progress", "300ms", "--session-timeout", "20"], ["true"]).spawn();
    waiter.wait_for_line("position 2, waiting ", DEADLINE);
    assert_eq!(waiter.stderr().count("no answer"), 0);
    proxy.refuse_new(true);
    proxy.cut_all();
    waiter.wait_for_line("; no answer from the servers for 1", DEADLINE);
    proxy.refuse_new(false);
    wait_until("an answer", DEADLINE, || {
        let text = waiter.stderr().text();
        text.lines().last().is_some_and(|line| line.contains("held by") && !line.contains("no answer"))
    });
    end(job);
    waiter.wait(DEADLINE).assert_code(0);
}
