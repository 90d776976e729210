//! zklock under cron, timeout, nohup, setsid, ssh and xargs.

use crate::support::{Case, DEADLINE, signal_printer, wait_until};
use nix::sys::signal::Signal;
use std::fs;
use std::time::Duration;

/// A prelude that puts these words before zklock's command line.
fn under(words: &str) -> String {
    format!("exec {words} \"$0\" \"$@\"")
}

#[test]
fn zklock_runs_in_the_bare_environment_of_cron() {
    let case = Case::new("cron");
    let bare = "env -i ZKLOCK_TEST_RUN=\"$ZKLOCK_TEST_RUN\" /bin/sh -c '\"$0\" \"$@\"'";
    let run = case.lock(&[], ["sh", "-c", "echo $ZKLOCK_PATH; exit 3"]).prelude(&under(bare)).run();
    assert_eq!(run.assert_code(3).stdout, format!("{}\n", case.path()));
    assert_eq!(run.stderr, "");
}

#[test]
fn timeout_ends_the_command_and_leaves_nothing() {
    let case = Case::new("timeout");
    let run = case.lock(&[], ["sh", "-c", "sleep 61 | sleep 62"]).prelude(&under("timeout 1")).run();
    run.assert_code(124);
    assert!(run.closed && run.elapsed < Duration::from_secs(25), "{run}");
    assert_eq!(case.contenders(), [""; 0]);
}

/// timeout sends TERM twice: to zklock, and to zklock's process group.
#[test]
fn timeout_ends_a_waiter_and_its_node_at_once() {
    let case = Case::new("timeout-waiting");
    let holder = case.holder();
    for _ in 0..5 {
        let run = case.lock(&[], ["echo", "ran"]).prelude(&under("timeout 0.3")).run();
        assert_eq!(run.assert_code(124).stdout, "");
        let seconds = Duration::from_secs(20);
        case.observer().wait_for_contenders(case.path(), 1, seconds);
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
}

#[test]
fn timeout_with_kill_ends_a_command_that_ignores_term() {
    let case = Case::new("timeout-kill");
    let run = case
        .lock(&[], ["bash", "-c", "trap '' TERM; while :; do sleep 0.1; done"])
        // On a busy machine, the command takes a while to ignore TERM.
        .prelude(&under("timeout -k 0.5 6"))
        .run();
    run.assert_signal(Signal::SIGKILL);
    let seconds = Duration::from_secs(20);
    case.observer().wait_for_contenders(case.path(), 0, seconds);
}

#[test]
fn nohup_survives_the_end_of_the_terminal() {
    let case = Case::new("nohup");
    let (go, done) = (case.dir().join("go"), case.dir().join("done"));
    let mut shell = case.shell();
    let script =
        format!("until [ -e {} ]; do sleep 0.02; done; echo $ZKLOCK_PATH > {}", go.display(), done.display());
    let line = format!("nohup $zklock {} sh -c '{script}' >/dev/null 2>&1 &", case.path());
    shell.enter(&line, DEADLINE);
    shell.prompt(DEADLINE);
    case.wait_for_contenders(1);
    let bash = shell.pid();
    shell.terminal().hang_up();
    wait_until("the shell's end", DEADLINE, || !crate::support::is_alive(bash));
    fs::write(go, "").expect("a file");
    let said = || fs::read_to_string(&done).is_ok_and(|said| said.trim() == case.path());
    wait_until("the command's end", DEADLINE, said);
}

#[test]
fn zklock_needs_no_terminal_under_setsid() {
    let case = Case::new("setsid");
    let mut shell = case.shell();
    let command = "sh -c 'echo up; exec 3</dev/tty; sleep 0.5; exit 7'";
    shell.enter(&format!("setsid --wait $zklock {} {command}", case.path()), DEADLINE);
    shell.terminal().expect("/dev/tty", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 2, "no terminal can be opened");
    let command = "sh -c 'echo up; exit 7'";
    shell.run(&format!("setsid --wait $zklock {} {command}", case.path()), DEADLINE);
    assert_eq!(shell.code(DEADLINE), 7);
}

/// As under `ssh -t`: the terminal belongs to a shell that isn't interactive.
#[test]
fn a_broken_ssh_connection_ends_the_command() {
    let case = Case::new("ssh");
    let mut terminal = case
        .lock(&[], ["sh", "-c", "echo up; sleep 61 | sleep 62"])
        .prelude("\"$0\" \"$@\"; exit $?")
        .in_terminal();
    terminal.expect("up\r\n", DEADLINE);
    terminal.hang_up();
    crate::support::assert_no_processes(case.marker(), DEADLINE);
    case.wait_for_contenders(0);
}

#[test]
fn zklocks_under_parallel_xargs_run_one_at_a_time() {
    let case = Case::new("xargs");
    let history = case.history();
    let job = history.job("job", 0.05);
    let run =
        case.lock(&[], ["sh", "-c", &job]).prelude("seq 8 | xargs -P 4 -n 1 \"$0\" \"$@\"; exit $?").run();
    run.assert_code(0);
    assert_eq!(history.exclusive_order().len(), 8);
}

#[test]
fn a_zklock_under_xargs_ends_on_term() {
    let case = Case::new("xargs-term");
    let running = case
        .lock(&[], signal_printer(&["TERM=0"]))
        .prelude("exec xargs -n 1 \"$0\" \"$@\"")
        .input(b"60\n")
        .spawn();
    running.wait_for_stdout("ready", DEADLINE);
    nix::sys::signal::killpg(running.pid(), Signal::SIGTERM).expect("the group");
    running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
    case.wait_for_contenders(0);
}
