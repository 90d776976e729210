//! Behaviour that is the same with and without a terminal.

use crate::support::{Case, DEADLINE, Running, Terminal, processes_of, signal_printer};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;

/// A zklock without a terminal, or as the leader of one.
enum Process {
    Piped(Running),
    Tty(Terminal),
}

impl Process {
    fn start<S: AsRef<str>>(tty: bool, case: &Case, command: &[S]) -> Self {
        let zklock = case.lock(&["--kill-after", "1"], command.iter().map(AsRef::as_ref));
        if tty { Self::Tty(zklock.in_terminal()) } else { Self::Piped(zklock.spawn()) }
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        match self {
            Self::Piped(running) => drop(running.wait_for_stdout(text, DEADLINE)),
            Self::Tty(terminal) => drop(terminal.expect(text, DEADLINE)),
        }
    }

    fn pid(&self) -> Pid {
        match self {
            Self::Piped(running) => running.pid(),
            Self::Tty(terminal) => terminal.pid(),
        }
    }

    fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("a running zklock");
    }

    /// The exit code, the signal, and the whole output.
    #[track_caller]
    fn end(self) -> (Option<i32>, Option<i32>, String) {
        match self {
            Self::Piped(running) => {
                let output = running.wait(DEADLINE);
                (output.code, output.signal, output.stdout + &output.stderr)
            }
            Self::Tty(mut terminal) => {
                let status = terminal.wait(DEADLINE);
                (status.code(), status.signal(), terminal.text())
            }
        }
    }
}

/// Makes two tests of each function: without and in a terminal.
macro_rules! either_way {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn without_a_terminal() {
                super::$name(false);
            }
            #[test]
            fn in_a_terminal() {
                super::$name(true);
            }
        }
    )*};
}

either_way! {
    the_exit_code_is_the_command_s
    a_signal_is_forwarded_once
    zklock_dies_of_the_command_s_signal
    a_lost_lock_stops_the_whole_job
    children_in_the_process_group_get_forwarded_signals
}

fn the_exit_code_is_the_command_s(tty: bool) {
    let case = Case::new("either-code");
    for code in [0, 1, 77, 255] {
        let process = Process::start(tty, &case, &["sh", "-c", &format!("exit {code}")]);
        assert_eq!(process.end().0, Some(code));
    }
}

fn a_signal_is_forwarded_once(tty: bool) {
    let case = Case::new("either-once");
    let mut process = Process::start(tty, &case, &signal_printer(&["QUIT=4"]));
    process.expect("ready");
    for (signal, text) in [
        (Signal::SIGTERM, "got TERM"),
        (Signal::SIGINT, "got INT"),
        (Signal::SIGHUP, "got HUP"),
        (Signal::SIGUSR2, "got USR2"),
        (Signal::SIGQUIT, "got QUIT"),
    ] {
        process.signal(signal);
        process.expect(text);
    }
    let (code, _, text) = process.end();
    assert_eq!(code, Some(4), "{text}");
    assert_eq!(text.matches("got ").count(), 5, "{text}");
}

fn zklock_dies_of_the_command_s_signal(tty: bool) {
    let case = Case::new("either-signal");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL, Signal::SIGSEGV] {
        let process = Process::start(tty, &case, &["sh", "-c", &format!("kill -{} $$", signal as i32)]);
        assert_eq!(process.end().1, Some(signal as i32));
    }
}

fn a_lost_lock_stops_the_whole_job(tty: bool) {
    let case = Case::new("either-lost");
    let script = "trap '' TERM; setsid sleep 61 & sleep 62 & echo ready; sleep 63; sleep 64";
    let mut process = Process::start(tty, &case, &["bash", "-c", script]);
    process.expect("ready");
    let node = case.wait_for_contenders(1).remove(0);
    case.observer().delete(&format!("{}/{node}", case.path()));
    let (code, _, text) = process.end();
    assert_eq!(code, Some(123), "{text}");
    assert!(text.contains("the lock was lost"), "{text}");
    assert_eq!(processes_of(case.marker()), []);
}

fn children_in_the_process_group_get_forwarded_signals(tty: bool) {
    let case = Case::new("either-group");
    let child = signal_printer(&["TERM=0"]).join(" ");
    let script = format!("trap : TERM; {child} & wait; wait; exit 9");
    let mut process = Process::start(tty, &case, &["bash", "-c", &script]);
    process.expect("ready");
    process.signal(Signal::SIGTERM);
    process.expect("got TERM");
    let (code, _, text) = process.end();
    assert_eq!(code, Some(9), "{text}");
}
