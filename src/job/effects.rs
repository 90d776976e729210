//! Carries out the core's effects on the job.

use anyhow::{Context, Result};
use zklock_core::run::{Input, JobEffect, KillRound};

use super::Job;
use crate::process::clock;

impl Job {
    /// Carries out an effect, and returns the immediate answer for the core. After an error zklock can no longer control
    /// the job.
    pub fn carry_out(&mut self, effect: JobEffect) -> Result<Option<Input>> {
        use JobEffect as Effect;

        if let Effect::SignalLeader(_) | Effect::SignalGroup(_) | Effect::SignalAll(_) = effect {
            log::debug!("job: {effect:?}");
        }
        match effect {
            Effect::SignalLeader(signal) => self.signal_leader(signal)?,
            Effect::SignalGroup(signal) => self.signal_group(signal)?,
            Effect::SignalAll(signal) => self.signal_all(signal)?,
            Effect::ContinueStopped => self.continue_stopped(),
            Effect::Resume => self.resume(),
            Effect::LookAtChildren(reach) => {
                self.reap_orphans();
                let leader = self.observe().context("can't observe the command")?;
                let none_left = Some(reach).filter(|&reach| self.none_left(reach, leader));
                return Ok(Some(Input::Children { leader, none_left }));
            }
            Effect::Kill { latest } => {
                let now = clock::now();
                let gone = self.kill(latest, now);
                let left =
                    self.left_for_long(now).into_iter().flatten().map(|left| left.to_string()).collect();
                let round = KillRound { gone, next: self.next_kill(), stuck: self.is_stuck(), left };
                return Ok(Some(Input::KillRound(round)));
            }
            Effect::Reap => {
                self.reap().context("can't reap the command")?;
                return Ok(Some(Input::Reaped(self.exit())));
            }
        }
        Ok(None)
    }
}
