//! `--progress`: the messages of a long wait without a terminal.

use crate::support::{Case, DEADLINE, Proxy, end, holder, host, shared, wait_until};
use std::time::Duration;
use zookeeper::{Acl, CreateMode, Permission};

#[test]
fn progress_reports_position_holder_and_times_repeatedly() {
    let case = Case::new("progress");
    let job = holder(&case, &["--label", "one"]);
    case.wait_for_held_since(1);
    let second = case.lock(&["--label", "two"], ["sleep", "60"]).spawn();
    case.wait_for_contenders(2);
    let third = case.lock(&["--progress", "300ms", "-w", "10m"], ["echo", "ran"]).spawn();
    let reported = || {
        let text = third.stderr().text();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let begins = format!("zklock: {}: position 3, waiting ", case.path());
    let held = format!(" left; held by {}:{} (one) for ", host(), job.pid());
    let ends = format!("s ago; behind {}:{} (two)", host(), second.pid());
    let told = |line: &&String| line.starts_with(&begins) && line.contains(&held) && line.ends_with(&ends);
    // On a busy machine the first may come before the holder was read.
    wait_until("three messages", DEADLINE, || reported().iter().filter(told).count() >= 3);
    let all = reported();
    assert!(all.iter().skip_while(|line| !told(line)).all(|line| told(&line)), "{all:?}");
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
    (0..3).for_each(|_| drop(terminal.expect("position 5, waiting ", DEADLINE)));
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
fn progress_reports_a_search_for_servers() {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    let case = Case::new("progress-search").through(&proxy.connect_string());
    let waiter = case.lock(&["--progress", "1s", "--connect-timeout", "60"], ["true"]).spawn();
    let is_told = |line: &&str| line.contains(": connecting for ") && line.contains(" s left; ");
    wait_until("two messages", DEADLINE, || waiter.stderr().text().lines().filter(is_told).count() >= 2);
    proxy.refuse_new(false);
    waiter.wait(DEADLINE).assert_code(0);
}

/// Each message comes at its time, and says what is known then.
#[test]
fn progress_does_not_wait_for_what_it_may_not_read() {
    let proxy = Proxy::to(shared());
    let case = Case::new("progress-hidden");
    case.observer().mkdirs(case.path());
    let name = format!("{}/_c_{}-lock-", case.path(), case.marker());
    let nobody = vec![Acl::new(Permission::DELETE, "world", "anyone")];
    let hidden = case.observer().create_with_acl(&name, "", CreateMode::EphemeralSequential, nobody).unwrap();
    let second = case.add_contender("{}");
    let through = case.through(&proxy.connect_string());
    let waiter = through.lock(&["--progress", "1s"], ["true"]).spawn();
    through.wait_for_contenders(3);
    proxy.delay_answers(Duration::from_millis(700));
    let reported = || waiter.stderr().count("position 3, waiting ");
    wait_until("messages", DEADLINE, || reported() >= 4);
    let text = waiter.stderr().text();
    let shown = |line: &str| {
        line.split("waiting ").nth(1).and_then(|rest| rest.split_once(" s")).map(|(it, _)| it.to_owned())
    };
    let times: Vec<_> = text.lines().filter_map(shown).collect();
    let mut different = times.clone();
    different.dedup();
    assert_eq!(times, different, "one message at a time: {text}");
    proxy.pass();
    for node in [second, hidden] {
        through.observer().delete(&node);
    }
    waiter.wait(DEADLINE).assert_code(0);
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
    waiter.wait_for_line("; no answer from the servers for ", DEADLINE);
    proxy.refuse_new(false);
    wait_until("an answer", DEADLINE, || {
        let text = waiter.stderr().text();
        text.lines().last().is_some_and(|line| line.contains("held by") && !line.contains("no answer"))
    });
    end(job);
    waiter.wait(DEADLINE).assert_code(0);
}
