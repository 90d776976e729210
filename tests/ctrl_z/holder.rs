//! The lock is kept for as long as the command is stopped.

use super::{LONGER, SHORT, contenders, enter, nodes, script, stop, wait_for_jobs, wait_for_status};
use crate::support::{Case, DEADLINE, end, holder, is_stopped, pass_time, try_rows, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Calls of zklock. A row is one; to add one, add a line.
const KEPT: &[&str] = &[
    "ZK PATH",
    "ZK -s PATH",
    "ZK --slots 2 PATH",
    "ZK PATH PATH-b PATH-c",
    "ZK PATH -- ZK PATH-b",
    "ZK PATH -- ZK PATH",
];

#[test]
fn a_lock_is_kept_while_its_holder_is_stopped() {
    try_rows(KEPT.iter().copied(), assert_kept);
}

fn assert_kept(words: &str) {
    let case = Case::new("stopped-kept");
    let history = case.history();
    let job = script(&case, "job.sh", &format!("{}; exit 6", history.steady_job("only")));
    let endings = ["", "-b", "-c"].into_iter().filter(|ending| words.contains(&format!("PATH{ending}")));
    let paths: Vec<_> = endings.map(|ending| format!("{}{ending}", case.path())).collect();
    let words = words.replace("ZK", &format!("$zklock {SHORT}")).replace("PATH", "$lock");
    let mut shell = case.shell();
    enter(&mut shell, &format!("{words} -- bash {job}"), &history, 1);
    let before = nodes(&case, &paths);
    assert_eq!(before.len(), paths.len());
    wait_for_status(&case, &paths[0], 0, "held", false);
    let held_since = || paths.iter().map(|path| contenders(&case, path)[0]["held_since"].clone());
    wait_until("it to say since when", DEADLINE, || held_since().all(|since| since.is_string()));
    let since: Vec<_> = held_since().collect();

    stop(&mut shell);
    let told = " is stopped, and the lock is kept; fg or bg continues it";
    // zklock stops after half a second even if its message is not written by then.
    wait_until("the message", DEADLINE, || shell.terminal().text().contains(told));
    assert_eq!(shell.code(DEADLINE), 148);
    let done = history.sections().unwrap();
    for path in &paths {
        wait_for_status(&case, path, 0, "held", true);
    }
    pass_time(LONGER);
    assert_eq!(nodes(&case, &paths), before, "the same nodes of the same session");
    assert!(held_since().eq(since.iter().cloned()), "since when it is held stays what it was");
    assert_eq!(history.sections().unwrap(), done, "it stands");

    shell.fg();
    wait_until("it to go on", DEADLINE, || history.sections().unwrap()[0].last > done[0].last);
    for path in &paths {
        wait_for_status(&case, path, 0, "held", false);
    }
    assert!(held_since().eq(since), "also when it goes on");
    assert_eq!(nodes(&case, &paths), before);
    history.finish("only");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 6);
    let sections = history.sections().unwrap();
    assert_eq!((sections.len(), sections[0].ended), (1, true), "one command from the beginning to the end");
}

/// One of two holders is stopped; the other slot is handed off as usual.
#[test]
fn a_stopped_slot_hinders_no_other() {
    let case = Case::new("stopped-slot");
    let history = case.history();
    let job = script(&case, "job.sh", &history.steady_job("first"));
    let mut shell = case.shell();
    enter(&mut shell, &format!("$zklock {SHORT} --slots 2 {} bash {job}", case.path()), &history, 1);
    stop(&mut shell);
    for round in 1..=3 {
        let other = holder(&case, &["--slots", "2"]);
        let name = format!("third-{round}");
        let third = case.lock(&["--slots", "2"], ["bash", "-c", &history.job(&name, 0.1)]).spawn();
        case.wait_for_contenders(3);
        end(other);
        third.wait(DEADLINE).assert_code(0);
        wait_for_jobs(&history, 1 + round);
    }
    shell.fg();
    history.finish("first");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

/// Another process stops only the command's first process.
#[test]
fn a_command_that_is_stopped_alone_is_shown_as_stopped() {
    let case = Case::new("stopped-first-process");
    let running = case.lock(&[], ["sh", "-c", "echo pid $$; exec sleep 60"]).spawn();
    let line = running.wait_for_stdout("pid ", DEADLINE);
    let leader = Pid::from_raw(line.trim().rsplit(' ').next().unwrap().parse().expect("a number"));
    for (signal, stopped) in [(Signal::SIGSTOP, true), (Signal::SIGCONT, false), (Signal::SIGSTOP, true)] {
        kill(leader, signal).expect("a process");
        wait_for_status(&case, case.path(), 0, "held", stopped);
    }
    assert!(!is_stopped(running.pid()), "zklock runs on");
    end(running);
}
