//! The loop around the monitor's state machine, one turn at a time: which input comes next, and when to wait.
//!
//! The monitor takes the turns, and so does the simulation.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Death, Monitor, MonitorEffect, MonitorInput, WorkerState};
use crate::pair::Report;
use crate::time::BootTime;

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum MonitorTurn {
    /// Carry out this effect, and [answer](MonitorDriver::answer) it if it has an answer.
    CarryOut(MonitorEffect),
    /// Wait for a signal or a report, at most until this time.
    Wait(Option<BootTime>),
}

/// What the monitor observes.
pub trait MonitorSources {
    /// The current time.
    fn now(&self) -> BootTime;

    /// Relays the signals that have come to the worker, and returns the next one of which the core doesn't know yet.
    fn relayed(&mut self) -> Option<i32>;

    /// How the worker ended, if it has. Reaps it.
    fn death(&mut self) -> Option<Death>;

    /// The next report of the worker.
    fn report(&mut self) -> Option<Report>;

    /// The worker's state in the shared page.
    fn worker(&self) -> WorkerState;
}

/// A monitor and what is due for it.
#[derive(Debug)]
pub struct MonitorDriver {
    monitor: Monitor,
    effects: VecDeque<MonitorEffect>,
    answers: VecDeque<MonitorInput>,
    /// Whether the last input was the worker's state.
    has_looked: bool,
}

impl MonitorDriver {
    /// A monitor for a new worker. `session_timeout` is the one that the worker will request, and `records` says whether
    /// it records a success.
    pub fn new(session_timeout: Duration, records: bool) -> Self {
        let monitor = Monitor::new(session_timeout, records);
        Self { monitor, effects: VecDeque::new(), answers: VecDeque::new(), has_looked: false }
    }

    /// The next turn. Each effect is carried out before the next input is read.
    pub fn next(&mut self, sources: &mut impl MonitorSources) -> MonitorTurn {
        loop {
            if let Some(effect) = self.effects.pop_front() {
                return MonitorTurn::CarryOut(effect);
            }
            let Some(input) = self.next_input(sources) else {
                self.has_looked = false;
                return MonitorTurn::Wait(self.monitor.wake_at(sources.worker()));
            };
            self.has_looked = matches!(input, MonitorInput::Looked(_));
            self.effects.extend(self.monitor.on(sources.now(), input));
        }
    }

    /// The order matters. A signal announces the worker's death, so the death is asked for after the signals: one that
    /// comes later is still to be announced. What a worker has reported before its death is complete once it is dead, so
    /// the reports are read after that, and before anything is decided.
    fn next_input(&mut self, sources: &mut impl MonitorSources) -> Option<MonitorInput> {
        let is_watching = self.monitor.is_watching();
        let watched = is_watching.then(|| {
            let signal = sources.relayed().map(MonitorInput::Relayed);
            signal.or_else(|| sources.death().map(MonitorInput::WorkerDied))
        });
        watched
            .flatten()
            .or_else(|| sources.report().map(MonitorInput::Reported))
            .or_else(|| self.answers.pop_front())
            .or_else(|| (!self.has_looked).then(|| MonitorInput::Looked(sources.worker())))
    }

    /// Takes in the answer to the last effect.
    pub fn answer(&mut self, answer: MonitorInput) {
        self.answers.push_back(answer);
    }
}

#[cfg(test)]
mod tests;
