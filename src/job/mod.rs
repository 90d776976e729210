//! The command under the lock: started, supervised, stopped and reaped by one thread.

mod become_command;
pub mod descendants;
mod effects;
mod orphaned;
mod prepared;
pub mod spawn;
pub mod terminal;
mod witness;

use std::collections::HashSet;
use std::io;
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use zklock_core::exit::Exit;
use zklock_core::run::{Foreground, LeaderChange, Stop, StoppedBy};
use zklock_core::time::BootTime;

pub use self::become_command::become_command;
use self::descendants::{Children, Left, Sweep};
pub use self::orphaned::is_orphaned;
pub use self::prepared::PreparedLaunch;
use self::spawn::SpawnError;
use self::terminal::Terminal;
use self::witness::Witness;
use crate::link::WorkerSide;
use crate::process::persist::persist;
use crate::process::proc_stat;
use crate::process::sys::{self, DeadMansSwitch};

/// The most scans for processes to signal: a job that forks all the time is never listed completely.
const SCANS: usize = 16;

/// The command, running in its own process group.
#[derive(Debug)]
pub struct Job {
    group: Pid,
    terminal: Terminal,
    monitor: Pid,
    /// The process group of the monitor.
    own_group: Pid,
    in_foreground: bool,
    /// Whether only the job had the terminal when it last stopped.
    stopped_alone: bool,
    status: Option<ExitStatus>,
    refused: bool,
    children: Children,
    sweep: Option<Sweep>,
    /// `None` if the kernel provides none, or the command has ended.
    switch: Option<DeadMansSwitch>,
    /// `None` without a terminal, too.
    witness: Option<Witness>,
}

impl Job {
    /// Starts the command with these variables added, in the terminal's foreground if it belongs there; not after
    /// `latest`.
    pub fn start(
        prepared: PreparedLaunch,
        variables: &[(String, String)],
        worker: &WorkerSide,
        latest: Option<BootTime>,
    ) -> Result<Self, SpawnError> {
        if descendants::is_ending(worker.monitor) {
            return Err(SpawnError::MonitorEnding);
        }
        let PreparedLaunch { launch, children, terminal } = prepared;
        let in_foreground = terminal.starts_in_foreground(worker.monitor, &launch.inherited.mask);
        let has_terminal = terminal.tty().is_some();
        let switch = DeadMansSwitch::new()
            .inspect_err(|error| log::debug!("can't make a dead man's switch: {error}"))
            .ok();
        let foreground = in_foreground.then_some(&terminal);
        let page = worker.page();
        let (group, witness) =
            spawn::spawn(launch, variables, foreground, has_terminal, latest, page, switch.as_ref())?;
        let job = Self {
            group,
            terminal,
            monitor: worker.monitor,
            own_group: worker.group,
            in_foreground,
            stopped_alone: false,
            status: None,
            refused: false,
            children,
            sweep: None,
            switch,
            witness,
        };
        if !has_terminal && is_orphaned(worker.monitor) {
            job.leave_session();
        }
        Ok(job)
    }

    /// Reaps the job's dead processes, except for the leader.
    fn reap_orphans(&self) {
        reap_all_but(self.group, &self.children);
    }

    /// A change of the leader, if there is one. It isn't reaped, so its pid and its group's id can't be reused yet. A
    /// stop and a continuation are reported once.
    ///
    /// # Errors
    /// If the leader can't be observed: zklock would never learn of its end.
    fn observe(&mut self) -> io::Result<Option<LeaderChange>> {
        let leader = rustix::process::Pid::from_raw(self.group.as_raw()).filter(|_| self.status.is_none());
        let Some(leader) = leader else { return Ok(None) };
        let change = |what| {
            let changed = || waitid(WaitId::Pid(leader), what | WaitIdOptions::NOHANG);
            persist(|| changed().map_err(|error| Errno::from_raw(error.raw_os_error())))
        };
        if let Some(end) = change(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)? {
            self.witness = None;
            return Ok(Some(LeaderChange::Died { by: end.terminating_signal() }));
        }
        // If the leader has died since, there is no child that could stop: ECHILD. Its death is seen at the next look.
        let change = |what| change(what).ok().flatten();
        if let Some(stop) = change(WaitIdOptions::STOPPED) {
            let stop = stop.stopping_signal().map(|signal| self.stop(signal));
            return Ok(stop.map(LeaderChange::Stopped));
        }
        Ok(change(WaitIdOptions::CONTINUED).map(|_| LeaderChange::Continued))
    }

    /// A stop of the whole group, if there is one, reported once.
    fn observe_group(&self) -> Option<Stop> {
        self.witness.as_ref()?.stopped_by().map(|signal| self.stop(signal))
    }

    fn stop(&self, signal: i32) -> Stop {
        Stop { signal, terminal: self.foreground(), orphaned: is_orphaned(self.monitor) }
    }

    /// The process group that has the terminal.
    fn foreground(&self) -> Foreground {
        self.terminal.foreground(self.group)
    }

    /// The job's process group; its id is the leader's pid.
    pub fn group(&self) -> Pid {
        self.group
    }

    /// Whether no process of the job is left except the leader, which waits to be reaped.
    fn none_left(&self) -> bool {
        let is_fine = |&child: &Pid| child == self.group;
        self.children.list().is_some_and(|children| children.iter().all(is_fine)) && sys::is_dead(self.group)
    }

    /// Kills the processes of the job that are left. Other zklocks among them get a little time to release their locks,
    /// but not past `latest`. Returns whether only the dead leader is left, which waits to be reaped.
    fn kill(&mut self, latest: BootTime, now: BootTime) -> bool {
        // The group is killed immediately: the leader isn't reaped, so the group's id can't have been reused.
        let _ = killpg(self.group, Signal::SIGKILL);
        let sweep = self.sweep.get_or_insert_with(|| Sweep::with_grace_until(Some(latest), now));
        sweep.round(&self.children, Some(self.group), &[], now)
    }

    /// When to kill again, if the job was killed and processes are left.
    fn next_kill(&self) -> Option<BootTime> {
        self.sweep.as_ref()?.next()
    }

    /// Processes that have been left for long after KILL, reported once.
    fn left_for_long(&mut self, now: BootTime) -> Option<Vec<Left>> {
        self.sweep.as_mut()?.left_for_long(now)
    }

    /// Whether a process is left that may never end.
    fn is_stuck(&self) -> bool {
        self.sweep.as_ref().is_some_and(Sweep::is_stuck)
    }

    /// Gives the job the terminal's foreground.
    fn give_terminal(&mut self) {
        self.in_foreground = true;
        self.terminal.give(self.group);
    }

    /// Gives the terminal back to the job if zklock has it, and continues the job.
    fn resume(&mut self) -> Result<()> {
        if self.in_foreground && self.foreground() == Foreground::Zklock {
            self.terminal.give(self.group);
        }
        self.signal_group(libc::SIGCONT)
    }

    /// Takes the terminal back from a stopped job before zklock stops.
    fn take_terminal(&mut self) {
        self.stopped_alone = self.terminal.take_back(self.group);
        self.in_foreground |= self.stopped_alone;
    }

    /// Whether the job had the terminal when it last stopped, so that its signal reached no other process: then the rest
    /// of the pipeline or script around zklock must be stopped with it.
    pub fn stopped_alone(&self) -> bool {
        self.stopped_alone
    }

    /// Sends this signal to the job's process group, and to the leader if it has joined another one.
    ///
    /// # Errors
    /// If the command can't be signalled, although it lives and belongs to this user.
    fn signal_group(&mut self, signal: i32) -> Result<()> {
        let mut sent = sys::send_to_group(self.group, signal);
        // Asked afterwards: a leader that leaves meanwhile rather gets the signal twice than never.
        if getpgid(Some(self.group)) != Ok(self.group) {
            sent = sys::send(self.group, signal);
        }
        self.note_refusal(signal, sent)
    }

    /// Sends this signal to the leader alone, whatever group it has joined.
    fn signal_leader(&mut self, signal: i32) -> Result<()> {
        let sent = sys::send(self.group, signal);
        self.note_refusal(signal, sent)
    }

    fn note_refusal(&mut self, signal: i32, sent: nix::Result<()>) -> Result<()> {
        log::trace!("signal {signal} to the command: {sent:?}");
        match sent {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(Errno::EPERM) => {
                if !mem::replace(&mut self.refused, true) {
                    log::warn!("the command has become another user, and zklock may not send it signals");
                }
                Ok(())
            }
            Err(error) => Err(io::Error::from(error)).context("can't send the command a signal"),
        }
    }

    /// Continues these stopped processes of the job's group, and the leader, whatever group it has joined.
    fn continue_stopped(&self, stopped: StoppedBy) {
        // Before Linux 5.17 the signal is unknown.
        let is_meant = |signal| signal == 0 || stopped.includes(signal);
        for pid in descendants::with_descendants(self.children.list().unwrap_or_default()) {
            let is_signalled = |group| pid == self.group || group == self.group.as_raw();
            let process = proc_stat::of(pid).filter(|process| is_signalled(process.group));
            if process.and_then(|process| process.stopped_by).is_some_and(is_meant) {
                let _ = kill(pid, Signal::SIGCONT);
            }
        }
    }

    /// Leaves the session, so that the kernel treats the job's group as orphaned, unless zklock or the job has the
    /// terminal.
    fn leave_session(&self) {
        if self.foreground() != Foreground::Other {
            return;
        }
        match orphaned::leave_session(self.group) {
            // Before, the kernel may have stopped a process of the job.
            Ok(()) => self.continue_stopped(StoppedBy::Terminal),
            Err(error) => log::debug!("can't leave the session: {error}"),
        }
    }

    /// Sends this signal to every process of the job, including those that left its group.
    fn signal_all(&mut self, signal: i32) -> Result<()> {
        self.signal_group(signal)?;
        // The leader has it. A process that loses its parent during a scan is in neither list; the next scan finds it.
        let mut seen = HashSet::from([self.group]);
        for _ in 0..SCANS {
            let mut new = descendants::with_descendants(self.children.list().unwrap_or_default());
            new.retain(|&pid| seen.insert(pid));
            if new.is_empty() {
                break;
            }
            for pid in new.into_iter().filter(|&pid| getpgid(Some(pid)) != Ok(self.group)) {
                let _ = sys::send(pid, signal);
            }
        }
        Ok(())
    }

    /// Reaps the leader, and takes the terminal back. Nothing is signalled after this.
    fn reap(&mut self) -> io::Result<()> {
        // Background processes of the command live on.
        if let Some(switch) = self.switch.take() {
            switch.disarm();
        }
        let had_terminal = self.terminal.take_back(self.group);
        let status = sys::reap(self.group)?;
        self.status = Some(status);
        // A Ctrl-C while the job was in the foreground reached only the job. Without zklock, it would also have reached
        // the surrounding script or pipeline.
        if had_terminal
            && let Some(signal @ (libc::SIGINT | libc::SIGQUIT)) = status.signal()
            && let Ok(signal) = Signal::try_from(signal)
        {
            let _ = killpg(self.own_group, signal);
        }
        Ok(())
    }

    /// Ends every process of the command, unless it is reaped: what it has left behind then isn't zklock's to end. For a
    /// zklock that can't go on.
    pub fn end(&self) {
        if self.status.is_none() {
            descendants::end_all(&self.children, &[]);
        }
    }

    /// How the command ended, once it is reaped.
    pub fn exit(&self) -> Option<Exit> {
        let status = self.status?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(u8::try_from(code).unwrap_or(zklock_core::exit::FAILURE)),
            (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
        })
    }
}

/// Reaps dead children except for this one: orphaned descendants, and as PID 1 all orphans.
pub fn reap_all_but(spared: Pid, children: &Children) {
    while let Some(dead) = sys::any_dead_child().map(Pid::from_raw) {
        if dead == spared {
            // The spared child hides the dead ones behind it, so the children are checked one by one.
            let others = children.list().unwrap_or_default().into_iter().filter(|&child| child != spared);
            others.for_each(|child| {
                let _ = sys::reap_if_dead(child);
            });
            break;
        }
        if sys::reap(dead).is_err() {
            break;
        }
    }
}
