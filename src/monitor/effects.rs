//! Carries out the effects of the monitor's state machine: stops, ends the worker and the command, writes messages, and
//! cleans up.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::getpgrp;

use super::MonitorLoop;
use crate::core::message::Level;
use crate::core::monitor::{MonitorEffect, MonitorInput, MonitorMessage, Outcome};
use crate::core::pair::Stage;
use crate::core::path::LockPath;
use crate::core::planted::{Mistake, planted};
use crate::core::signal::ends_waiting;
use crate::core::time::BootTime;
use crate::ensemble::Settings;
use crate::job::descendants::{Left, Sweep};
use crate::job::terminal::Terminal;
use crate::link;
use crate::output;
use crate::process::{clock, sys};

/// The pause between two KILLs of the worker, and of a monitor that can't wait for events.
const PAUSE: Duration = Duration::from_millis(10);

impl MonitorLoop {
    /// Carries out effects, and those that follow from their answers. Returns the outcome if the monitor is done.
    pub(super) fn carry_out(
        &mut self,
        mut effects: Vec<MonitorEffect>,
        path: &LockPath,
        settings: &Settings,
    ) -> Option<Outcome> {
        while !effects.is_empty() {
            let mut answer = None;
            for effect in effects {
                match effect {
                    MonitorEffect::Stop { signal, whole_group } => self.stop(signal, whole_group),
                    MonitorEffect::EndWorker => answer = Some(self.end_worker(true)),
                    MonitorEffect::EndNobody => answer = Some(self.ended()),
                    MonitorEffect::EndEverybody => answer = Some(self.end_everybody(path)),
                    MonitorEffect::TakeTerminal => {
                        if let Some(group) = self.monitor.page.group() {
                            Terminal::new(getpgrp()).take_back(group);
                        }
                    }
                    MonitorEffect::Say(message) => say(path, &message),
                    MonitorEffect::Clean(leftover) => {
                        // Servers may not answer: a signal to end stops the wait for them.
                        let signals = &mut self.signals;
                        let gone = link::clean(settings, &leftover, || signals.take().into_iter().any(ends));
                        answer = Some(MonitorInput::Cleaned(gone));
                    }
                    MonitorEffect::Finish(Outcome::Become(variables)) => {
                        return Some(self.become_command(variables));
                    }
                    MonitorEffect::Finish(outcome) => return Some(outcome),
                }
            }
            effects = answer.map(|answer| self.machine.on(clock::now(), answer)).unwrap_or_default();
        }
        None
    }

    fn ended(&mut self) -> MonitorInput {
        self.read_last_reports();
        MonitorInput::Ended(self.worker_state(), self.monitor.page.pending_create())
    }

    /// Kills the worker and reaps it, if it `lives`.
    fn end_worker(&mut self, lives: bool) -> MonitorInput {
        let worker = self.monitor.worker;
        self.socket_closed = true;
        while lives && sys::reap_if_dead(worker).is_none() {
            let _ = kill(worker, Signal::SIGKILL);
            self.pause(Some(clock::now() + PAUSE));
            self.signals.take();
        }
        self.ended()
    }

    /// Ends the worker and every process of the command, unless a process doesn't end and zklock was told to end.
    fn end_everybody(&mut self, path: &LockPath) -> MonitorInput {
        let latest = self.monitor.page.deadline().map(|deadline| deadline.latest);
        let mut sweep = Sweep::with_grace_until(latest, clock::now()).without_grace_for(self.monitor.worker);
        let mut is_reported = false;
        if planted(Mistake::GroupOnly) {
            let is_reaped = kill(self.monitor.worker, None).is_err();
            let ended = self.end_worker(!is_reaped);
            let _ = self.monitor.page.group().map(|group| killpg(group, Signal::SIGKILL));
            return ended;
        }
        self.socket_closed = true;
        while !sweep.round(&self.children, None, &self.unrelated, clock::now()) {
            if let Some(left) = sweep.left_for_long(clock::now()) {
                report_left(path, &left);
                is_reported = true;
            }
            self.pause(sweep.next());
            // A process that doesn't end was reported, so now a signal such as TERM ends zklock.
            if self.signals.take().into_iter().any(ends) && is_reported {
                return MonitorInput::GaveUp(self.worker_state());
            }
        }
        self.ended()
    }

    fn pause(&self, until: Option<BootTime>) {
        if self.wait(until).is_err() {
            std::thread::sleep(PAUSE);
        }
    }
}

fn ends(signal: Signal) -> bool {
    ends_waiting(signal as i32)
}

fn report_left(path: &LockPath, left: &[Left]) {
    output::queue_output();
    for process in left {
        output::warn(path, format_args!("{process}; the lock is kept until its session times out"));
    }
}

fn say(path: &LockPath, message: &MonitorMessage) {
    output::queue_output();
    // The worker's waiting line is still on the screen.
    if matches!(message, MonitorMessage::Worker { stage: Stage::Waiting, .. }) && stderr().is_terminal() {
        output::new_line();
    }
    match message.level() {
        Level::Error => output::error(path, message),
        _ => output::warn(path, message),
    }
}
