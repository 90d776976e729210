//! Nobody reads what zklock says: nothing that matters waits for that.

mod end;
mod holder;
mod line;
mod pipe;
mod reader;
mod waiter;

use crate::support::{Case, Running, SOON, Terminal, Zklock, wait_until};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pipe::Pipe;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

const CTRL_S: &[u8] = b"\x13";
const CTRL_Q: &[u8] = b"\x11";

/// How much zklock says: little, or all that it and its client library have to tell.
const SAYING: [&[&str]; 2] = [&[], &["-vvvv"]];

/// Why nobody reads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Silence {
    /// stderr is a pipe that is full.
    FullPipe,
    /// stderr is a pipe whose other end is closed.
    BrokenPipe,
    /// There is no stderr.
    Closed,
    /// Somebody has typed Ctrl-S.
    CtrlS,
}

/// A zklock that nobody hears.
struct Unheard {
    front: Front,
    pipe: Option<Pipe>,
}

enum Front {
    Piped(Running),
    Tty(Terminal),
}

impl Silence {
    /// A zklock with the case's lock; returns when it has queued.
    #[track_caller]
    fn start(self, case: &Case, options: &[&str], script: &str) -> Unheard {
        let before = case.contenders().len();
        let unheard = self.begin(case, case.lock(options, ["bash", "-c", script]));
        case.wait_for_contenders(before + 1);
        unheard
    }

    /// Starts it; nobody reads from the beginning on.
    #[track_caller]
    fn begin(self, case: &Case, zklock: Zklock) -> Unheard {
        let piped = |prelude: &str, zklock: Zklock| Front::Piped(zklock.prelude(prelude).spawn());
        match self {
            Self::CtrlS => Unheard { front: Front::Tty(after_ctrl_s(case, zklock)), pipe: None },
            Self::Closed => Unheard { front: piped("exec 2>&-", zklock), pipe: None },
            Self::BrokenPipe => Unheard { front: piped("exec 2> >(:); wait $!", zklock), pipe: None },
            Self::FullPipe => {
                let pipe = Pipe::new(case.dir());
                pipe.fill();
                let front = piped(&format!("exec 2>'{}'", pipe.path().display()), zklock);
                Unheard { front, pipe: Some(pipe) }
            }
        }
    }
}

/// On a terminal whose output stands still before it begins.
#[track_caller]
fn after_ctrl_s(case: &Case, zklock: Zklock) -> Terminal {
    let [tty, go] = ["tty", "go"].map(|name| case.dir().join(name));
    fs::remove_file(&tty).ok();
    fs::remove_file(&go).ok();
    let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
    let prelude = format!("tty >'{0}.new'; mv '{0}.new' '{0}'; {wait}", tty.display());
    let terminal = zklock.prelude(&prelude).env("TERM", "xterm").in_terminal();
    wait_until("the terminal's name", SOON, || tty.exists());
    terminal.send(CTRL_S);
    let slave = slave(fs::read_to_string(tty).expect("a terminal").trim());
    wait_until("the output to stand still", SOON, || !takes_output(&slave));
    fs::write(go, "").expect("a file");
    terminal
}

impl Unheard {
    fn pid(&self) -> Pid {
        match &self.front {
            Front::Piped(running) => running.pid(),
            Front::Tty(terminal) => terminal.pid(),
        }
    }

    fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("a running zklock");
    }

    /// The exit code, or the signal that ended it.
    #[track_caller]
    fn end(self, within: Duration) -> Result<i32, Signal> {
        let (code, signal) = match self.front {
            Front::Piped(running) => {
                let output = running.wait(within);
                (output.code, output.signal)
            }
            Front::Tty(mut terminal) => {
                let status = terminal.wait(within);
                (status.code(), status.signal())
            }
        };
        code.ok_or_else(|| Signal::try_from(signal.expect("an end")).expect("a signal"))
    }
}

/// A terminal as programs have it, opened without waiting for anything.
fn slave(name: &str) -> File {
    let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags.bits()).open(name);
    opened.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn takes_output(slave: &File) -> bool {
    let mut ready = [PollFd::new(slave.as_fd(), PollFlags::POLLOUT)];
    poll(&mut ready, PollTimeout::ZERO).expect("a terminal") > 0
}

/// Makes a test of each function for every silence.
macro_rules! in_every_silence {
    ($($name:ident)*) => {$(
        mod $name {
            use super::super::Silence;

            #[test]
            fn behind_a_full_pipe() {
                super::$name(Silence::FullPipe);
            }
            #[test]
            fn behind_a_broken_pipe() {
                super::$name(Silence::BrokenPipe);
            }
            #[test]
            fn without_stderr() {
                super::$name(Silence::Closed);
            }
            #[test]
            fn after_ctrl_s() {
                super::$name(Silence::CtrlS);
            }
        }
    )*};
}
use in_every_silence;
