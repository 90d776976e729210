//! How the faults of one zklock's processes are injected into real ones.

use super::inspect::{found_by_name, limit_open_files};
use crate::fault::Fault;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

impl Fault {
    /// Sends the signals of this fault to the processes of a zklock that waits for this lock path or holds it. Returns
    /// the processes that were hit: none if they don't exist yet, or no longer.
    pub fn signal(self, monitor: Pid, worker: Option<Pid>, path: &str) -> Vec<Pid> {
        if self == Self::FailWorker {
            return worker.filter(|&worker| limit_open_files(worker, 1).is_ok()).into_iter().collect();
        }
        let group = Pid::from_raw(-monitor.as_raw());
        let (signal, targets) = match self {
            Self::KillMonitor => (Signal::SIGKILL, vec![Some(monitor)]),
            Self::KillWorker => (Signal::SIGKILL, vec![worker]),
            Self::KillBoth => (Signal::SIGKILL, vec![worker.and(Some(monitor)), worker]),
            Self::KillFound => {
                (Signal::SIGKILL, found_by_name(monitor, path).into_iter().map(Some).collect())
            }
            Self::KillCommand => {
                let first = worker.and_then(first_child);
                (Signal::SIGKILL, vec![first, first.and(Some(monitor))])
            }
            Self::StopMonitor => (Signal::SIGSTOP, vec![Some(monitor)]),
            Self::StopWorker => (Signal::SIGSTOP, vec![worker]),
            // As the terminal does it; without one, a command that runs is never stopped.
            Self::Suspend => (Signal::SIGTSTP, vec![Some(group)]),
            Self::Terminate => (Signal::SIGTERM, vec![Some(monitor)]),
            _ => panic!("{self} has no signal"),
        };
        targets.into_iter().flatten().filter(|&pid| kill(pid, signal).is_ok()).collect()
    }

    /// Whether it kills the process that was started, which the command may outlive for a moment.
    pub fn kills_the_monitor(self) -> bool {
        matches!(
            self,
            Self::KillMonitor | Self::KillHost | Self::KillBoth | Self::KillFound | Self::KillCommand
        )
    }

    /// Whether it ends a process of zklock.
    pub fn kills(self) -> bool {
        matches!(self, Self::KillWorker | Self::FailWorker) || self.kills_the_monitor()
    }

    /// Whether a process is stopped until it gets CONT.
    pub fn stops_a_process(self) -> bool {
        matches!(self, Self::StopMonitor | Self::StopWorker | Self::Suspend)
    }

    /// Whether zklock's guarantees still hold when this fault follows the others. `stopped`: the last one is a stop
    /// that still lasts.
    ///
    /// Not covered: a worker that is killed or frozen while the monitor is stopped.
    pub fn may_follow(self, before: &[Self], stopped: bool) -> bool {
        if before.iter().any(|fault| fault.kills()) || before.contains(&self) {
            return false;
        }
        match before.last().filter(|_| stopped) {
            None => true,
            Some(Self::StopWorker) => {
                matches!(self, Self::KillWorker | Self::KillHost | Self::KillBoth | Self::Terminate)
            }
            // The monitor is stopped.
            Some(_) => self.kills_the_monitor() || matches!(self, Self::Terminate | Self::Revoke),
        }
    }
}

/// The first child of a process, such as the worker of a zklock.
pub fn first_child(of: Pid) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok().map(Pid::from_raw)
}
