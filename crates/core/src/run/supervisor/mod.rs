//! Decides what to do about the job when something happens: state and event in, effects out.
//!
//! The order is always the same: stop the job, see that it is gone, reap it, and only then release the lock.

use std::collections::BTreeSet;
use std::time::Duration;

use super::JobEffect::{
    ContinueStopped, GiveTerminal, Kill, LeaveSession, Reap, Resume, SignalAll, SignalGroup, SignalLeader,
    TakeTerminal,
};
use super::{Effect, Foreground, JobEffect, LeaderChange, Stop, StoppedBy};
use crate::signal::{SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, ends_waiting};
use crate::time::BootTime;

/// The terminal stops a whole group, but a process that catches the signal, such as a pager or one that asks for a
/// password, stops itself only after it has restored the terminal. When such stops have to be undone, zklock looks for
/// them after this time, and then after pauses twice as long each.
const FIRST_LOOK: Duration = Duration::from_millis(100);

/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// An event that concerns the job, while the job exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobInput {
    /// Another process or the terminal sent zklock this signal.
    Signalled(i32),
    /// The job's leader was stopped, or is dead and not reaped.
    Leader(LeaderChange),
    /// The terminal or another process stopped the job's process group, perhaps without its leader.
    GroupStopped(Stop),
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
    /// Time has passed, and all that the kernel has reported is known: it is time to undo stops, or to kill what is left.
    Look {
        /// Until when other zklocks among the job's processes may release their locks.
        latest: BootTime,
    },
}

/// The state of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobState {
    /// `suspended`: zklock has stopped with the job. `leader_stopped`: only the leader was stopped.
    Running {
        suspended: bool,
        leader_stopped: bool,
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
    state: JobState,
    /// The signals that were forwarded to the job.
    forwarded: BTreeSet<i32>,
    look: Option<Look>,
}

/// A look for stops that have to be undone.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: BootTime,
    /// The pause before it.
    pause: Duration,
    stopped: StoppedBy,
}

impl Look {
    fn first(now: BootTime, stopped: StoppedBy) -> Self {
        Self { at: now + FIRST_LOOK, pause: FIRST_LOOK, stopped }
    }

    /// The next one, unless it would be too late for any process.
    fn next(self, now: BootTime) -> Option<Self> {
        let pause = self.pause * 2;
        (pause <= LONGEST_PAUSE).then_some(Self { at: now + pause, pause, ..self })
    }
}

impl Supervisor {
    /// For a job that has just been started, and whose forced stop begins with this signal. With `single_child`, its
    /// leader alone gets that signal and the forwarded ones.
    pub(super) fn new(stop_signal: i32, single_child: bool) -> Self {
        Self {
            stop_signal,
            single_child,
            state: JobState::Running { suspended: false, leader_stopped: false },
            forwarded: BTreeSet::new(),
            look: None,
        }
    }

    /// The effects of an event that was noticed `now`.
    pub(super) fn on(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        match self.state {
            JobState::Running { suspended, .. } => self.running(input, suspended, now),
            JobState::Stopping { kill_at, killed, leader_dead, end } => {
                self.stopping(input, kill_at, killed, leader_dead, end, now)
            }
            JobState::Over(_) => vec![],
        }
    }

    fn running(&mut self, input: JobInput, suspended: bool, now: BootTime) -> Vec<Effect> {
        match input {
            // zklock's group has become orphaned since the job stopped.
            JobInput::NotStopped if suspended => {
                self.runs();
                vec![Effect::Job(LeaveSession), Effect::Job(Resume)]
            }
            JobInput::Signalled(SIGCONT) if suspended => {
                self.runs();
                vec![Effect::Job(Resume)]
            }
            JobInput::Signalled(signal) => {
                self.forwarded.insert(signal);
                let mut effects = vec![Effect::Job(self.forward(signal))];
                // A stopped process can't end, nor can the leader end it.
                effects.extend(
                    ends_waiting(signal).then_some(Effect::Job(ContinueStopped(StoppedBy::AnySignal))),
                );
                effects
            }
            JobInput::Leader(LeaderChange::Stopped(stop)) => self.stopped(stop, suspended, now),
            JobInput::Leader(LeaderChange::Continued) => {
                self.state = JobState::Running { suspended, leader_stopped: false };
                vec![]
            }
            JobInput::GroupStopped(stop) if !suspended && concerns_the_group(stop) => {
                self.stopped(stop, suspended, now)
            }
            // No command ends itself like that, nor can it end its children then. Someone who kills it may have killed
            // the monitor too (`pkill -9 -f job.sh` finds both), so nothing of it may be left beside the next holder.
            JobInput::Leader(LeaderChange::Died { by: Some(SIGKILL) }) => {
                self.kill(now, true, JobEnd::ByItself)
            }
            JobInput::Leader(LeaderChange::Died { by: Some(signal) }) if self.is_for_the_rest(signal) => {
                self.state = JobState::Over(JobEnd::ByItself);
                vec![
                    Effect::Job(SignalGroup(signal)),
                    Effect::Job(ContinueStopped(StoppedBy::AnySignal)),
                    Effect::Job(Reap),
                ]
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
            JobInput::Look { .. } => match self.look.filter(|look| look.at <= now) {
                Some(look) => {
                    self.look = look.next(now);
                    vec![Effect::Job(ContinueStopped(look.stopped))]
                }
                None => vec![],
            },
            JobInput::GroupStopped(_) | JobInput::NotStopped | JobInput::NoneLeft | JobInput::Tick => vec![],
        }
    }

    /// To whom a signal is forwarded that another process or the terminal sent zklock.
    fn forward(&self, signal: i32) -> JobEffect {
        match signal {
            // Ctrl-Z stops all processes, as without zklock.
            SIGTSTP => SignalGroup(signal),
            _ if self.single_child => SignalLeader(signal),
            _ => SignalGroup(signal),
        }
    }

    /// The beginning of a forced stop. A stopped process can't end.
    fn begin_stop(&self) -> Vec<Effect> {
        if !self.single_child {
            return self.signal_all();
        }
        // Only stopped processes but for the leader are continued: the others get no signal at all.
        let (signal, stopped) = (self.stop_signal, StoppedBy::AnySignal);
        [SignalLeader(signal), SignalLeader(SIGCONT), ContinueStopped(stopped)].map(Effect::Job).into()
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

    fn stopped(&mut self, stop: Stop, suspended: bool, now: BootTime) -> Vec<Effect> {
        match stop {
            // Without zklock, no process of the job would have stopped.
            Stop { signal: SIGTTIN | SIGTTOU, terminal: Foreground::Zklock, orphaned } => {
                let stopped = if orphaned { StoppedBy::Terminal } else { StoppedBy::NeedOfTerminal };
                self.look = Some(Look::first(now, stopped));
                vec![Effect::Job(GiveTerminal), Effect::Job(SignalGroup(SIGCONT))]
            }
            // It has caught the signal, and stops itself by it only now.
            Stop { signal: SIGTTIN | SIGTTOU, terminal: Foreground::Job, orphaned: false }
                if self.look.is_some() =>
            {
                vec![Effect::Job(SignalGroup(SIGCONT))]
            }
            // Without zklock the kernel would have discarded the signal. A job that reads from a terminal that it can't
            // get would stop again immediately, unless the kernel knows that its group is orphaned, too.
            Stop { signal, orphaned: true, terminal } if signal != SIGSTOP => {
                // Once the kernel knows, nothing is left to be undone.
                self.look = (terminal != Foreground::Other).then_some(Look::first(now, StoppedBy::Terminal));
                vec![Effect::Job(LeaveSession), Effect::Job(SignalGroup(SIGCONT))]
            }
            // A plain SIGSTOP from another process stops only the job, unless the job has the terminal: then its user
            // would be left without a shell.
            Stop { signal: SIGSTOP, terminal, orphaned } if orphaned || terminal != Foreground::Job => {
                self.state = JobState::Running { suspended, leader_stopped: true };
                vec![]
            }
            Stop { signal, .. } => {
                let signal = if signal == SIGSTOP { SIGTSTP } else { signal };
                self.state = JobState::Running { suspended: true, leader_stopped: false };
                self.look = None;
                vec![Effect::Job(TakeTerminal), Effect::StopWithCommand(signal)]
            }
        }
    }

    fn runs(&mut self) {
        self.state = JobState::Running { suspended: false, leader_stopped: false };
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
            JobInput::Signalled(SIGTERM | SIGINT) => self.kill(kill_at, leader_dead, end),
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

    /// When to look next for stops that have to be undone.
    pub(super) fn checks_children_at(&self) -> Option<BootTime> {
        self.look.filter(|_| matches!(self.state, JobState::Running { .. })).map(|look| look.at)
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

    /// Whether the job is stopped, with zklock or alone.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(
            self.state,
            JobState::Running { suspended: true, .. } | JobState::Running { leader_stopped: true, .. }
        )
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

/// Whether zklock reacts to a stop of the job's group that its leader may have ignored. A shell would not: it sees a
/// running job. But then the terminal wouldn't be in another group either, and the kernel would discard some signals.
fn concerns_the_group(stop: Stop) -> bool {
    match stop.signal {
        SIGTTIN | SIGTTOU => stop.orphaned || stop.terminal != Foreground::Job,
        SIGTSTP => stop.orphaned,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
