//! Decides what to do about the job when something happens: state and event in, effects out.
//!
//! The order is always the same: stop the job, see that it is gone, reap it, and only then release the lock.

use std::collections::BTreeSet;
use std::time::Duration;

use super::JobEffect::{
    ContinueStopped, Kill, LookAtChildren, Reap, Resume, SignalAll, SignalGroup, SignalLeader,
};
use super::{Effect, LeaderChange, Plan, Reach};
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
    /// Nobody of these is left besides the leader.
    NoneLeft(Reach),
    /// The lock can't be trusted any more: the job must be gone, with KILL at `kill_at` at the latest.
    MustStop {
        /// How long TERM may take.
        grace: Duration,
        /// When KILL is sent in any case.
        kill_at: BootTime,
    },
    /// Time has passed, and all that the kernel has reported is known.
    Tick {
        /// Until when other zklocks among the job's processes may release their locks.
        latest: BootTime,
    },
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
    /// How long the rest of the job's group may take to end after a signal that has killed the leader.
    kill_after: Duration,
    /// The signals that were forwarded to the job.
    forwarded: BTreeSet<i32>,
    /// The leader was stopped and hasn't been continued.
    leader_suspended: bool,
    /// The leader died of a signal that ends programs, by which the rest of its group may still be ending.
    rest: Option<Rest>,
    /// No process of the job may be left.
    stopping: Option<Stopping>,
    over: Option<JobEnd>,
}

#[derive(Debug)]
struct Rest {
    /// When it is left alone.
    until: BootTime,
    looked_at: BootTime,
}

#[derive(Debug)]
struct Stopping {
    /// When KILL follows; it is sent again at each tick, until no process is left.
    kill_at: BootTime,
    killed: bool,
    leader_dead: bool,
    end: JobEnd,
}

impl Supervisor {
    /// For a job of this plan that has just been started.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            stop_signal: plan.signal,
            single_child: plan.single_child,
            has_terminal: plan.has_terminal,
            kill_after: plan.kill_after,
            forwarded: BTreeSet::new(),
            leader_suspended: false,
            rest: None,
            stopping: None,
            over: None,
        }
    }

    /// The effects of an event that was noticed `now`.
    pub(super) fn on(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        match (self.over, &self.stopping) {
            (Some(_), _) => vec![],
            (None, None) => self.running(input, now),
            (None, Some(_)) => self.stopping(input, now),
        }
    }

    fn running(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        match input {
            // `fg` continues the whole group itself.
            JobInput::Signalled(SIGCONT) if self.has_terminal => {
                self.leader_suspended.then_some(Resume.into()).into_iter().collect()
            }
            JobInput::Signalled(signal) => {
                self.forwarded.insert(signal);
                let forward =
                    if self.has_single_child() { SignalLeader(signal) } else { SignalGroup(signal) };
                // A stopped process can't end, nor can the leader end it.
                let also = ends_waiting(signal).then_some(ContinueStopped);
                [forward].into_iter().chain(also).map(Effect::Job).collect()
            }
            JobInput::Leader(LeaderChange::Stopped(signal)) => {
                self.leader_suspended = true;
                // The kernel doesn't stop zklock by this one if no process could continue it.
                let signal = if signal == SIGSTOP { SIGTSTP } else { signal };
                self.has_terminal.then_some(Effect::Suspend(signal)).into_iter().collect()
            }
            JobInput::Leader(LeaderChange::Continued) => {
                self.leader_suspended = false;
                self.has_terminal.then_some(Effect::ContinueMonitor).into_iter().collect()
            }
            // No command ends itself like that, nor can it end its children then. Someone who kills it may have killed
            // the monitor too (`pkill -9 -f job.sh` finds both), so nothing of it may be left beside the next holder.
            JobInput::Leader(LeaderChange::Died { by: Some(SIGKILL) }) => {
                self.stop(now, true, JobEnd::ByItself);
                vec![]
            }
            // It didn't wait for what it had started, as shells do, which may still work.
            JobInput::Leader(LeaderChange::Died { by: Some(signal) }) if ends_waiting(signal) => {
                // Its death is seen at each look until it is reaped.
                if self.rest.is_some() {
                    return vec![];
                }
                self.rest = Some(Rest { until: now + self.kill_after, looked_at: now });
                self.leader_suspended = false;
                let tell = self.is_for_the_rest(signal).then_some([SignalGroup(signal), ContinueStopped]);
                let look = LookAtChildren(Reach::Group);
                tell.into_iter().flatten().chain([look]).map(Effect::Job).collect()
            }
            JobInput::Leader(LeaderChange::Died { .. }) => self.ended(),
            JobInput::NoneLeft(_) if self.rest.is_some() => self.ended(),
            JobInput::Tick { .. } => match &mut self.rest {
                Some(rest) if rest.until <= rest.looked_at => self.ended(),
                Some(rest) => {
                    rest.looked_at = now;
                    // What Ctrl-Z has stopped can't end, and no shell could continue it.
                    [ContinueStopped, LookAtChildren(Reach::Group)].map(Effect::Job).into()
                }
                None => vec![],
            },
            JobInput::MustStop { grace, kill_at } => {
                let kill_at = kill_at.min(now + grace);
                self.stop(kill_at, self.rest.is_some(), JobEnd::Stopped);
                // Too late for TERM: a job that was stopped must not run for another moment.
                if now >= kill_at { vec![] } else { self.begin_stop() }
            }
            JobInput::Key(_) | JobInput::NoneLeft(_) => vec![],
        }
    }

    /// Whether signals go to the leader only, which is there to end the others.
    fn has_single_child(&self) -> bool {
        self.single_child && self.rest.is_none()
    }

    /// The leader has ended by itself, and nobody is waited for any more.
    fn ended(&mut self) -> Vec<Effect> {
        self.over = Some(JobEnd::ByItself);
        vec![Reap.into()]
    }

    fn stop(&mut self, kill_at: BootTime, leader_dead: bool, end: JobEnd) {
        self.stopping = Some(Stopping { kill_at, killed: false, leader_dead, end });
    }

    /// The beginning of a forced stop. A stopped process can't end.
    fn begin_stop(&self) -> Vec<Effect> {
        if !self.has_single_child() {
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

    fn stopping(&mut self, input: JobInput, now: BootTime) -> Vec<Effect> {
        let Some(stopping) = &mut self.stopping else { return vec![] };
        match input {
            JobInput::Leader(LeaderChange::Died { by }) => {
                // It was to end the others, and can't any more. Its death is seen at each look until it is reaped.
                let was_dead = std::mem::replace(&mut stopping.leader_dead, true);
                let by_first_signal = self.single_child && by == Some(self.stop_signal);
                let is_to_end_others = by_first_signal && !was_dead && now < stopping.kill_at;
                return if is_to_end_others { self.signal_all() } else { vec![] };
            }
            JobInput::NoneLeft(Reach::All) if stopping.leader_dead => {
                self.over = Some(stopping.end);
                return vec![Reap.into()];
            }
            // A second TERM or INT skips the rest of the grace.
            JobInput::Signalled(SIGTERM | SIGINT) | JobInput::Key(SIGINT) => {
                stopping.kill_at = stopping.kill_at.min(now);
            }
            JobInput::Tick { latest } if now >= stopping.kill_at => {
                stopping.killed = true;
                return vec![Kill { latest }.into()];
            }
            JobInput::MustStop { grace, kill_at } => {
                stopping.kill_at = stopping.kill_at.min(kill_at).min(now + grace);
            }
            _ => {}
        }
        vec![]
    }

    /// When KILL follows the first signal of a stop; `None` if there is no stop, or KILL was sent.
    pub(super) fn kills_at(&self) -> Option<BootTime> {
        self.stopping.as_ref().filter(|stopping| !stopping.killed).map(|stopping| stopping.kill_at)
    }

    /// Until when the rest of the group may end, while that is awaited.
    pub(super) fn rest_until(&self) -> Option<BootTime> {
        let rest = self.rest.as_ref().filter(|_| self.stopping.is_none() && self.over.is_none());
        rest.map(|rest| rest.until)
    }

    /// Whose end is awaited.
    pub(super) fn awaits(&self) -> Reach {
        if self.is_stopping() {
            Reach::All
        } else if self.rest_until().is_some() {
            Reach::Group
        } else {
            Reach::Leader
        }
    }

    /// Whether no process of the job may be left: zklock stops it, or its leader was killed.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.is_some() && self.over.is_none()
    }

    /// Whether the job's leader is stopped.
    pub(super) fn is_suspended(&self) -> bool {
        self.leader_suspended && self.stopping.is_none() && self.over.is_none()
    }

    /// What ended the job, once it is gone and reaped.
    pub(super) fn end(&self) -> Option<JobEnd> {
        self.over
    }
}

#[cfg(test)]
mod tests;
