//! Contenders run one at a time in first-come order, even if others give up or die in between.

use crate::support::{Case, DEADLINE, History, Running, end, host, wait_until};
use nix::sys::signal::Signal;
use std::thread;
use std::time::{Duration, Instant};

fn contender(case: &Case, options: &[&str], job: &str) -> Running {
    case.lock(options, ["sh", "-c", job]).spawn()
}

/// Starts a contender that holds the lock and writes a history until it gets a signal.
fn holder(case: &Case, history: &History, options: &[&str]) -> Running {
    let holder = contender(case, options, &history.endless_job("first"));
    wait_until("the first contender to run", DEADLINE, || !history.sections().unwrap().is_empty());
    holder
}

fn section_count(history: &History) -> usize {
    history.sections().unwrap().len()
}

#[test]
fn fencing_tokens_grow_even_if_the_lock_node_is_created_again() {
    let case = Case::new("tokens");
    let mut last = 0;
    for round in 0..4 {
        let output = case.lock(&[], ["sh", "-c", "echo $ZKLOCK_FENCING_TOKEN"]).run();
        let token: i64 = output.assert_code(0).stdout.trim().parse().unwrap();
        assert!(token > last, "{token} after {last}");
        last = token;
        if round % 2 == 1 {
            // The sequence numbers of the nodes start at zero again.
            case.observer().delete(case.path());
        }
    }
}

/// Queues three contenders. The second gives up by `give_up`; the third must not run before the first has ended.
fn the_second_of_three_gives_up(case: &Case, options: &[&str], give_up: impl FnOnce(&Running)) -> Running {
    let history = case.history();
    let first = holder(case, &history, &[]);
    let second = contender(case, options, &history.job("second", 0.0));
    let nodes = case.wait_for_contenders(2);
    let third = case.lock(&["-v"], ["sh", "-c", &history.job("third", 0.0)]).spawn();
    case.wait_for_contenders(3);
    third.wait_for_line("position 3", DEADLINE);

    give_up(&second);
    let deleted = format!("{}/{}", case.path(), nodes[1]);
    case.observer().wait_until_gone(&deleted, DEADLINE);
    // The third has noticed: it reports its new predecessor.
    let new_predecessor = format!("position 2, behind {}:{} (sh)", host(), first.pid());
    third.wait_for_line(&new_predecessor, DEADLINE);
    assert_eq!(section_count(&history), 1);
    assert!(third.is_running());

    end(first);
    third.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "third"]);
    second
}

#[test]
fn an_interrupted_waiter_lets_no_waiter_run_beside_the_holder() {
    let case = Case::new("interrupted");
    let second = the_second_of_three_gives_up(&case, &[], |second| second.signal(Signal::SIGINT));
    second.wait(DEADLINE).assert_signal(Signal::SIGINT);
}

#[test]
fn a_waiter_that_times_out_lets_no_waiter_run_beside_the_holder() {
    let case = Case::new("timeout");
    let second = the_second_of_three_gives_up(&case, &["-w", "4.5"], |_| ());
    second.wait(DEADLINE).assert_code(124).assert_stderr("gave up after");
}

#[test]
fn a_killed_waiter_lets_no_waiter_run_beside_the_holder() {
    let case = Case::new("killed-waiter");
    let options = ["--session-timeout", "3"];
    let second = the_second_of_three_gives_up(&case, &options, |second| second.signal(Signal::SIGKILL));
    second.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

#[test]
fn after_a_holder_is_killed_the_next_runs_when_the_session_ends() {
    let case = Case::new("killed-holder");
    let history = case.history();
    let job = history.job("first", 30.0);
    let first = contender(&case, &["--session-timeout", "20"], &job);
    wait_until("the first contender to run", DEADLINE, || section_count(&history) == 1);
    let second = contender(&case, &[], &history.job("second", 0.0));
    let nodes = case.wait_for_contenders(2);

    let killed = Instant::now();
    first.signal(Signal::SIGKILL);
    first.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    let node = format!("{}/{}", case.path(), nodes[0]);
    loop {
        // In this order: the node may disappear and the second begin between the two reads.
        let sections = section_count(&history);
        if !case.observer().exists(&node) {
            break;
        }
        assert_eq!(sections, 1, "another command runs while the first contender's node exists");
        assert!(killed.elapsed() < Duration::from_secs(20), "the node outlives the session");
        thread::sleep(Duration::from_millis(10));
    }
    let free = Instant::now();
    second.wait(DEADLINE).assert_code(0);
    assert!(free.elapsed() < Duration::from_secs(10), "{:?}", free.elapsed());
    assert_eq!(history.exclusive_order(), ["first", "second"]);
}
