//! zklock's stderr isn't read: its decisions don't wait for that. [`table`] has what happens meanwhile.

mod live_line;
mod resumed_reading;
mod table;

use crate::support::{Case, DEADLINE, Pipe, Place, Placed, Zklock, wait_until};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

const CTRL_S: &[u8] = b"\x13";
const CTRL_Q: &[u8] = b"\x11";

/// The verbosity: few messages, or all messages of zklock and its client library.
const VERBOSITIES: [&[&str]; 2] = [&[], &["-vvvv"]];

/// Why stderr isn't read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum UnreadStderr {
    /// stderr is a full pipe.
    FullPipe,
    /// stderr is a pipe whose other end is closed.
    BrokenPipe,
    /// stderr is closed.
    Closed,
    /// Ctrl-S was typed on the terminal.
    CtrlS,
    /// The disk is full.
    FullDisk,
    /// stderr is a file that may not grow any more (`ulimit -f`): the kernel sends XFSZ to whoever writes to it.
    FileLimit,
}

/// A zklock whose stderr isn't read.
struct UnreadZklock {
    process: Placed,
    pipe: Option<Pipe>,
}

impl UnreadStderr {
    /// Starts a zklock for the case's lock, and returns when it is queued.
    #[track_caller]
    fn start(self, case: &Case, options: &[&str], script: &str) -> UnreadZklock {
        let before = case.contenders().len();
        let unheard = self.begin(case, case.lock(options, ["bash", "-c", script]));
        case.wait_for_contenders(before + 1);
        unheard
    }

    /// Starts a zklock whose stderr isn't read from the beginning.
    #[track_caller]
    fn begin(self, case: &Case, zklock: Zklock) -> UnreadZklock {
        let piped = |prelude: &str, zklock: Zklock| Place::Plain.start(zklock.prelude(prelude));
        match self {
            Self::CtrlS => UnreadZklock { process: after_ctrl_s(case, zklock), pipe: None },
            Self::Closed => UnreadZklock { process: piped("exec 2>&-", zklock), pipe: None },
            Self::FullDisk => UnreadZklock { process: piped("exec 2>/dev/full", zklock), pipe: None },
            Self::FileLimit => {
                let file = case.dir().join("stderr");
                File::create(&file).and_then(|file| file.set_len(8 << 20)).expect("a long file");
                let limited = format!("exec 2>>'{}'; ulimit -f 1024", file.display());
                UnreadZklock { process: piped(&limited, zklock), pipe: None }
            }
            Self::BrokenPipe => UnreadZklock { process: piped("exec 2> >(:); wait $!", zklock), pipe: None },
            Self::FullPipe => {
                let pipe = Pipe::new(case.dir());
                pipe.fill();
                let process = piped(&format!("exec 2>'{}'", pipe.path().display()), zklock);
                UnreadZklock { process, pipe: Some(pipe) }
            }
        }
    }
}

/// Starts a zklock on a terminal whose output is stopped before zklock starts.
#[track_caller]
fn after_ctrl_s(case: &Case, zklock: Zklock) -> Placed {
    let [tty, go] = ["tty", "go"].map(|name| case.dir().join(name));
    fs::remove_file(&tty).ok();
    fs::remove_file(&go).ok();
    let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
    let prelude = format!("tty >'{0}.new'; mv '{0}.new' '{0}'; {wait}", tty.display());
    let placed = Place::Terminal.start(zklock.prelude(&prelude).env("TERM", "xterm"));
    let Placed::Tty(terminal, _) = &placed else { unreachable!() };
    wait_until("the terminal's name", DEADLINE, || tty.exists());
    terminal.send(CTRL_S);
    let slave = slave(fs::read_to_string(tty).expect("a terminal").trim());
    wait_until("the output to stop", DEADLINE, || !accepts_output(&slave));
    fs::write(go, "").expect("a file");
    placed
}

impl UnreadZklock {
    fn signal(&self, signal: Signal) {
        self.process.signal(signal as i32);
    }

    /// The exit code, or the signal that killed it.
    #[track_caller]
    fn end(self, within: Duration) -> Result<i32, Signal> {
        let began = Instant::now();
        let output = self.process.wait();
        assert!(began.elapsed() < within, "{output}");
        output.code.ok_or_else(|| Signal::try_from(output.signal.expect("an end")).expect("a signal"))
    }
}

/// The terminal's slave side, opened without blocking.
fn slave(name: &str) -> File {
    let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags.bits()).open(name);
    opened.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn accepts_output(slave: &File) -> bool {
    let mut ready = [PollFd::new(slave.as_fd(), PollFlags::POLLOUT)];
    poll(&mut ready, PollTimeout::ZERO).expect("a terminal") > 0
}
