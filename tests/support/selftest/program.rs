use crate::support::running::Running;
use crate::support::{Case, DEADLINE, MARKER, Zklock, new_marker, signal_printer, spawn};
use nix::sys::signal::Signal;
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn runs_with_an_environment_of_its_own() {
    let marker = new_marker();
    let prelude = "env | cut -d= -f1 | sort | grep -vE '^(_|PWD|SHLVL)$'; cat; exit 7";
    let output = Zklock::bare(&marker).env("EXTRA", "1").input(b"from stdin\n").prelude(prelude).run();
    output.assert_code(7);
    assert_eq!(output.stdout, "EXTRA\nHOME\nPATH\nZKLOCK_TEST_RUN\nfrom stdin\n");
    assert!(output.closed);
}

#[test]
fn tells_the_signal_that_ended_it() {
    let output = Zklock::bare(&new_marker()).prelude("echo dying >&2; kill -USR1 $$").run();
    output.assert_signal(Signal::SIGUSR1).assert_stderr("dying");
    assert_eq!(output.code, None);
}

#[test]
fn signals_the_program_itself() {
    let case = Case::new("pid");
    let prelude = "echo $$ $(ps -o sid= -p $$); exec sleep 60";
    let running = Zklock::bare(case.marker()).prelude(prelude).spawn();
    let pid = running.pid().to_string();
    assert_eq!(running.wait_for_stdout(&pid, DEADLINE), format!("{pid} {pid}"));
    assert!(running.is_running());
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
}

#[test]
fn runs_in_a_terminal() {
    let prelude = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && ps -o tty= -p $$ && exit 4";
    let mut terminal = Zklock::bare(&new_marker()).prelude(prelude).in_terminal();
    terminal.expect("pts/", DEADLINE);
    assert_eq!(terminal.wait(DEADLINE).code(), Some(4));
}

#[test]
fn tells_when_a_pipe_stays_open() {
    let case = Case::new("open-pipe");
    let output = Zklock::bare(case.marker()).prelude("sleep 6 & exit 0").run();
    assert!(!output.assert_code(0).closed);
}

#[test]
#[should_panic(expected = "hangs")]
fn does_not_wait_for_ever() {
    let hanging = Zklock::bare(&new_marker()).prelude("exec sleep 60").spawn();
    hanging.wait(std::time::Duration::from_millis(100));
}

#[test]
#[should_panic(expected = "left behind")]
fn a_case_looks_for_leftovers() {
    let case = Case::new("leftover");
    let path = case.path().to_owned();
    case.observer().mkdirs(&format!("{path}/_c_left-lock-0000000000"));
}

#[test]
fn the_helper_prints_signals() {
    let command = signal_printer(&["QUIT=3"]);
    let child = spawn::spawn(
        Command::new(&command[0])
            .args(&command[1..])
            .env(MARKER, new_marker())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let helper = Running::new(child, Vec::new(), Instant::now());
    helper.wait_for_stdout("ready", DEADLINE);
    for (signal, name) in [
        (Signal::SIGTERM, "got TERM"),
        (Signal::SIGINT, "got INT"),
        (Signal::SIGHUP, "got HUP"),
        (Signal::SIGUSR1, "got USR1"),
        (Signal::SIGALRM, "got ALRM"),
        (Signal::SIGWINCH, "got WINCH"),
        (Signal::SIGCONT, "got CONT"),
        (Signal::SIGQUIT, "got QUIT"),
    ] {
        helper.signal(signal);
        helper.wait_for_stdout(name, DEADLINE);
        assert_eq!(helper.stdout().count(name), 1);
    }
    helper.wait(DEADLINE).assert_code(3);
}
