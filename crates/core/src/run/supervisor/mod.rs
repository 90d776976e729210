//! Decides what to do about the job when something happens: state and event in, effects out.
//!
//! The order is always the same: stop the job, see that it is gone, reap it, and only then release the lock.

use std::collections::BTreeSet;
use std::time::Duration;

use super::JobEffect::{ContinueStopped, Kill, Reap, Resume, SignalAll, SignalGroup, SignalLeader};
use super::{Effect, LeaderChange, Plan};
use crate::signal::{SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, ends_waiting};
use crate::time::BootTime;

/// An event that concerns the job, while the job exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobInput {
    /// Another process sent zklock this signal.
    Signalled(i32),
    /// The terminal sent zklock and the job this signal.
    Key(i32),
    /// The job's leader was stopped, or is dead and not reaped.
    Leader(LeaderChange),
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
    /// Time has passed, and all that the kernel has reported is known: it is time to kill what is left.
    Look {
        /// Until when other zklocks among the job's processes may release their locks.
        latest: BootTime,
    },
}

/// The state of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobState {
    /// `stopped`: its leader is stopped.
    Running {
        stopped: bool,
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
    /// The signal that begins a forced stop.
    stop_signal: i32,
    /// Whether forwarded signals and that one go to the leader only, which ends its processes in its own order.
    single_child: bool,
    /// Whether the job shares zklock's process group, because there is a terminal.
    has_terminal: bool,
    state: JobState,
    /// The signals that were forwarded to the job.
    forwarded: BTreeSet<i32>,
}

impl Supervisor {
    /// For a job of this plan that has just been started.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            stop_signal: plan.signal,
            single_child: plan.single_child,
            has_terminal: plan.has_terminal,
            state: JobState::Running { stopped: false },
            forwarded: BTreeSet::new(),
        }
    }

    /// The effects of an event that was noticed `now`.
    pub(super) fn on(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        match self.state {
            JobState::Running { .. } => self.running(input, now),
            JobState::Stopping { kill_at, killed, leader_dead, end } => {
                self.stopping(input, kill_at, killed, leader_dead, end, now)
            }
            JobState::Over(_) => vec![],
        }
    }

    fn running(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        match input {
            // `fg` continues the whole group itself.
            JobInput::Signalled(SIGCONT) if self.has_terminal => {
                self.is_stopped().then_some(Effect::Job(Resume)).into_iter().collect()
            }
            JobInput::Signalled(signal) => {
                self.forwarded.insert(signal);
                let forward = if self.single_child { SignalLeader(signal) } else { SignalGroup(signal) };
                // A stopped process can't end, nor can the leader end it.
                let also = ends_waiting(signal).then_some(ContinueStopped);
                [forward].into_iter().chain(also).map(Effect::Job).collect()
            }
            JobInput::Leader(LeaderChange::Stopped(signal)) => {
                self.state = JobState::Running { stopped: true };
                // The kernel doesn't stop zklock by this one if no process could continue it.
                let signal = if signal == SIGSTOP { SIGTSTP } else { signal };
                self.has_terminal.then_some(Effect::Stop(signal)).into_iter().collect()
            }
            JobInput::Leader(LeaderChange::Continued) => {
                self.state = JobState::Running { stopped: false };
                self.has_terminal.then_some(Effect::ContinueMonitor).into_iter().collect()
            }
            // No command ends itself like that, nor can it end its children then. Someone who kills it may have killed
            // the monitor too (`pkill -9 -f job.sh` finds both), so nothing of it may be left beside the next holder.
            JobInput::Leader(LeaderChange::Died { by: Some(SIGKILL) }) => {
                self.kill(now, true, JobEnd::ByItself)
            }
            JobInput::Leader(LeaderChange::Died { by: Some(signal) }) if self.is_for_the_rest(signal) => {
                self.state = JobState::Over(JobEnd::ByItself);
                vec![Effect::Job(SignalGroup(signal)), Effect::Job(ContinueStopped), Effect::Job(Reap)]
            }
            JobInput::Leader(LeaderChange::Died { .. }) => {
                self.state = JobState::Over(JobEnd::ByItself);
                vec![Effect::Job(Reap)]
            }
            JobInput::MustStop { grace, kill_at } => {
                let kill_at = kill_at.min(now + grace);
                if now >= kill_at {
                    // Too late for TERM: a job that was stopped must not run for another moment.
                    return self.kill(kill_at, false, JobEnd::Stopped);
                }
                self.state =
                    JobState::Stopping { kill_at, killed: false, leader_dead: false, end: JobEnd::Stopped };
                self.begin_stop()
            }
            JobInput::Key(_) | JobInput::NoneLeft | JobInput::Tick | JobInput::Look { .. } => vec![],
        }
    }

    /// The beginning of a forced stop. A stopped process can't end.
    fn begin_stop(&self) -> Vec<Effect> {
        if !self.single_child {
            return self.signal_all();
        }
        // Only stopped processes but for the leader are continued: the others get no signal at all.
        [SignalLeader(self.stop_signal), SignalLeader(SIGCONT), ContinueStopped].map(Effect::Job).into()
    }

    /// The first signal of a forced stop, to every process of the job.
    fn signal_all(&self) -> Vec<Effect> {
        [SignalAll(self.stop_signal), SignalAll(SIGCONT)].map(Effect::Job).into()
    }

    /// Whether the rest of the job's group gets this signal, which has killed the leader.
    fn is_for_the_rest(&self, signal: i32) -> bool {
        let was_forwarded = self.forwarded.contains(&signal);
        match signal {
            // A TERM to the command is one to its group. It may have been sent to the monitor too, whose message would
            // come too late.
            SIGTERM if !was_forwarded => true,
            // The leader was to pass it on in its own way, and can't any more.
            _ => self.single_child && was_forwarded && ends_waiting(signal),
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
            JobInput::Leader(LeaderChange::Died { by }) => {
                self.state = JobState::Stopping { kill_at, killed, leader_dead: true, end };
                // It was to end the others, and can't any more. Its death is seen at each look until it is reaped.
                let by_first_signal = self.single_child && by == Some(self.stop_signal);
                if by_first_signal && !killed && !leader_dead { self.signal_all() } else { vec![] }
            }
            JobInput::NoneLeft if leader_dead => {
                self.state = JobState::Over(end);
                vec![Effect::Job(Reap)]
            }
            // A second TERM or INT skips the rest of the grace.
            JobInput::Signalled(SIGTERM | SIGINT) | JobInput::Key(SIGINT) => {
                self.kill(kill_at, leader_dead, end)
            }
            JobInput::Look { latest } if killed => vec![Effect::Job(Kill { latest })],
            JobInput::Tick if now >= kill_at => self.kill(kill_at, leader_dead, end),
            JobInput::MustStop { grace, kill_at: sooner } => {
                let kill_at = kill_at.min(sooner).min(now + grace);
                self.state = JobState::Stopping { kill_at, killed, leader_dead, end };
                vec![]
            }
            _ => vec![],
        }
    }

    /// KILL is no single effect: the look that follows every input sends it, and each look after that, until none is left.
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

    /// Whether the job's leader is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.state, JobState::Running { stopped: true })
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
