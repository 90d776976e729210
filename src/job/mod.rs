//! The command under the lock: started, supervised, stopped and reaped by one thread.

mod become_command;
pub mod descendants;
mod effects;
mod prepared;
pub mod spawn;

use std::collections::HashSet;
use std::io;
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, setsid};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use zklock_core::exit::Exit;
use zklock_core::run::{LeaderChange, Reach};
use zklock_core::signal::SIGTERM;
use zklock_core::time::BootTime;

pub use self::become_command::become_command;
use self::descendants::{Children, Left, Sweep};
pub use self::prepared::PreparedLaunch;
use self::spawn::SpawnError;
use crate::link::WorkerSide;
use crate::process::persist::persist;
use crate::process::proc_file;
use crate::process::proc_stat;
use crate::process::sys::{self, DeadMansSwitch};

/// The most scans for processes to signal: a job that forks all the time is never listed completely.
const SCANS: usize = 16;

/// The command that runs, and all that it has started.
#[derive(Debug)]
pub struct Job {
    /// The command's first process.
    leader: Pid,
    /// Its process group: its own, or at a terminal zklock's.
    group: Pid,
    status: Option<ExitStatus>,
    refused: bool,
    children: Children,
    sweep: Option<Sweep>,
    /// `None` if the group isn't its own, the kernel provides none, or the command has ended.
    switch: Option<DeadMansSwitch>,
}

impl Job {
    /// Starts the command with these variables added; not after `latest`. The worker must have joined zklock's group.
    pub fn start(
        prepared: PreparedLaunch,
        variables: &[(String, String)],
        worker: &WorkerSide,
        latest: Option<BootTime>,
    ) -> Result<Self, SpawnError> {
        let PreparedLaunch { launch, children } = prepared;
        let has_terminal = worker.inherited.has_terminal;
        let switch = (!has_terminal).then(DeadMansSwitch::new).transpose();
        let switch =
            switch.inspect_err(|error| log::debug!("can't make a dead man's switch: {error}")).ok().flatten();
        let started = spawn::spawn(launch, variables, latest, switch.as_ref());
        // The command's group is orphaned exactly if it would be without zklock, once its parent isn't of its session. A read
        // from the terminal before that stops the command.
        if has_terminal && let Err(error) = setsid() {
            log::debug!("can't leave the session: {error}");
        }
        let leader = started?;
        let group = if has_terminal { worker.group } else { leader };
        Ok(Self { leader, group, status: None, refused: false, children, sweep: None, switch })
    }

    /// Whether the group is zklock's, too.
    fn shares_group(&self) -> bool {
        self.group != self.leader
    }

    /// Reaps the job's dead processes, except for the leader.
    fn reap_orphans(&self) {
        reap_all_but(self.leader, &self.children);
    }

    /// A change of the leader, if there is one. It isn't reaped, so its pid and its group's id can't be reused yet. A
    /// stop and a continuation are reported once.
    ///
    /// # Errors
    /// If the leader can't be observed: zklock would never learn of its end.
    fn observe(&mut self) -> io::Result<Option<LeaderChange>> {
        let leader = rustix::process::Pid::from_raw(self.leader.as_raw()).filter(|_| self.status.is_none());
        let Some(leader) = leader else { return Ok(None) };
        let change = |what| {
            let changed = || waitid(WaitId::Pid(leader), what | WaitIdOptions::NOHANG);
            persist(|| changed().map_err(|error| Errno::from_raw(error.raw_os_error())))
        };
        if let Some(end) = change(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)? {
            return Ok(Some(LeaderChange::Died { by: end.terminating_signal() }));
        }
        // If the leader has died since, there is no child that could stop: ECHILD. Its death is seen at the next look.
        let change = |what| change(what).ok().flatten();
        if let Some(stop) = change(WaitIdOptions::STOPPED) {
            return Ok(stop.stopping_signal().map(LeaderChange::Stopped));
        }
        Ok(change(WaitIdOptions::CONTINUED).map(|_| LeaderChange::Continued))
    }

    /// Whether nobody of these is left except the leader, which waits to be reaped.
    fn none_left(&self, reach: Reach, leader: Option<LeaderChange>) -> bool {
        let is_fine = |&child: &Pid| child == self.leader;
        match (reach, leader) {
            (Reach::Group, Some(LeaderChange::Died { by: Some(signal) })) => !self.rest_ends_by(signal),
            (Reach::All, Some(LeaderChange::Died { .. })) => {
                self.children.list().is_some_and(|children| children.iter().all(is_fine))
            }
            _ => false,
        }
    }

    /// Whether a process of the group besides the leader may be ending by the signal that has ended the leader. Jobs that a
    /// shell starts with `&` ignore INT and QUIT, and what is to outlive the terminal ignores HUP.
    fn rest_ends_by(&self, signal: i32) -> bool {
        let ignores = |pid| {
            let ignored = proc_file::signals(pid, "SigIgn");
            signal != SIGTERM && ignored.is_some_and(|set| proc_file::contains(set, signal))
        };
        let mut any = false;
        self.each_other_of_group(|pid| any |= !ignores(pid));
        any
    }

    /// Kills the processes of the job that are left. Other zklocks among them get a little time to release their locks,
    /// but not past `latest`. Returns whether only the dead leader is left, which waits to be reaped.
    fn kill(&mut self, latest: BootTime, now: BootTime) -> bool {
        // Its own group is killed immediately: the leader isn't reaped, so the group's id can't have been reused.
        if !self.shares_group() {
            let _ = killpg(self.group, Signal::SIGKILL);
        }
        let sweep = self.sweep.get_or_insert_with(|| Sweep::with_grace_until(Some(latest), now));
        sweep.round(&self.children, Some(self.leader), &[], now)
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

    /// Sends this signal to the job's processes in its group, and to the leader whatever group it has joined. An inner
    /// zklock forwards it to its own command.
    ///
    /// # Errors
    /// If the command can't be signalled, although it lives and belongs to this user.
    fn signal_group(&mut self, signal: i32) -> Result<()> {
        if self.shares_group() {
            self.signal_leader(signal)?;
            self.each_other_of_group(|pid| {
                let _ = sys::send(pid, signal);
            });
            return Ok(());
        }
        // The leader of a session can't leave its group.
        let sent = sys::send_to_group(self.group, signal);
        self.note_refusal(signal, sent)
    }

    /// Sends this signal to every process of the job, including those that left its group.
    fn signal_all(&mut self, signal: i32) -> Result<()> {
        self.signal_group(signal)?;
        self.each_other(&|_| true, |pid, group| {
            if group != self.group {
                let _ = sys::send(pid, signal);
            }
        });
        Ok(())
    }

    /// Calls `act` for each process in the job's group but the leader. What is below an inner zklock's worker is its own.
    fn each_other_of_group(&self, mut act: impl FnMut(Pid)) {
        self.each_other(&|pid| !descendants::is_worker(pid), |pid, group| {
            if group == self.group {
                act(pid);
            }
        });
    }

    /// Calls `act` for each process of the job but the leader, with its group, without what is below others than these.
    fn each_other(&self, goes_below: &dyn Fn(Pid) -> bool, mut act: impl FnMut(Pid, Pid)) {
        // A process that loses its parent during a scan is in neither list; the next scan finds it. So one scan that finds
        // nothing new proves nothing: the leader's children lose it while it ends.
        let mut seen = HashSet::from([self.leader]);
        let mut in_vain = 0;
        for _ in 0..SCANS {
            let mut new = descendants::with_descendants(self.children.list().unwrap_or_default(), goes_below);
            new.retain(|&pid| seen.insert(pid));
            in_vain = if new.is_empty() { in_vain + 1 } else { 0 };
            if in_vain == 2 {
                break;
            }
            for pid in new {
                if let Ok(group) = getpgid(Some(pid)) {
                    act(pid, group);
                }
            }
        }
    }

    /// Sends this signal to the leader alone, whatever group it has joined.
    fn signal_leader(&mut self, signal: i32) -> Result<()> {
        let sent = sys::send(self.leader, signal);
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

    /// Continues the stopped processes of the job's group, and the leader, whatever group it has joined.
    fn continue_stopped(&self) {
        let goes_below = |pid| !descendants::is_worker(pid);
        for pid in descendants::with_descendants(self.children.list().unwrap_or_default(), &goes_below) {
            let is_meant = |group| pid == self.leader || group == self.group.as_raw();
            if proc_stat::of(pid).is_some_and(|process| process.is_stopped && is_meant(process.group)) {
                let _ = kill(pid, Signal::SIGCONT);
            }
        }
    }

    /// Continues the stopped processes as well, unless the leader has been continued since it was seen to stop: then a
    /// shell has continued all, and may have stopped them again.
    fn resume(&self) {
        let Some(leader) = rustix::process::Pid::from_raw(self.leader.as_raw()) else { return };
        let any = WaitIdOptions::CONTINUED | WaitIdOptions::STOPPED | WaitIdOptions::EXITED;
        let change = waitid(WaitId::Pid(leader), any | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
        if matches!(change, Ok(None)) {
            self.continue_stopped();
        }
    }

    /// Reaps the leader. Nothing is signalled after this.
    fn reap(&mut self) -> io::Result<()> {
        // Background processes of the command live on.
        if let Some(switch) = self.switch.take() {
            switch.disarm();
        }
        self.status = Some(sys::reap(self.leader)?);
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
