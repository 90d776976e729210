//! Carries out the effects of the monitor's state machine: stops, ends the worker and the command, writes messages, and
//! cleans up.

use std::os::fd::AsFd;
use std::time::Duration;
use std::{mem, thread};

use nix::sys::signal::{Signal, kill};
use zklock_core::message::Level;
use zklock_core::monitor::{MonitorEffect, MonitorInput, MonitorMessage, MonitorSources};
use zklock_core::pair::Stage;
use zklock_core::path::LockPath;
use zklock_core::server_wait::ServerWait;
use zklock_core::signal::ends_waiting;
use zklock_core::time::BootTime;

use super::MonitorLoop;
use crate::ensemble::Settings;
use crate::job::descendants::{Left, Sweep};
use crate::link;
use crate::output;
use crate::process::{clock, service_manager, sys};

/// The pause between two KILLs of the worker, and of a monitor that can't wait for events.
const PAUSE: Duration = Duration::from_millis(10);

/// The longest wait for the end of a worker whose command has ended.
const LONGEST_END: Duration = Duration::from_secs(1);

/// How long other zklocks among the command's processes may release their locks after the deadline: milliseconds are
/// enough, and the lease ends 150 ms after it at the earliest.
const INNER_GRACE: Duration = Duration::from_millis(50);

impl MonitorLoop {
    /// Carries out an effect, and returns its answer if it has one.
    pub(super) fn carry_out(
        &mut self,
        effect: MonitorEffect,
        path: &LockPath,
        settings: &Settings,
    ) -> Option<MonitorInput> {
        match effect {
            MonitorEffect::Suspend(signal) => self.suspend(signal),
            MonitorEffect::EndWorker => return Some(self.end_worker(true)),
            MonitorEffect::EndNobody => return Some(self.ended()),
            MonitorEffect::EndEverybody => return Some(self.end_everybody(path)),
            MonitorEffect::ExtendTimeout(time) => service_manager::notify(None, time),
            MonitorEffect::Clean(leftover) => {
                output::queue_output();
                // Servers may not answer: a signal to end stops the wait for them.
                let stage = self.sources.side.page.stage();
                let signals = &mut self.sources.signals;
                let mut is_ended = || signals.drain().any(ends_waiting);
                let (mut is_told, is_line_ended) = (false, &mut self.is_line_ended);
                let tells = |wait: &ServerWait| {
                    if !mem::replace(&mut is_told, true) {
                        if stage != Stage::Running {
                            end_the_live_line(is_line_ended);
                        }
                        output::warn(
                            path,
                            format_args!("deleting the lock node in place of the worker: {wait}"),
                        );
                    }
                };
                let gone = link::clean(settings, leftover, &mut is_ended, tells);
                return Some(MonitorInput::Cleaned(gone));
            }
            MonitorEffect::Say(message) => self.say(path, &message),
            // The end of the loop.
            MonitorEffect::Finish(_) => {}
        }
        None
    }

    fn ended(&mut self) -> MonitorInput {
        self.sources.look_again();
        MonitorInput::Ended(self.sources.worker(), self.sources.side.page.pending_create())
    }

    /// Kills the worker and reaps it, if it `lives`. The command has ended: its exit code doesn't wait for a worker of which
    /// a thread is stuck in the kernel.
    fn end_worker(&mut self, lives: bool) -> MonitorInput {
        let (worker, until) = (self.sources.side.worker, clock::now() + LONGEST_END);
        while lives && clock::now() < until && matches!(sys::reap_if_dead(worker), Ok(None)) {
            let _ = kill(worker, Signal::SIGKILL);
            thread::sleep(PAUSE);
        }
        self.ended()
    }

    /// Ends the worker and every process of the command, unless a process doesn't end and zklock was told to end.
    fn end_everybody(&mut self, path: &LockPath) -> MonitorInput {
        let latest = self.sources.side.page.deadline().map(|deadline| deadline + INNER_GRACE);
        let mut sweep =
            Sweep::with_grace_until(latest, clock::now()).without_grace_for(self.sources.side.worker);
        let mut is_reported = false;
        while !sweep.round(&self.children, None, &self.unrelated, clock::now()) {
            if let Some(left) = sweep.left_for_long(clock::now()) {
                report_left(path, &left);
                is_reported = true;
            }
            self.pause(sweep.next());
            // A process that doesn't end was reported, so now a signal such as TERM ends zklock.
            if self.sources.signals.drain().any(ends_waiting) && is_reported {
                return MonitorInput::GaveUp(self.sources.worker());
            }
        }
        self.ended()
    }

    fn say(&mut self, path: &LockPath, message: &MonitorMessage) {
        output::queue_output();
        if matches!(message, MonitorMessage::Worker { stage: Stage::Waiting, .. }) {
            end_the_live_line(&mut self.is_line_ended);
        }
        match message.level() {
            Level::Error => output::error(path, message),
            _ => output::warn(path, message),
        }
    }

    fn pause(&self, until: Option<BootTime>) {
        if self.alarm.wait([self.sources.signals.as_fd()], until).is_err() {
            thread::sleep(PAUSE);
        }
    }
}

fn report_left(path: &LockPath, left: &[Left]) {
    output::queue_output();
    for process in left {
        output::warn(path, format_args!("{process}; the lock is kept until its session times out"));
    }
}

/// The live line of a worker that was waiting is still on the screen: a message begins below it.
fn end_the_live_line(is_ended: &mut bool) {
    if !mem::replace(is_ended, true) && output::can_draw_line() {
        output::new_line();
    }
}
