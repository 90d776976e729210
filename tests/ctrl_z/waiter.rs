//! A stopped waiter: it leaves the queue at once, and queues again when it is continued.

use super::{script, stop, wait_for_jobs};
use crate::support::{Case, DEADLINE, History, Running, Shell, end, pass_time, wait_for, wait_until};
use std::time::Duration;

/// Starts a waiter in a shell, with `ahead` contenders before it, and stops it. Its job is called `b`. It leaves the queue.
#[track_caller]
fn stopped_behind(case: &Case, history: &History, options: &str, ahead: usize) -> Shell {
    let job = script(case, "b.sh", &history.steady_job("b"));
    let mut shell = case.shell();
    shell.enter(&format!("$zklock -v {options} -- bash {job}"), DEADLINE);
    // Only now it knows its node, and says that it leaves.
    shell.terminal().expect(": position ", DEADLINE);
    stop(&mut shell);
    case.wait_for_contenders(ahead);
    assert!(shell.terminal().text().contains("stopped: left the queue"), "{}", shell.terminal().text());
    shell
}

/// Starts a contender with these options and a job of this name; returns when it is the last in the queue.
#[track_caller]
fn queue(case: &Case, history: &History, name: &str, options: &[&str]) -> Running {
    let before = case.contenders();
    let running = case.lock(options, ["bash", "-c", &history.steady_job(name)]).spawn();
    wait_until("it to queue", DEADLINE, || case.contenders().iter().any(|node| !before.contains(node)));
    running
}

/// Continues the waiter. It has to queue again, acquires the lock when the holders end, and exits like its command.
#[track_caller]
fn goes_on_after(shell: &mut Shell, history: &History, holders: Vec<(Running, &str)>) {
    let jobs = history.sections().unwrap().len();
    shell.enter("fg", DEADLINE);
    shell.terminal().expect("queueing again at the end", DEADLINE);
    shell.terminal().expect("queued as", DEADLINE);
    for (running, name) in holders {
        history.finish(name);
        running.wait(DEADLINE).assert_code(0);
    }
    wait_for_jobs(history, jobs + 1);
    history.finish("b");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn the_next_one_runs_in_its_place() {
    let case = Case::new("passed-over");
    let history = case.history();
    let first = case.holder();
    let mut shell = stopped_behind(&case, &history, case.path(), 1);
    let next = queue(&case, &history, "c", &[]);
    end(first);
    wait_for_jobs(&history, 1);
    goes_on_after(&mut shell, &history, vec![(next, "c")]);
    assert_eq!(history.exclusive_order(), ["c", "b"]);
}

/// The surrounding zklock's worker, between the waiter and the shell, is in a session of its own.
#[test]
fn a_waiter_inside_a_command_stops_with_its_job() {
    let case = Case::new("stopped-inside");
    let holder = case.holder();
    let mut shell = case.shell();
    let path = case.path();
    let inner = format!("$zklock -v {path} -- echo ran; exit 7");
    shell.enter(&format!("$zklock {path}-outer -- sh -c \"{inner}\""), DEADLINE);
    shell.terminal().expect(": position ", DEADLINE);
    stop(&mut shell);
    case.wait_for_contenders(1);
    end(holder);
    pass_time(Duration::from_secs(1));
    assert!(!shell.terminal().text().contains("\nran"), "{}", shell.terminal().text());
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 7);
}

/// No other contender wants the lock, and still the command doesn't run while the waiter is stopped.
#[test]
fn it_never_runs_while_it_is_stopped() {
    let case = Case::new("stopped-first");
    let history = case.history();
    let first = case.holder();
    let mut shell = stopped_behind(&case, &history, case.path(), 1);
    end(first);
    case.wait_for_contenders(0);
    pass_time(Duration::from_secs(1));
    assert!(history.sections().unwrap().is_empty());
    goes_on_after(&mut shell, &history, vec![]);
}

#[test]
fn a_stopped_reader_lets_a_writer_pass() {
    let case = Case::new("passed-reader");
    let history = case.history();
    let first = case.holder();
    let mut shell = stopped_behind(&case, &history, &format!("-s {}", case.path()), 1);
    let writer = queue(&case, &history, "c", &[]);
    end(first);
    wait_for_jobs(&history, 1);
    goes_on_after(&mut shell, &history, vec![(writer, "c")]);
    assert_eq!(history.exclusive_order(), ["c", "b"]);
}

#[test]
fn a_stopped_waiter_for_a_slot_lets_the_next_have_it() {
    let case = Case::new("passed-slot");
    let history = case.history();
    let slots = ["--slots", "2"];
    let [first, other] = ["first", "other"].map(|name| queue(&case, &history, name, &slots));
    wait_for_jobs(&history, 2);
    let mut shell = stopped_behind(&case, &history, &format!("--slots 2 {}", case.path()), 2);
    let next = queue(&case, &history, "c", &slots);
    history.finish("first");
    first.wait(DEADLINE).assert_code(0);
    wait_for_jobs(&history, 3);
    goes_on_after(&mut shell, &history, vec![(next, "c"), (other, "other")]);
    let mut names: Vec<_> = history.sections().unwrap().into_iter().map(|section| section.name).collect();
    // The first two have a slot each, and begin in no particular order.
    names[..2].sort();
    assert_eq!(names, ["first", "other", "c", "b"]);
    assert_eq!(history.most_at_once(), 2);
}

/// It holds the first lock and waits for the second. It releases the first lock as well, and queues for the second no more.
#[test]
fn a_stopped_waiter_for_several_lets_go_of_what_it_has() {
    let case = Case::new("passed-several");
    let history = case.history();
    let second = format!("{}-b", case.path());
    let holder = case.zklock().args([&second, "--", "sh", "-c", "echo holding; exec sleep 60"]).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    let mut shell = stopped_behind(&case, &history, &format!("{} {second}", case.path()), 0);
    let next = queue(&case, &history, "c", &[]);
    wait_for_jobs(&history, 1);
    end(holder);
    assert!(case.observer().children(&second).is_empty());
    goes_on_after(&mut shell, &history, vec![(next, "c")]);
    assert_eq!(history.exclusive_order(), ["c", "b"]);
}

#[test]
fn a_limit_that_runs_out_while_it_is_stopped_is_busy() {
    let case = Case::new("stopped-limit");
    let history = case.history();
    let first = case.holder();
    let mut shell = stopped_behind(&case, &history, &format!("-w 10 {}", case.path()), 1);
    // The time is that of the message, which a busy machine writes a little later.
    shell.terminal().expect(&format!("{}: busy: gave up after 1", case.path()), DEADLINE);
    shell.terminal().expect(" s: stopped", DEADLINE);
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 124);
    end(first);
    assert!(history.sections().unwrap().is_empty());
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

#[test]
fn a_closed_window_ends_it() {
    let case = Case::new("stopped-hang-up");
    let history = case.history();
    let first = case.holder();
    let mut shell = stopped_behind(&case, &history, case.path(), 1);
    shell.terminal().hang_up();
    case.wait_for_contenders(1);
    end(first);
    assert!(history.sections().unwrap().is_empty());
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
