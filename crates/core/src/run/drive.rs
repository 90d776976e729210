//! The loop around a run, one turn at a time: which input comes next, and when to wait.
//!
//! The worker takes the turns, and so does the simulation, which can interrupt a worker between two of them.

use std::collections::VecDeque;

use super::{Effect, Input, Plan, Run};
use crate::time::BootTime;

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// Carry out this effect, and [answer](Driver::answer) it if it has an immediate answer.
    CarryOut(Effect),
    /// Wait for an input, at most until this time, and report [the end of the wait](Driver::woken).
    Wait(Option<BootTime>),
}

/// A run and what is due for it.
#[derive(Debug)]
pub struct Driver {
    run: Run,
    effects: VecDeque<Effect>,
    pub(super) answers: VecDeque<Input>,
    /// Whether the run has checked the time since the last input or wait.
    checked: bool,
}

impl Driver {
    /// Begins a run.
    pub fn begin(plan: Plan, now: BootTime) -> Self {
        let mut run = Run::new(plan);
        let effects = run.begin(now).into();
        // The first check comes before any input: however fast the servers answer, what it says of them is told.
        Self { run, effects, answers: VecDeque::from([Input::Tick]), checked: false }
    }

    /// The next turn. All effects are carried out before the next input, and answers come before other inputs, which
    /// `pending` returns. The run checks the time once no other input is pending.
    pub fn next(&mut self, now: impl Fn() -> BootTime, mut pending: impl FnMut() -> Option<Input>) -> Turn {
        loop {
            if let Some(effect) = self.effects.pop_front() {
                // It takes time, in which something may have come up.
                self.checked &= !matches!(effect, Effect::FlushOutput(_));
                return Turn::CarryOut(effect);
            }
            let input = match self.answers.pop_front().or_else(&mut pending) {
                Some(input) => input,
                None if !self.checked => Input::Tick,
                None => return Turn::Wait(self.run.wake_at(now())),
            };
            // The answers to a check of the processes don't require another check of the time.
            self.checked = matches!(input, Input::Tick)
                || self.checked && matches!(input, Input::KillRound(_) | Input::Children { .. });
            self.effects.extend(self.run.on(now(), input));
        }
    }

    /// Takes in the immediate answer to the last effect.
    pub fn answer(&mut self, input: Input) {
        self.answers.push_back(input);
    }

    /// The wait is over: an input has come, or the time.
    pub fn woken(&mut self) {
        self.checked = false;
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }
}
