//! The terminal's foreground, which is given to the job and taken back.
//!
//! The job has its own process group, so that Ctrl-C reaches it once and not through zklock. A group outside the
//! foreground is stopped when it reads from the terminal, so the foreground has to move.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, tcgetpgrp, tcsetpgrp};
use zklock_core::run::Foreground;

use crate::process::sys;

/// The controlling terminal, if there is one.
///
/// It is opened anew each time: while a process has it open, its other end (`ssh`, `script`) doesn't read its end, and a
/// zklock in the background may wait for hours.
#[derive(Debug)]
pub struct Terminal {
    /// The monitor's group. The worker has its own group, which is never in the foreground.
    own_group: Pid,
}

impl Terminal {
    /// The controlling terminal of a zklock whose monitor is in this process group, for use by this thread.
    pub fn new(own_group: Pid) -> Self {
        // Setting the foreground from the background raises SIGTTOU unless it is blocked.
        let _ = SigSet::from(Signal::SIGTTOU).thread_block();
        Self { own_group }
    }

    /// Whether the job should start in the foreground, if zklock has it: yes if the user started only zklock, that is, it
    /// leads the foreground group, and input and output are the terminal; and if the job can't ask for the foreground,
    /// because the kernel doesn't stop it. In a pipeline or a script, the other processes of the group need the
    /// foreground as well, and the job gets it once it asks.
    pub fn starts_in_foreground(&self, monitor: Pid, mask: &SigSet) -> bool {
        let is_alone =
            || self.own_group == monitor && io::stdin().is_terminal() && io::stdout().is_terminal();
        let can_ask = |signal: Signal| !mask.contains(signal) && !sys::is_ignored(signal as i32);
        let can_ask = [Signal::SIGTTIN, Signal::SIGTTOU].into_iter().all(can_ask);
        (!can_ask || is_alone()) && self.foreground(Pid::from_raw(0)) == Foreground::Zklock
    }

    /// The process group that has the foreground now.
    pub fn foreground(&self, job: Pid) -> Foreground {
        match self.tty().map(tcgetpgrp) {
            Some(Ok(group)) if group == job => Foreground::Job,
            Some(Ok(group)) if group == self.own_group => Foreground::Zklock,
            _ => Foreground::Other,
        }
    }

    /// Gives the job the foreground.
    pub fn give(&self, job: Pid) {
        self.set(job);
    }

    /// Takes the foreground back from the job. Returns whether the job had it.
    pub fn take_back(&self, job: Pid) -> bool {
        let had = self.foreground(job) == Foreground::Job;
        if had {
            self.set(self.own_group);
        }
        had
    }

    /// The terminal itself, if there is one. Where `/dev` isn't populated, a standard descriptor may be the controlling
    /// terminal: the kernel names the foreground of no other.
    pub fn tty(&self) -> Option<OwnedFd> {
        if let Ok(tty) = OpenOptions::new().read(true).write(true).open("/dev/tty") {
            return Some(tty.into());
        }
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let standard: [BorrowedFd<'_>; 3] = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        standard.into_iter().find(|tty| tcgetpgrp(tty).is_ok())?.try_clone_to_owned().ok()
    }

    fn set(&self, group: Pid) {
        if let Some(tty) = self.tty()
            && let Err(error) = tcsetpgrp(tty.as_fd(), group)
        {
            log::debug!("can't change the terminal's foreground: {error}");
        }
    }
}
