//! What is the same in a terminal as without one, as the tests of exit codes, signals and stopping have it.

use crate::support::{Case, DEADLINE, Terminal, processes_of, signal_printer};
use nix::sys::signal::{Signal, kill};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A zklock that leads a terminal.
fn start<S: AsRef<str>>(case: &Case, command: &[S]) -> Terminal {
    case.lock(&["--kill-after", "1"], command.iter().map(AsRef::as_ref)).in_terminal()
}

#[track_caller]
fn end(mut terminal: Terminal) -> (ExitStatus, String) {
    let status = terminal.wait(DEADLINE);
    (status, terminal.text())
}

#[test]
fn the_exit_code_is_the_command_s() {
    let case = Case::new("tty-code");
    for code in [0, 1, 77, 255] {
        assert_eq!(end(start(&case, &["sh", "-c", &format!("exit {code}")])).0.code(), Some(code));
    }
}

#[test]
fn a_signal_is_forwarded_once() {
    let case = Case::new("tty-once");
    let mut terminal = start(&case, &signal_printer(&["QUIT=4"]));
    terminal.expect("ready", DEADLINE);
    for name in ["TERM", "INT", "HUP", "USR2", "QUIT"] {
        let signal: Signal = format!("SIG{name}").parse().expect("a signal");
        kill(terminal.pid(), signal).expect("a running zklock");
        terminal.expect(&format!("got {name}"), DEADLINE);
    }
    let (status, text) = end(terminal);
    assert_eq!((status.code(), text.matches("got ").count()), (Some(4), 5), "{text}");
}

#[test]
fn zklock_dies_of_the_command_s_signal() {
    let case = Case::new("tty-signal");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL, Signal::SIGSEGV] {
        let terminal = start(&case, &["sh", "-c", &format!("kill -{} $$", signal as i32)]);
        assert_eq!(end(terminal).0.signal(), Some(signal as i32));
    }
}

#[test]
fn a_lost_lock_stops_the_whole_job() {
    let case = Case::new("tty-lost");
    let script = "trap '' TERM; setsid sleep 61 & sleep 62 & echo ready; sleep 63; sleep 64";
    let mut terminal = start(&case, &["bash", "-c", script]);
    terminal.expect("ready", DEADLINE);
    let node = case.wait_for_contenders(1).remove(0);
    case.observer().delete(&format!("{}/{node}", case.path()));
    let (status, text) = end(terminal);
    assert_eq!(status.code(), Some(123), "{text}");
    assert!(text.contains("the lock was lost"), "{text}");
    assert_eq!(processes_of(case.marker()), []);
}

#[test]
fn children_in_the_process_group_get_forwarded_signals() {
    let case = Case::new("tty-group");
    let child = signal_printer(&["TERM=0"]).join(" ");
    let mut terminal = start(&case, &["bash", "-c", &format!("trap : TERM; {child} & wait; wait; exit 9")]);
    terminal.expect("ready", DEADLINE);
    kill(terminal.pid(), Signal::SIGTERM).expect("a running zklock");
    terminal.expect("got TERM", DEADLINE);
    let (status, text) = end(terminal);
    assert_eq!(status.code(), Some(9), "{text}");
}
