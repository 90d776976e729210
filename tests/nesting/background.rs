//! A background process of a command asks for the command's lock: while the command runs it runs at once, and it queues
//! when nothing is held any more, whatever the variables say.

use super::{HOLD, go, inner, outer, shell, until_go, words};
use crate::support::{Case, DEADLINE, Running, STEADY, end, try_rows, wait_until, worker_of};
use nix::sys::signal::{Signal, kill};
use std::fs::read_to_string;

#[derive(Clone, Copy, Debug)]
enum When {
    WhileItRuns,
    AfterItsEnd,
    /// Both processes of its zklock are killed at once: its node stays for the session timeout.
    AfterAKill,
}

use When::{AfterAKill, AfterItsEnd, WhileItRuns};

const FORGETS: &str = "env -u ZKLOCK_HELD ";

/// How the command starts the process, what becomes of the variables on the way, and when the process asks.
const ROWS: &[(&str, &str, When)] = &[
    ("", "", WhileItRuns),
    ("setsid ", "", WhileItRuns),
    ("", "", AfterItsEnd),
    ("setsid ", "", AfterItsEnd),
    ("", FORGETS, AfterItsEnd),
    ("setsid ", FORGETS, AfterItsEnd),
    ("setsid ", "", AfterAKill),
];

/// A zklock whose command starts this shell line in the background, with a zklock around `command` as its arguments, and
/// then runs `after`. Returns when the line has begun.
fn in_the_background(case: &Case, start: &str, line: &str, command: &str, after: &str) -> Running {
    let line = format!("cd {}; echo >begun; {line}", case.dir().display());
    let script = format!("{start}sh -c '{line}' sh \"$@\" </dev/null >/dev/null 2>&1 & {after}");
    let script = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    // The session of a zklock that is killed outlasts the test.
    let options = ["--session-timeout", STEADY];
    let running = outer(case, &options, &[script, inner(case, &[]), shell(command)]).spawn();
    wait_until("the background process", DEADLINE, || case.dir().join("begun").exists());
    running
}

const ASKS: &str = "\"$@\" >out 2>err; echo $? >code";

fn text(case: &Case, file: &str) -> String {
    read_to_string(case.dir().join(file)).unwrap_or_default()
}

/// Waits until the inner zklock has ended, which must have run its command.
#[track_caller]
fn assert_ran(case: &Case, printed: &str) {
    wait_until("the background process to end", DEADLINE, || text(case, "code").ends_with('\n'));
    assert_eq!(
        (text(case, "code").as_str(), text(case, "out").as_str()),
        ("0\n", printed),
        "{}",
        text(case, "err")
    );
}

fn try_row((start, variables, when): (&str, &str, When)) {
    let case = Case::new("background");
    let asks = format!("{variables}{ASKS}");
    let asks_later = format!("{}; {asks}", until_go(&case));
    let begin = |line: &str, after: &str| in_the_background(&case, start, line, "echo ran", after);
    let holder = match when {
        WhileItRuns => {
            let running = begin(&asks, &until_go(&case));
            assert_ran(&case, "ran\n");
            assert_eq!(case.contenders().len(), 1);
            go(&case);
            running.wait(DEADLINE).assert_code(0);
            return;
        }
        AfterItsEnd => {
            begin(&asks_later, "exit 0").wait(DEADLINE).assert_code(0);
            Some(case.holder())
        }
        AfterAKill => {
            let running = begin(&asks_later, HOLD);
            let worker = worker_of(running.pid());
            // A monitor that isn't stopped could end the process before it is killed.
            for (pid, signal) in [
                (running.pid(), Signal::SIGSTOP),
                (worker, Signal::SIGKILL),
                (running.pid(), Signal::SIGKILL),
            ] {
                kill(pid, signal).unwrap();
            }
            None
        }
    };
    go(&case);
    let nodes = case.wait_for_contenders(2);
    assert_eq!(text(&case, "out"), "");
    match holder {
        Some(holder) => end(holder),
        None => case.observer().delete(&format!("{}/{}", case.path(), nodes[0])),
    }
    assert_ran(&case, "ran\n");
}

#[test]
fn a_background_process_runs_at_once_while_the_command_runs_and_queues_afterwards() {
    try_rows(ROWS.iter().copied(), try_row);
}

/// The command holds the lock, and not its background processes.
#[test]
fn a_process_that_began_under_the_lock_runs_on_without_it_after_the_end_of_the_command() {
    let case = Case::new("background-on");
    let begun = format!("until [ -s {}/out ]; do sleep 0.01; done", case.dir().display());
    let command = format!("echo begun; {}; echo ended", until_go(&case));
    in_the_background(&case, "", ASKS, &command, &begun).wait(DEADLINE).assert_code(0);
    case.lock(&["-n"], ["true"]).run().assert_code(0);
    assert_eq!(text(&case, "out"), "begun\n");
    go(&case);
    assert_ran(&case, "begun\nended\n");
}

/// The command in the background waits for another lock meanwhile.
#[test]
fn a_lock_that_is_released_around_a_waiter_is_not_taken_for_held() {
    let case = Case::new("released-around");
    let other = format!("{}-b", case.path());
    let holder = case.zklock().args([&other, "--", "sleep", "60"]).spawn();
    case.observer().wait_for_contenders(&other, 1, DEADLINE);
    let ran = case.dir().join("ran");
    let inner = words(case.hosts(), &[], &[case.path(), &other]).join("' '");
    let running =
        outer(&case, &[], &[shell(&format!("'{inner}' touch {} & {}", ran.display(), until_go(&case)))])
            .spawn();
    case.observer().wait_for_contenders(&other, 2, DEADLINE);
    go(&case);
    // As long as it lives, the inner one is below it.
    wait_until("the outer one to end", DEADLINE, || !running.is_running());
    end(holder);
    let output = running.wait(DEADLINE);
    output.assert_code(0).assert_stderr("was held by a surrounding zklock, which has ended since");
    assert!(!ran.exists());
}
