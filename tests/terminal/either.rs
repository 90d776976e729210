//! What must not depend on whether there is a terminal.

use crate::support::{Case, Running, SOON, Terminal, processes_of, signal_printer};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;

/// A zklock without a terminal, or as the leader of one.
enum Front {
    Piped(Running),
    Tty(Terminal),
}

impl Front {
    fn start<S: AsRef<str>>(tty: bool, case: &Case, command: &[S]) -> Self {
        let zklock = case.lock(&["--kill-after", "1"], command.iter().map(AsRef::as_ref));
        if tty { Self::Tty(zklock.in_terminal()) } else { Self::Piped(zklock.spawn()) }
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        match self {
            Self::Piped(running) => drop(running.wait_for_stdout(text, SOON)),
            Self::Tty(terminal) => drop(terminal.expect(text, SOON)),
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

    /// The exit code and the signal, and all that was written.
    #[track_caller]
    fn end(self) -> (Option<i32>, Option<i32>, String) {
        match self {
            Self::Piped(running) => {
                let output = running.wait(SOON);
                (output.code, output.signal, output.stdout + &output.stderr)
            }
            Self::Tty(mut terminal) => {
                let status = terminal.wait(SOON);
                (status.code(), status.signal(), terminal.text())
            }
        }
    }
}

/// Makes two tests of each function: without a terminal and in one.
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
    a_signal_is_passed_on_once
    death_by_a_signal_is_shared
    a_lost_lock_stops_the_whole_job
    children_in_the_group_hear_what_the_command_hears
}

fn the_exit_code_is_the_command_s(tty: bool) {
    let case = Case::new("either-code");
    for code in [0, 1, 77, 255] {
        let front = Front::start(tty, &case, &["sh", "-c", &format!("exit {code}")]);
        assert_eq!(front.end().0, Some(code));
    }
}

fn a_signal_is_passed_on_once(tty: bool) {
    let case = Case::new("either-once");
    let mut front = Front::start(tty, &case, &signal_printer(&["QUIT=4"]));
    front.expect("ready");
    for (signal, text) in [
        (Signal::SIGTERM, "got TERM"),
        (Signal::SIGINT, "got INT"),
        (Signal::SIGHUP, "got HUP"),
        (Signal::SIGUSR2, "got USR2"),
        (Signal::SIGQUIT, "got QUIT"),
    ] {
        front.signal(signal);
        front.expect(text);
    }
    let (code, _, text) = front.end();
    assert_eq!(code, Some(4), "{text}");
    assert_eq!(text.matches("got ").count(), 5, "{text}");
}

fn death_by_a_signal_is_shared(tty: bool) {
    let case = Case::new("either-signal");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL, Signal::SIGSEGV] {
        let front = Front::start(tty, &case, &["sh", "-c", &format!("kill -{} $$", signal as i32)]);
        assert_eq!(front.end().1, Some(signal as i32));
    }
}

fn a_lost_lock_stops_the_whole_job(tty: bool) {
    let case = Case::new("either-lost");
    let script = "trap '' TERM; setsid sleep 61 & sleep 62 & echo ready; sleep 63; sleep 64";
    let mut front = Front::start(tty, &case, &["bash", "-c", script]);
    front.expect("ready");
    let node = case.wait_for_contenders(1).remove(0);
    case.observer().delete(&format!("{}/{node}", case.path()));
    let (code, _, text) = front.end();
    assert_eq!(code, Some(123), "{text}");
    assert!(text.contains("the lock was lost"), "{text}");
    assert_eq!(processes_of(case.marker()), []);
}

fn children_in_the_group_hear_what_the_command_hears(tty: bool) {
    let case = Case::new("either-group");
    let child = signal_printer(&["TERM=0"]).join(" ");
    let script = format!("trap : TERM; {child} & wait; wait; exit 9");
    let mut front = Front::start(tty, &case, &["bash", "-c", &script]);
    front.expect("ready");
    front.signal(Signal::SIGTERM);
    front.expect("got TERM");
    let (code, _, text) = front.end();
    assert_eq!(code, Some(9), "{text}");
}
