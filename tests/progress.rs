//! `--progress`: the messages of a long wait without a terminal.

use crate::support::{Case, DEADLINE, Running, end, holder, host, wait_until};

#[test]
fn progress_reports_the_place_in_the_queue_repeatedly() {
    let case = Case::new("progress");
    let job = holder(&case, &["--label", "one"]);
    let second = case.lock(&["--label", "two"], ["sleep", "60"]).spawn();
    case.wait_for_contenders(2);
    let third = case.lock(&["--progress", "300ms", "-w", "10m"], ["echo", "ran"]).spawn();
    let behind = |position: usize, running: &Running, label: &str| {
        let who = format!("{}:{} ({label})", host(), running.pid());
        format!("zklock: {}: position {position}, behind {who}, ", case.path())
    };
    let (before, after) = (behind(3, &second, "two"), behind(2, &job, "one"));
    wait_until("three messages", DEADLINE, || third.stderr().count(&before) >= 3);
    end(second);
    wait_until("the next position", DEADLINE, || third.stderr().count(&after) >= 2);
    assert!(third.stderr().text().lines().all(|line| line.ends_with(" s left")), "{}", third.stderr().text());
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
    let zklock = case.lock(&["--progress", "100ms", "-w", "3000"], ["true"]).env("TERM", "xterm");
    let mut terminal = zklock.prelude("stty cols 250").in_terminal();
    (0..3).for_each(|_| drop(terminal.expect("position 5, behind ", DEADLINE)));
    wait_until("the other waiter's messages", DEADLINE, || reported.stderr().count(": position ") > 10);
    assert!(!terminal.text().contains('\n'), "{:?}", terminal.text());
    end(job);
    reported.wait(DEADLINE).assert_code(0);
    for waiter in silent {
        assert_eq!(waiter.wait(DEADLINE).assert_code(0).stderr, "");
    }
    assert!(terminal.wait(DEADLINE).success());
}
