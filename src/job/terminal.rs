//! The terminal's foreground, which is given to the job and taken back.
//!
//! The job has its own process group, so that Ctrl-C reaches it once and not through zklock. A group outside the
//! foreground is stopped when it reads from the terminal, so the foreground has to move.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, tcgetpgrp, tcsetpgrp};

use crate::core::run::Foreground;

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

    /// Whether the job should start in the foreground: yes if the user started only zklock, that is, it leads the
    /// foreground group, and input and output are the terminal. In a pipeline or a script, the other processes of the
    /// group need the foreground as well, and the job gets it once it asks.
    pub fn starts_in_foreground(&self, monitor: Pid) -> bool {
        self.own_group == monitor
            && io::stdin().is_terminal()
            && io::stdout().is_terminal()
            && self.foreground(Pid::from_raw(0)) == Foreground::Zklock
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

    /// The terminal itself, if there is one.
    pub fn tty(&self) -> Option<File> {
        OpenOptions::new().read(true).write(true).open("/dev/tty").ok()
    }

    fn set(&self, group: Pid) {
        if let Some(tty) = self.tty()
            && let Err(error) = tcsetpgrp(tty.as_fd(), group)
        {
            log::debug!("can't change the terminal's foreground: {error}");
        }
    }
}
