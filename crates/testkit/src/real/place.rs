//! A zklock without a terminal, as the leader of one, or as process 1 of a container.

use super::namespace::{has_namespaces, unshare};
use super::wait::{DEADLINE, wait_for, wait_until};
use super::{Output, Running, Terminal, Zklock, children_of, status_of};
use nix::unistd::Pid;
use std::time::Instant;
use zklock::process::sys;

/// Process 1 of the namespace sees its own processes in `/proc`. Of a container only that matters here.
const CONTAINER: &str = "--pid --fork --mount-proc";

/// Where zklock runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Without a terminal, as under cron.
    Plain,
    /// As the leader of a terminal.
    Terminal,
    /// As process 1.
    Pid1,
}

impl Place {
    /// Whether this machine has such a place. If it doesn't, the test counts as skipped.
    pub fn is_possible(self) -> bool {
        self != Self::Pid1 || has_namespaces(CONTAINER, "true")
    }

    /// All that this machine has.
    pub fn possible() -> impl Iterator<Item = Self> {
        [Self::Plain, Self::Terminal, Self::Pid1].into_iter().filter(|place| place.is_possible())
    }

    pub fn start(self, zklock: Zklock) -> Placed {
        match self {
            Self::Plain => Placed::Piped(zklock.spawn()),
            Self::Terminal => Placed::Tty(zklock.in_terminal(), Instant::now()),
            // `unshare` waits for it, and exits like it.
            Self::Pid1 => {
                let prelude = format!("exec {} \"$0\" \"$@\"", unshare(CONTAINER));
                Placed::Contained(zklock.prelude(&prelude).spawn())
            }
        }
    }

    /// Asserts that zklock died of this signal. Process 1 can't: it exits with a code.
    #[track_caller]
    pub fn assert_died(self, output: &Output, signal: i32) {
        let end = if self == Self::Pid1 { (Some(128 + signal), None) } else { (None, Some(signal)) };
        assert_eq!((output.code, output.signal), end, "{self:?}: {output}");
    }
}

/// A zklock in such a place.
pub enum Placed {
    Piped(Running),
    Tty(Terminal, Instant),
    Contained(Running),
}

impl Placed {
    /// zklock's own pid outside of the container.
    #[track_caller]
    pub fn pid(&self) -> Pid {
        match self {
            Self::Piped(running) => running.pid(),
            Self::Tty(terminal, _) => terminal.pid(),
            Self::Contained(running) => first_of(running),
        }
    }

    #[track_caller]
    pub fn signal(&self, signal: i32) {
        sys::send(self.pid(), signal).expect("a running zklock");
    }

    /// The command's stdout, or the screen.
    pub fn text(&self) -> String {
        match self {
            Self::Piped(running) | Self::Contained(running) => running.stdout().text(),
            Self::Tty(terminal, _) => terminal.text().replace('\r', ""),
        }
    }

    /// What zklock says on stderr, or the screen.
    pub fn said(&self) -> String {
        match self {
            Self::Piped(running) | Self::Contained(running) => running.stderr().text(),
            Self::Tty(..) => self.text(),
        }
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?}"), DEADLINE, || self.text().contains(text));
    }

    /// Waits until zklock ends. A screen shows stdout and stderr.
    #[track_caller]
    pub fn wait(self) -> Output {
        match self {
            Self::Piped(running) | Self::Contained(running) => running.wait(DEADLINE),
            Self::Tty(mut terminal, started) => {
                let status = terminal.wait(DEADLINE);
                let mut output = Output::new(status, started.elapsed());
                output.stdout = terminal.text().replace('\r', "");
                output.stderr.clone_from(&output.stdout);
                output
            }
        }
    }
}

/// The process outside of a namespace that is process 1 in it.
#[track_caller]
pub fn first_of(unshare: &Running) -> Pid {
    wait_for("process 1", DEADLINE, || {
        let (pid, _) = children_of(unshare.pid()).pop()?;
        status_of(pid, "NSpid")?.ends_with("\t1").then_some(pid)
    })
}
