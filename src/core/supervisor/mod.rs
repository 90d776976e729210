//! Decides what to do about the job when something happens: state and event in, actions out.
//!
//! The order is always the same: stop the job, see that it is gone, reap it, and only then release the lock.

use std::time::Duration;

use super::planted::{Mistake, planted};
use super::signal::{SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};
use super::time::BootTime;

/// An event that concerns the job, while the job exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobInput {
    /// Another process or the terminal sent zklock this signal.
    Signalled(i32),
    /// The job's leader was stopped.
    Stopped {
        /// The signal that stopped it.
        signal: i32,
        /// The process group that has the terminal.
        terminal: Foreground,
    },
    /// zklock was to stop with the job, but the kernel didn't stop it, because no process could continue it.
    NotStopped,
    /// The job's leader is dead and not reaped.
    LeaderDied {
        /// The signal that killed it, if one did.
        by: Option<i32>,
    },
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

/// The process group that has the terminal's foreground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreground {
    /// The job's group.
    Job,
    /// zklock's own group.
    Ours,
    /// Another group, or there is no terminal.
    Other,
}

/// An action, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send this signal to the job's process group.
    SignalGroup(i32),
    /// Send this signal to every process of the job, including those that left its group.
    SignalAll(i32),
    /// Give the job the terminal's foreground.
    GiveTerminal,
    /// Stop the monitor as the terminal's signal with this number would have. The lock is kept.
    Suspend(i32),
    /// Resume after a suspension: give the terminal back to the job if zklock has it, and continue the job.
    Resume,
    /// Kill every process of the job, including those that left its group, until none is left.
    Kill,
    /// Reap the leader: nothing is signalled after this.
    Reap,
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
    },
    Over {
        forced: bool,
    },
}

/// Decides about one job.
#[derive(Debug)]
pub struct Supervisor {
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
    /// The actions for an event that was noticed `now`.
    pub fn on(&mut self, input: JobInput, now: BootTime) -> Vec<Action> {
        match self.state {
            JobState::Running { suspended, hung_up } => self.running(input, suspended, hung_up, now),
            JobState::Stopping { kill_at, killed, leader_dead } => {
                self.stopping(input, kill_at, killed, leader_dead, now)
            }
            JobState::Over { .. } => vec![],
        }
    }

    fn running(
        &mut self,
        input: JobInput,
        suspended: Option<i32>,
        hung_up: bool,
        now: BootTime,
    ) -> Vec<Action> {
        match input {
            // The job wants a terminal that it can't get. As the kernel does for a stopped group, send HUP and continue
            // it. This happens only once: a job that ignores HUP would stop again immediately, and stays stopped.
            JobInput::NotStopped if matches!(suspended, Some(SIGTTIN | SIGTTOU)) => {
                if hung_up {
                    return vec![];
                }
                self.state = JobState::Running { suspended: None, hung_up: true };
                vec![Action::SignalGroup(SIGHUP), Action::Resume]
            }
            JobInput::Signalled(SIGCONT) | JobInput::NotStopped if suspended.is_some() => {
                self.state = JobState::Running { suspended: None, hung_up };
                vec![Action::Resume]
            }
            JobInput::Signalled(signal) => {
                self.terminated |= signal == SIGTERM;
                vec![Action::SignalGroup(signal)]
            }
            JobInput::Stopped { signal: SIGTTIN | SIGTTOU, terminal: Foreground::Ours } => {
                vec![Action::GiveTerminal, Action::SignalGroup(SIGCONT)]
            }
            JobInput::Stopped { signal, terminal } if signal != SIGSTOP || terminal == Foreground::Job => {
                let signal = if signal == SIGSTOP { SIGTSTP } else { signal };
                self.state = JobState::Running { suspended: Some(signal), hung_up };
                vec![Action::Suspend(signal)]
            }
            // No command ends itself like that, nor can it end its children then. Someone who kills it may have killed
            // the monitor too (`pkill -9 -f job.sh` finds both), so nothing of it may be left beside the next holder.
            JobInput::LeaderDied { by: Some(SIGKILL) } if !planted(Mistake::KilledIsEnded) => {
                self.kill(now, true)
            }
            // A TERM to the command is one to its group. It may have been sent to the monitor too, whose message would
            // come too late.
            JobInput::LeaderDied { by: Some(SIGTERM) } if !self.terminated => {
                self.state = JobState::Over { forced: false };
                vec![Action::SignalGroup(SIGTERM), Action::Reap]
            }
            JobInput::LeaderDied { .. } => {
                self.state = JobState::Over { forced: false };
                vec![Action::Reap]
            }
            JobInput::MustStop { grace, kill_at } => {
                let kill_at = kill_at.min(now + grace);
                if now >= kill_at {
                    // Too late for TERM: a job that was stopped must not run for another moment.
                    return self.kill(kill_at, false);
                }
                self.state = JobState::Stopping { kill_at, killed: false, leader_dead: false };
                vec![Action::SignalAll(SIGTERM), Action::SignalAll(SIGCONT)]
            }
            // A plain SIGSTOP from another process stops only the job, unless the job has the terminal: then its user
            // would be left without a shell.
            JobInput::Stopped { .. } | JobInput::NotStopped | JobInput::NoneLeft | JobInput::Tick => {
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
        now: BootTime,
    ) -> Vec<Action> {
        match input {
            JobInput::LeaderDied { .. } if planted(Mistake::LeaderIsAll) => {
                self.state = JobState::Over { forced: true };
                vec![Action::Reap]
            }
            JobInput::LeaderDied { .. } => {
                self.state = JobState::Stopping { kill_at, killed, leader_dead: true };
                vec![]
            }
            JobInput::NoneLeft if leader_dead => {
                self.state = JobState::Over { forced: true };
                vec![Action::Reap]
            }
            // A second TERM or INT skips the rest of the grace.
            JobInput::Signalled(SIGTERM | SIGINT) if !killed => self.kill(kill_at, leader_dead),
            JobInput::Tick if planted(Mistake::NoKill) => vec![],
            JobInput::Tick if !killed && now >= kill_at => self.kill(kill_at, leader_dead),
            JobInput::MustStop { grace, kill_at: sooner } => {
                let kill_at = kill_at.min(sooner).min(now + grace);
                self.state = JobState::Stopping { kill_at, killed, leader_dead };
                vec![]
            }
            _ => vec![],
        }
    }

    fn kill(&mut self, kill_at: BootTime, leader_dead: bool) -> Vec<Action> {
        self.state = JobState::Stopping { kill_at, killed: true, leader_dead };
        vec![Action::Kill]
    }

    /// When the passing of time alone next changes something.
    pub fn next_tick(&self) -> Option<BootTime> {
        match self.state {
            JobState::Stopping { kill_at, killed: false, .. } => Some(kill_at),
            _ => None,
        }
    }

    /// Whether zklock is stopping the job, as opposed to the job ending by itself.
    pub fn is_stopping(&self) -> bool {
        matches!(self.state, JobState::Stopping { .. })
    }

    /// Whether zklock has stopped with the job.
    pub fn is_suspended(&self) -> bool {
        matches!(self.state, JobState::Running { suspended: Some(_), .. })
    }

    /// Whether KILL has been sent.
    pub fn has_killed(&self) -> bool {
        matches!(self.state, JobState::Stopping { killed: true, .. })
    }

    /// Whether the job is gone and reaped, and if so, whether zklock forced it.
    pub fn is_over(&self) -> Option<bool> {
        match self.state {
            JobState::Over { forced } => Some(forced),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
