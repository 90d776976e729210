//! The command under the lock: started, supervised, stopped and reaped by one thread.

pub mod descendants;
pub mod signals;
pub mod spawn;
pub mod supervisor;
pub mod terminal;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp};

use self::spawn::{Launch, SpawnError};
use self::supervisor::Action;
use self::terminal::Terminal;
use crate::exit::Exit;
use crate::guard::Gate;
use crate::sys::{self, ChildState};

/// The command, running in a process group of its own.
#[derive(Debug)]
pub struct Job {
    group: Pid,
    terminal: Terminal,
    /// Sent instead of TERM by a forced stop.
    stop_signal: i32,
    in_foreground: bool,
    status: Option<ExitStatus>,
    /// Children of this process that were there before the job: a shell that becomes zklock by `exec` has some.
    strangers: Vec<Pid>,
    refused: bool,
}

impl Job {
    /// Starts the command, in the terminal's foreground if that is where it belongs.
    pub fn start(launch: &Launch, gate: &Gate<'_>, stop_signal: Signal) -> Result<Self, SpawnError> {
        // Who loses its parent becomes our child, so that a forced stop finds every process of the job.
        if let Err(error) = prctl::set_child_subreaper(true) {
            log::debug!("can't become a subreaper: {error}");
        }
        let strangers = launch.strangers.clone();
        let terminal = Terminal::open();
        let in_foreground = terminal.starts_in_foreground();
        let group = spawn::spawn(launch, in_foreground.then_some(&terminal), gate)?;
        let stop_signal = stop_signal as i32;
        Ok(Self { group, terminal, stop_signal, in_foreground, status: None, strangers, refused: false })
    }

    /// What is new about the leader.
    pub fn observe(&self) -> Option<ChildState> {
        sys::observe(self.group.as_raw())
    }

    /// Who has the terminal.
    pub fn foreground(&self) -> supervisor::Foreground {
        self.terminal.foreground(self.group)
    }

    /// The job's process group; its leader's pid is the same.
    pub fn group(&self) -> Pid {
        self.group
    }

    /// Whether no process of the job is left, but for the leader that waits to be reaped. Seen twice: one look
    /// can miss a process whose parent forks it and dies meanwhile.
    pub fn none_left(&self, guard: Pid) -> bool {
        let seen_empty = || self.processes(guard).is_some_and(|found| found.is_empty());
        seen_empty() && seen_empty()
    }

    fn processes(&self, guard: Pid) -> Option<Vec<Pid>> {
        let spared: Vec<Pid> = self.strangers.iter().copied().chain([guard]).collect();
        descendants::of_this_process(&spared)
    }

    /// Carries out one action of the supervisor.
    pub fn carry_out(&mut self, action: Action, guard: Pid) -> io::Result<()> {
        log::debug!("job: {action:?}");
        match action {
            Action::SignalGroup(signal) => self.signal_group(signal),
            Action::SignalAll(signal) => self.signal_all(signal, guard),
            Action::GiveTerminal => {
                self.in_foreground = true;
                self.terminal.give(self.group);
            }
            Action::Suspend(signal) => {
                // Had the job the terminal, then its signal reached nobody else: the rest of the pipeline or
                // script that we are a part of stops with us.
                let alone = self.terminal.take_back(self.group);
                self.in_foreground |= alone;
                sys::stop_by(signal, alone || signal != nix::libc::SIGTSTP);
            }
            Action::Resume => {
                if self.in_foreground && self.foreground() == supervisor::Foreground::Ours {
                    self.terminal.give(self.group);
                }
                self.signal_group(nix::libc::SIGCONT);
            }
            Action::Reap => self.reap()?,
        }
        Ok(())
    }

    fn signal_group(&mut self, signal: i32) {
        match Signal::try_from(signal).map(|signal| killpg(self.group, signal)) {
            Ok(Err(Errno::EPERM)) if !self.refused => {
                self.refused = true;
                log::warn!("the command has become another user, and zklock may not send it signals");
            }
            outcome => log::trace!("signal {signal} to the group: {outcome:?}"),
        }
    }

    fn signal_all(&mut self, signal: i32, guard: Pid) {
        let signal = if signal == nix::libc::SIGTERM { self.stop_signal } else { signal };
        self.signal_group(signal);
        let Ok(signal) = Signal::try_from(signal) else {
            return;
        };
        for pid in self.processes(guard).unwrap_or_default() {
            if nix::unistd::getpgid(Some(pid)) != Ok(self.group) {
                let _ = kill(pid, signal);
            }
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        let had_terminal = self.terminal.take_back(self.group);
        let status = sys::reap(self.group)?;
        self.status = Some(status);
        // Ctrl-C in the job's foreground reached the job alone. A script or pipeline around us would have got
        // it too.
        if had_terminal
            && let Some(signal @ (nix::libc::SIGINT | nix::libc::SIGQUIT)) = status.signal()
            && let Ok(signal) = Signal::try_from(signal)
        {
            let _ = killpg(getpgrp(), signal);
        }
        Ok(())
    }

    /// How the command ended, once it is reaped.
    pub fn exit(&self) -> Option<Exit> {
        let status = self.status?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(u8::try_from(code).unwrap_or(crate::exit::FAILURE)),
            (None, signal) => Exit::Signal(signal.unwrap_or(nix::libc::SIGKILL)),
        })
    }

    /// Pause between two looks for what KILL has left.
    pub const SWEEP: Duration = Duration::from_millis(10);
}

/// Reaps dead children that are none of the `spared`: whoever lost its parent below us, and as PID 1 everybody's.
pub fn reap_strangers(spared: &[Pid]) {
    while let Some(dead) = sys::any_dead_child().map(Pid::from_raw).filter(|dead| !spared.contains(dead)) {
        if sys::reap(dead).is_err() {
            break;
        }
    }
}
