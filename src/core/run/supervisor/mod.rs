//! Decides what to do about the job when something happens: state and event in, effects out.
//!
//! The order is always the same: stop the job, see that it is gone, reap it, and only then release the lock.

use std::time::Duration;

use super::{Effect, Foreground, LeaderChange};
use crate::core::planted::{Mistake, planted};
use crate::core::signal::{SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};
use crate::core::time::BootTime;

/// An event that concerns the job, while the job exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobInput {
    /// Another process or the terminal sent zklock this signal.
    Signalled(i32),
    /// The job's leader was stopped, or is dead and not reaped.
    Leader(LeaderChange),
    /// zklock was to stop with the job, but the kernel didn't stop it, because no process could continue it.
    NotStopped,
    /// No process of the job is left besides the leader.
    NoneLeft,
    /// The lock can't be trusted any more: the job must be gone, with KILL at `kill_at` at the latest.
    MustStop {
        /// How long TERM may take.
        grace: Duration,
        /// When KILL is sent in any case.
        kill_at: BootTime,
    },
    /// Time has passed.
    Tick,
}

/// The state of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobState {
    /// `suspended`: zklock has stopped with the job, by this signal. `hung_up`: the job was sent HUP because it can't
    /// get a terminal.
    Running {
        suspended: Option<i32>,
        hung_up: bool,
    },
    Stopping {
        kill_at: BootTime,
        killed: bool,
        leader_dead: bool,
        end: JobEnd,
    },
    Over(JobEnd),
}

/// What ended the job. Other processes of it may have been killed in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobEnd {
    /// Its leader ended by itself, or another process killed it: its own exit stands.
    ByItself,
    /// zklock stopped it, because the lock can't be trusted any more.
    Stopped,
}

/// Decides about one job.
#[derive(Debug)]
pub(super) struct Supervisor {
    state: JobState,
    /// A TERM was forwarded to the job.
    terminated: bool,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self { state: JobState::Running { suspended: None, hung_up: false }, terminated: false }
    }
}

impl Supervisor {
    /// The effects of an event that was noticed `now`.
    pub(super) fn on(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        match self.state {
            JobState::Running { suspended, hung_up } => self.running(input, suspended, hung_up, now),
            JobState::Stopping { kill_at, killed, leader_dead, end } => {
                self.stopping(input, kill_at, killed, leader_dead, end, now)
            }
            JobState::Over(_) => vec![],
        }
    }

    fn running(
        &mut self,
        input: JobInput,
        suspended: Option<i32>,
        hung_up: bool,
        now: BootTime,
    ) -> Vec<Effect> {
        match input {
            // The job wants a terminal that it can't get. As the kernel does for a stopped group, send HUP and continue
            // it. This happens only once: a job that ignores HUP would stop again immediately, and stays stopped.
            JobInput::NotStopped if matches!(suspended, Some(SIGTTIN | SIGTTOU)) => {
                if hung_up {
                    return vec![];
                }
                self.state = JobState::Running { suspended: None, hung_up: true };
                vec![Effect::SignalGroup(SIGHUP), Effect::Resume]
            }
            JobInput::Signalled(SIGCONT) | JobInput::NotStopped if suspended.is_some() => {
                self.state = JobState::Running { suspended: None, hung_up };
                vec![Effect::Resume]
            }
            JobInput::Signalled(signal) => {
                self.terminated |= signal == SIGTERM;
                vec![Effect::SignalGroup(signal)]
            }
            JobInput::Leader(LeaderChange::Stopped {
                signal: SIGTTIN | SIGTTOU,
                terminal: Foreground::Zklock,
            }) => {
                vec![Effect::GiveTerminal, Effect::SignalGroup(SIGCONT)]
            }
            JobInput::Leader(LeaderChange::Stopped { signal, terminal })
                if signal != SIGSTOP || terminal == Foreground::Job =>
            {
                let signal = if signal == SIGSTOP { SIGTSTP } else { signal };
                self.state = JobState::Running { suspended: Some(signal), hung_up };
                vec![Effect::TakeTerminal, Effect::StopWithCommand(signal)]
            }
            // No command ends itself like that, nor can it end its children then. Someone who kills it may have killed
            // the monitor too (`pkill -9 -f job.sh` finds both), so nothing of it may be left beside the next holder.
            JobInput::Leader(LeaderChange::Died { by: Some(SIGKILL) })
                if !planted(Mistake::KilledIsEnded) =>
            {
                self.kill(now, true, JobEnd::ByItself)
            }
            // A TERM to the command is one to its group. It may have been sent to the monitor too, whose message would
            // come too late.
            JobInput::Leader(LeaderChange::Died { by: Some(SIGTERM) }) if !self.terminated => {
                self.state = JobState::Over(JobEnd::ByItself);
                vec![Effect::SignalGroup(SIGTERM), Effect::Reap]
            }
            JobInput::Leader(LeaderChange::Died { .. }) => {
                self.state = JobState::Over(JobEnd::ByItself);
                vec![Effect::Reap]
            }
            JobInput::MustStop { grace, kill_at } => {
                let kill_at = kill_at.min(now + grace);
                if now >= kill_at {
                    // Too late for TERM: a job that was stopped must not run for another moment.
                    return self.kill(kill_at, false, JobEnd::Stopped);
                }
                self.state =
                    JobState::Stopping { kill_at, killed: false, leader_dead: false, end: JobEnd::Stopped };
                vec![Effect::SignalAll(SIGTERM), Effect::SignalAll(SIGCONT)]
            }
            // A plain SIGSTOP from another process stops only the job, unless the job has the terminal: then its user
            // would be left without a shell.
            JobInput::Leader(LeaderChange::Stopped { .. })
            | JobInput::NotStopped
            | JobInput::NoneLeft
            | JobInput::Tick => {
                vec![]
            }
        }
    }

    fn stopping(
        &mut self,
        input: JobInput,
        kill_at: BootTime,
        killed: bool,
        leader_dead: bool,
        end: JobEnd,
        now: BootTime,
    ) -> Vec<Effect> {
        match input {
            JobInput::Leader(LeaderChange::Died { .. }) if planted(Mistake::LeaderIsAll) => {
                self.state = JobState::Over(end);
                vec![Effect::Reap]
            }
            JobInput::Leader(LeaderChange::Died { .. }) => {
                self.state = JobState::Stopping { kill_at, killed, leader_dead: true, end };
                vec![]
            }
            JobInput::NoneLeft if leader_dead => {
                self.state = JobState::Over(end);
                vec![Effect::Reap]
            }
            // A second TERM or INT skips the rest of the grace.
            JobInput::Signalled(SIGTERM | SIGINT) if !killed => self.kill(kill_at, leader_dead, end),
            JobInput::Tick if planted(Mistake::NoKill) => vec![],
            JobInput::Tick if !killed && now >= kill_at => self.kill(kill_at, leader_dead, end),
            JobInput::MustStop { grace, kill_at: sooner } => {
                let kill_at = kill_at.min(sooner).min(now + grace);
                self.state = JobState::Stopping { kill_at, killed, leader_dead, end };
                vec![]
            }
            _ => vec![],
        }
    }

    /// KILL is no single effect: while [`has_killed`](Self::has_killed), the run kills round by round.
    fn kill(&mut self, kill_at: BootTime, leader_dead: bool, end: JobEnd) -> Vec<Effect> {
        self.state = JobState::Stopping { kill_at, killed: true, leader_dead, end };
        vec![]
    }

    /// When KILL follows the first signal of a stop; `None` if there is no stop, or KILL was sent.
    pub(super) fn kills_at(&self) -> Option<BootTime> {
        match self.state {
            JobState::Stopping { kill_at, killed: false, .. } => Some(kill_at),
            _ => None,
        }
    }

    /// Whether no process of the job may be left: zklock stops it, or its leader was killed.
    pub(super) fn is_stopping(&self) -> bool {
        matches!(self.state, JobState::Stopping { .. })
    }

    /// Whether zklock has stopped with the job.
    pub(super) fn is_suspended(&self) -> bool {
        matches!(self.state, JobState::Running { suspended: Some(_), .. })
    }

    /// Whether KILL is sent to every process of the job, including those that left its group, until none is left.
    pub(super) fn has_killed(&self) -> bool {
        matches!(self.state, JobState::Stopping { killed: true, .. })
    }

    /// Whether the job is gone and reaped, and if so, what ended it.
    pub(super) fn is_over(&self) -> Option<JobEnd> {
        match self.state {
            JobState::Over(end) => Some(end),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
