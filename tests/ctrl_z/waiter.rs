//! A stopped waiter: it leaves the queue at once, and queues again when it is continued.

use super::{script, stop, wait_for_jobs};
use crate::support::{Case, DEADLINE, pass_time, try_rows, wait_for, wait_until};
use std::time::Duration;

/// The waiter's words, the holders', how many of them there are, the next contender's words, and how many jobs run at the same time.
/// To add a row, add a line.
type Row = (&'static str, &'static str, usize, &'static str, usize);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("PATH",           "PATH",           1, "PATH",           1),
    ("-s PATH",        "PATH",           1, "PATH",           1),
    ("--slots 2 PATH", "--slots 2 PATH", 2, "--slots 2 PATH", 2),
    // It holds the first lock and waits for the second. It releases the first, and queues for the second no more.
    ("PATH PATH-b",    "PATH-b",         1, "PATH",           2),
];

#[test]
fn the_next_one_runs_in_its_place_and_it_queues_again() {
    try_rows(ROWS.iter().copied(), try_row);
}

fn try_row((words, holders, count, next, most): Row) {
    let case = Case::new("passed-over");
    let history = case.history();
    let queued =
        || [case.path(), &format!("{}-b", case.path())].map(|path| case.observer().children(path).len());
    let contender = |words: &str, name: &str| {
        let words = words.replace("PATH", case.path());
        let zklock =
            case.zklock().args(words.split(' ')).args(["--", "bash", "-c", &history.steady_job(name)]);
        let before: usize = queued().iter().sum();
        let running = zklock.spawn();
        wait_until("it to queue", DEADLINE, || queued().iter().sum::<usize>() > before);
        running
    };
    let names = &["first", "other"][..count];
    let mut all: Vec<_> = names.iter().map(|name| (contender(holders, name), *name)).collect();
    wait_for_jobs(&history, count);
    let before = queued();

    let job = script(&case, "b.sh", &history.steady_job("b"));
    let mut shell = case.shell();
    shell.enter(&format!("$zklock -v {} -- bash {job}", words.replace("PATH", "$lock")), DEADLINE);
    // Only now it knows its node, and says that it leaves.
    shell.terminal().expect(": position ", DEADLINE);
    stop(&mut shell);
    wait_until("it to leave all queues", DEADLINE, || queued() == before);
    assert!(shell.terminal().text().contains("stopped: left the queue"), "{}", shell.terminal().text());

    all.push((contender(next, "c"), "c"));
    if most > count {
        // It has left the lock that nobody else holds.
        wait_for_jobs(&history, count + 1);
    }
    let (first, name) = all.remove(0);
    history.finish(name);
    first.wait(DEADLINE).assert_code(0);
    wait_for_jobs(&history, count + 1);
    assert_eq!(queued().iter().sum::<usize>(), count, "it doesn't queue");

    shell.enter("fg", DEADLINE);
    shell.terminal().expect("queueing again at the end", DEADLINE);
    shell.terminal().expect("queued as", DEADLINE);
    for (running, name) in all {
        history.finish(name);
        running.wait(DEADLINE).assert_code(0);
    }
    wait_for_jobs(&history, count + 2);
    history.finish("b");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
    let sections = history.sections().unwrap();
    let [c, b] = &sections[count..] else { panic!("{sections:?}") };
    assert!(c.name == "c" && b.name == "b" && c.token < b.token, "{sections:?}");
    assert_eq!(history.most_at_once(), most, "{sections:?}");
}

/// Ctrl-Z is typed again and again around the time of the acquisition. The command runs once, and not while it is
/// stopped.
#[test]
fn whenever_the_key_comes_it_runs_once() {
    for round in 0..10 {
        let case = Case::new("stopped-anytime");
        let history = case.history();
        let first = case.holder();
        let job = script(&case, "b.sh", &history.steady_job("b"));
        let mut shell = case.shell();
        shell.enter(&format!("$zklock {} bash {job}", case.path()), DEADLINE);
        case.wait_for_contenders(2);
        first.signal(nix::sys::signal::Signal::SIGTERM);
        pass_time(Duration::from_millis(4 * round));
        stop(&mut shell);
        first.wait(DEADLINE);
        let runs = history.sections().unwrap();
        pass_time(Duration::from_millis(300));
        // A line that was being written when the job stopped may still appear.
        let lines = |sections: &[crate::support::Section]| sections.len();
        assert_eq!(lines(&history.sections().unwrap()), lines(&runs));
        shell.fg();
        wait_for("it to run", DEADLINE, || (history.sections().unwrap().len() == 1).then_some(()));
        history.finish("b");
        shell.prompt(DEADLINE);
        assert_eq!(shell.code(DEADLINE), 0, "round {round}: {}", shell.terminal().text());
    }
}

/// Ctrl-Z is typed before it has a position in the queue.
#[test]
fn a_contender_stopped_while_connecting_continues_to_connect() {
    let proxy = crate::support::Proxy::to(crate::support::shared());
    proxy.blackhole();
    let case = Case::new("stopped-connecting").through(&proxy.connect_string());
    let history = case.history();
    let job = script(&case, "b.sh", &history.steady_job("b"));
    let mut shell = case.shell();
    shell.enter(&format!("$zklock --connect-timeout 30 {} bash {job}", case.path()), DEADLINE);
    wait_until("a connection", DEADLINE, || proxy.accepted() > 0);
    stop(&mut shell);
    proxy.pass();
    pass_time(Duration::from_secs(1));
    assert!(history.sections().unwrap().is_empty());
    shell.fg();
    wait_for_jobs(&history, 1);
    history.finish("b");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}
