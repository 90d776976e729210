//! Who runs when: one at a time, in first-come order, also when contenders give up or die in between.

use crate::support::{Case, History, Running, SOON, wait_until};
use nix::sys::signal::Signal;
use std::thread;
use std::time::{Duration, Instant};

/// A contender that runs this shell text.
fn contender(case: &Case, options: &[&str], job: &str) -> Running {
    case.lock(options, ["sh", "-c", job]).spawn()
}

/// Somebody who holds the lock and keeps its history until it is told to stop.
fn holder(case: &Case, history: &History, options: &[&str]) -> Running {
    let holder = contender(case, options, &history.endless_job("first"));
    wait_until("the first to run", SOON, || !history.sections().unwrap().is_empty());
    holder
}

fn begun(history: &History) -> usize {
    history.sections().unwrap().len()
}

#[test]
fn twenty_contenders_never_overlap() {
    let case = Case::new("twenty");
    let history = case.history();
    let running: Vec<_> =
        (0..20).map(|number| contender(&case, &[], &history.job(&format!("job{number}"), 0.01))).collect();
    for contender in running {
        contender.wait(SOON).assert_code(0);
    }
    let sections = history.check_exclusive().unwrap();
    assert_eq!(sections.len(), 20);
    assert!(sections.iter().all(|section| section.ended));
}

#[test]
fn they_run_in_the_order_they_queued() {
    let case = Case::new("order");
    let history = case.history();
    let first = holder(&case, &history, &[]);
    let names: Vec<String> = (0..6).map(|number| format!("job{number}")).collect();
    let mut waiting = Vec::new();
    for name in &names {
        waiting.push(contender(&case, &[], &history.job(name, 0.01)));
        case.wait_for_contenders(waiting.len() + 1);
    }
    first.signal(Signal::SIGTERM);
    for contender in waiting {
        contender.wait(SOON).assert_code(0);
    }
    first.wait(SOON).assert_signal(Signal::SIGTERM);
    assert_eq!(history.exclusive_order()[1..], names);
}

#[test]
fn tokens_grow_also_when_the_parent_is_made_again() {
    let case = Case::new("tokens");
    let mut last = 0;
    for round in 0..4 {
        let output = case.lock(&[], ["sh", "-c", "echo $ZKLOCK_FENCING_TOKEN"]).run();
        let token: i64 = output.assert_code(0).stdout.trim().parse().unwrap();
        assert!(token > last, "{token} after {last}");
        last = token;
        if round % 2 == 1 {
            // The sequence of the nodes' names begins at zero again.
            case.observer().delete(case.path());
        }
    }
}

/// Three in line; the second gives up as `give_up` says. The third must not run before the first has ended.
fn the_second_of_three_gives_up(case: &Case, options: &[&str], give_up: impl FnOnce(&Running)) -> Running {
    let history = case.history();
    let first = holder(case, &history, &[]);
    let second = contender(case, options, &history.job("second", 0.0));
    let nodes = case.wait_for_contenders(2);
    let third = case.lock(&["-v"], ["sh", "-c", &history.job("third", 0.0)]).spawn();
    case.wait_for_contenders(3);
    third.wait_for_line("waiting for", SOON);

    give_up(&second);
    let gone = format!("{}/{}", case.path(), nodes[1]);
    case.observer().wait_until_gone(&gone, SOON);
    // The third has taken note: it says anew whom it waits for.
    let renewed = format!(":{} (sh), 1 ahead", first.pid());
    third.wait_for_line(&renewed, SOON);
    assert_eq!(begun(&history), 1);
    assert!(third.is_running());

    first.signal(Signal::SIGTERM);
    first.wait(SOON).assert_signal(Signal::SIGTERM);
    third.wait(SOON).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "third"]);
    second
}

#[test]
fn an_interrupted_waiter_lets_no_other_pass_the_holder() {
    let case = Case::new("interrupted");
    let second = the_second_of_three_gives_up(&case, &[], |second| second.signal(Signal::SIGINT));
    second.wait(SOON).assert_signal(Signal::SIGINT);
}

#[test]
fn a_waiter_that_times_out_lets_no_other_pass_the_holder() {
    let case = Case::new("timeout");
    let second = the_second_of_three_gives_up(&case, &["-w", "2.5"], |_| ());
    second.wait(SOON).assert_code(124).assert_stderr("gave up after");
}

#[test]
fn a_killed_waiter_lets_no_other_pass_the_holder() {
    let case = Case::new("killed-waiter");
    let options = ["--session-timeout", "1"];
    let second = the_second_of_three_gives_up(&case, &options, |second| second.signal(Signal::SIGKILL));
    second.wait(SOON).assert_signal(Signal::SIGKILL);
}

#[test]
fn after_a_killed_holder_the_next_runs_when_the_session_has_ended() {
    let case = Case::new("killed-holder");
    let history = case.history();
    // A job that is over before the session is, so that it harms nobody when nothing ends it with its zklock.
    let job = history.job("first", 0.2);
    let first = contender(&case, &["--session-timeout", "2"], &job);
    wait_until("the first to run", SOON, || begun(&history) == 1);
    let second = contender(&case, &[], &history.job("second", 0.0));
    let nodes = case.wait_for_contenders(2);

    let killed = Instant::now();
    first.signal(Signal::SIGKILL);
    first.wait(SOON).assert_signal(Signal::SIGKILL);
    let node = format!("{}/{}", case.path(), nodes[0]);
    loop {
        // In this order: it may go, and the second begin, between the two looks.
        let sections = begun(&history);
        if !case.observer().exists(&node) {
            break;
        }
        assert_eq!(sections, 1, "somebody runs while the first has its node");
        assert!(killed.elapsed() < Duration::from_secs(6), "the node outlives its session");
        thread::sleep(Duration::from_millis(10));
    }
    let free = Instant::now();
    second.wait(SOON).assert_code(0);
    assert!(free.elapsed() < Duration::from_secs(1), "{:?}", free.elapsed());
    assert_eq!(history.exclusive_order(), ["first", "second"]);
}
