//! Ctrl-Z for a zklock inside another zklock.

use super::{LONGER, SHORT, enter, nodes, script, stop, wait_for_status};
use crate::support::{Case, DEADLINE, Shell, is_stopped, pass_time, processes_of, wait_until};
use std::time::Duration;

/// Users want their prompt sooner, but a busy machine needs this long.
const FEW_SECONDS: Duration = Duration::from_secs(20);

#[test]
fn the_prompt_comes_soon_and_fg_gives_the_keys_back() {
    let case = Case::new("nested-cat");
    let inner = format!("{}-b", case.path());
    let mut shell = case.shell();
    shell.enter(&format!("$zklock {} -- $zklock {inner} -- cat", case.path()), DEADLINE);
    shell.terminal().send(b"one\n");
    shell.terminal().expect("one\r\none\r\n", DEADLINE);
    for round in 0..4 {
        shell.terminal().send(super::CTRL_Z);
        shell.terminal().expect("Stopped", FEW_SECONDS);
        shell.prompt(FEW_SECONDS);
        assert_eq!(shell.code(DEADLINE), 148);
        shell.fg();
        shell.terminal().send(b"more\n");
        // The typed line is echoed, and then copied.
        shell.terminal().expect("more\r\nmore\r\n", DEADLINE);
        assert_eq!(case.contenders().len(), 1, "round {round}");
    }
    shell.terminal().send(b"\x04");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
    assert!(case.observer().children(&inner).is_empty());
}

/// Waits until all processes run again: a key that is typed before may reach one together with CONT, which undoes a stop.
#[track_caller]
fn wait_for_keys(case: &Case, shell: &Shell) {
    wait_until("all processes to go on", DEADLINE, || {
        shell.foreground() != shell.pid()
            && !processes_of(case.marker()).iter().any(|(pid, _)| is_stopped(*pid))
    });
}

/// It doesn't matter whether the command reads from the terminal.
#[test]
fn whatever_the_command_does_the_prompt_comes_soon() {
    for (command, last) in [("sleep 61", "sleep"), ("cat", "cat"), ("sh -c 'sleep 61; :'", "sleep")] {
        let case = Case::new("nested-any");
        let inner = format!("{}-b", case.path());
        let mut shell = case.shell();
        shell.enter(&format!("$zklock {} -- $zklock {inner} -- {command}", case.path()), DEADLINE);
        wait_until("both locks", DEADLINE, || {
            case.contenders().len() == 1 && case.observer().children(&inner).len() == 1
        });
        wait_for_keys(&case, &shell);
        // Some shells start programs with vfork: they can't stop until the program has begun.
        wait_until("the last process", DEADLINE, || {
            processes_of(case.marker()).iter().any(|(_, command)| command.starts_with(last))
        });
        for _ in 0..3 {
            shell.terminal().send(super::CTRL_Z);
            shell.terminal().expect("Stopped", FEW_SECONDS);
            shell.prompt(FEW_SECONDS);
            shell.fg();
            wait_for_keys(&case, &shell);
        }
        shell.terminal().send(b"\x03");
        shell.prompt(FEW_SECONDS);
        assert!(matches!(shell.code(DEADLINE), 130 | 0), "{command}");
        assert_eq!(case.contenders().len(), 0, "{command}");
    }
}

#[test]
fn in_a_pipeline_too() {
    let case = Case::new("nested-pipeline");
    let reads = "sh -c 'read -r x; echo \"<$x>\"; read -r x; echo \"<$x>\"'";
    let mut shell = case.shell();
    shell.enter(&format!("$zklock {0} -- $zklock {0}-b -- {reads} | cat", case.path()), DEADLINE);
    shell.terminal().send(b"one\n");
    shell.terminal().expect("<one>\r\n", DEADLINE);
    for _ in 0..3 {
        stop(&mut shell);
        shell.fg();
        wait_for_keys(&case, &shell);
    }
    shell.terminal().send(b"two\n");
    shell.terminal().expect("<two>\r\n", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn both_locks_are_kept_and_told_as_stopped() {
    let case = Case::new("nested-kept");
    let history = case.history();
    let paths = [case.path().to_owned(), format!("{}-b", case.path())];
    let job = script(&case, "job.sh", &history.steady_job("only"));
    let mut shell = case.shell();
    let line = format!("$zklock {SHORT} {} -- $zklock {SHORT} {} -- bash {job}", paths[0], paths[1]);
    enter(&mut shell, &line, &history, 1);
    let before = nodes(&case, &paths);
    assert_eq!(before.len(), 2);
    stop(&mut shell);
    for path in &paths {
        wait_for_status(&case, path, 0, "held", true);
    }
    let done = history.sections().unwrap();
    pass_time(LONGER);
    assert_eq!(nodes(&case, &paths), before);
    assert_eq!(history.sections().unwrap(), done);
    shell.fg();
    wait_until("it to go on", DEADLINE, || history.sections().unwrap()[0].last > done[0].last);
    for path in &paths {
        wait_for_status(&case, path, 0, "held", false);
    }
    history.finish("only");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

/// The inner zklock becomes the command, because the outer one holds its lock.
#[test]
fn on_the_same_path_it_is_one_zklock() {
    let case = Case::new("nested-same");
    let history = case.history();
    let job = script(&case, "job.sh", &history.steady_job("only"));
    let mut shell = case.shell();
    let line = format!("$zklock {SHORT} {0} -- $zklock {0} -- bash {job}", case.path());
    enter(&mut shell, &line, &history, 1);
    for _ in 0..3 {
        stop(&mut shell);
        wait_for_status(&case, case.path(), 0, "held", true);
        let done = history.sections().unwrap();
        shell.fg();
        wait_until("it to go on", DEADLINE, || history.sections().unwrap()[0].last > done[0].last);
    }
    history.finish("only");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 0);
}

#[test]
fn an_outer_lock_that_is_lost_while_all_is_stopped_ends_all() {
    let case = Case::new("nested-lost");
    let history = case.history();
    let paths = [case.path().to_owned(), format!("{}-b", case.path())];
    let job = script(&case, "job.sh", &history.steady_job("only"));
    let mut shell = case.shell();
    let line = format!("$zklock {} -- $zklock {} -- bash {job}", paths[0], paths[1]);
    enter(&mut shell, &line, &history, 1);
    stop(&mut shell);
    case.zklock().args(["revoke", case.path()]).run().assert_code(0);
    wait_until("both locks to be free", DEADLINE, || nodes(&case, &paths).is_empty());
    shell.enter("fg", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 123);
}
