//! The monitor: the effects of its state machine.

use std::collections::VecDeque;

use zklock_core::exit::Exit;
use zklock_core::monitor::{Death, MonitorEffect, MonitorInput, MonitorSources, MonitorTurn, WorkerState};
use zklock_core::pair::Report;
use zklock_core::run::Input;
use zklock_core::signal::SIGKILL;
use zklock_core::time::BootTime;

use super::{Watcher, Zklock};
use crate::world::{Event, SessionOwner, World};

/// What a monitor observes of its zklock.
struct Observed<'a> {
    now: BootTime,
    worker: WorkerState,
    death: Option<Death>,
    signals: &'a mut VecDeque<i32>,
    reports: &'a mut VecDeque<Report>,
    /// The signals that were sent on to the worker.
    relayed: Vec<i32>,
}

impl MonitorSources for Observed<'_> {
    fn now(&self) -> BootTime {
        self.now
    }

    fn relayed(&mut self) -> Option<i32> {
        let signal = self.signals.pop_front()?;
        self.relayed.push(signal);
        Some(signal)
    }

    fn death(&mut self) -> Option<Death> {
        self.death
    }

    fn report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    fn worker(&self) -> WorkerState {
        self.worker
    }
}

impl Zklock {
    /// The monitor's next step, and the signals that it sent on to the worker before.
    fn monitor_step(&mut self, now: u64) -> (MonitorTurn, Vec<i32>) {
        let (now, worker, death) = (self.clock(now), self.worker_state(), self.death());
        let Watcher { driver, signals, reports, .. } = &mut self.monitor;
        let mut observed = Observed { now, worker, death, signals, reports, relayed: vec![] };
        let step = driver.next(&mut observed);
        (step, observed.relayed)
    }

    fn death(&self) -> Option<Death> {
        let killed = self.was_hit && self.exit.is_none() && self.worker.driver.is_some();
        let death = if killed && !self.worker.alone && self.worker_was_killed() {
            Death::Killed(SIGKILL)
        } else {
            Death::Success
        };
        (!self.worker.alive).then_some(death)
    }
}

impl World {
    pub(super) fn wake_monitor_at(&mut self, index: usize, at: u64) {
        let monitor = &mut self.zklocks[index].monitor;
        monitor.wake += 1;
        let which = monitor.wake;
        self.at(at, Event::WakeMonitor(index, which));
    }

    pub(crate) fn wake_monitor(&mut self, index: usize, which: u64) {
        if self.zklocks[index].monitor.wake == which {
            self.watch(index);
        }
    }

    /// Runs the monitor's loop until it would wait.
    pub(super) fn watch(&mut self, index: usize) {
        loop {
            let zklock = &mut self.zklocks[index];
            let Watcher { alive, frozen, stopped, ending, .. } = zklock.monitor;
            if zklock.is_asleep() || !alive || frozen || stopped || ending {
                return;
            }
            let (step, relayed) = zklock.monitor_step(self.now);
            for signal in relayed {
                self.tell_worker(index, Input::Signal(signal));
            }
            match step {
                MonitorTurn::CarryOut(effect) => self.monitor_does(index, effect),
                MonitorTurn::Wait(wake) => {
                    let Some(wake) = wake else { return };
                    let at = self.zklocks[index].time_of(wake, self.now);
                    return self.wake_monitor_at(index, at);
                }
            }
        }
    }

    fn monitor_does(&mut self, index: usize, effect: MonitorEffect) {
        match effect {
            MonitorEffect::Suspend(_) => {
                self.trace.print(self.now, || format!("the monitor of zklock {index} stops"));
                self.zklocks[index].monitor.stopped = true;
                // The user of the shell continues it after a while.
                let after = self.rng.u64(100_000_000..20_000_000_000);
                self.after(after, Event::Thaw(index, false));
            }
            MonitorEffect::EndWorker => {
                self.kill_worker(index);
                self.monitor_is_answered_ended(index);
            }
            MonitorEffect::EndNobody => self.monitor_is_answered_ended(index),
            MonitorEffect::EndEverybody => {
                self.check_end(index);
                self.trace.print(self.now, || format!("the monitor of zklock {index} ends everybody"));
                self.kill_worker(index);
                self.zklocks[index].monitor.ending = true;
                self.kill_command(index);
                let takes = self.zklocks[index].contender.pace.longest_kill();
                self.after(takes + 2_000_000, Event::Thaw(index, true));
            }
            MonitorEffect::ExtendTimeout(_) => {}
            MonitorEffect::Say(message) => {
                self.trace.print(self.now, || format!("zklock {index} says: {message}"));
            }
            MonitorEffect::Clean(leftover) => {
                self.begin_cleaning(SessionOwner::MonitorsCleaner(index), leftover);
            }
            MonitorEffect::Finish(exit) => self.monitor_exits(index, exit),
        }
    }

    /// Ends every process below the monitor.
    pub(super) fn end_all_processes(&mut self, index: usize) {
        let zklock = &mut self.zklocks[index];
        zklock.monitor.ending = false;
        if let Some(command) = &mut zklock.command {
            for process in &mut command.processes {
                process.dead = true;
            }
        }
        self.monitor_is_answered_ended(index);
        self.watch(index);
    }

    fn monitor_is_answered_ended(&mut self, index: usize) {
        let zklock = &self.zklocks[index];
        let ended = MonitorInput::Ended(zklock.worker_state(), zklock.page.pending_create.clone());
        self.answer_monitor(index, ended);
    }

    pub(super) fn answer_monitor(&mut self, index: usize, answer: MonitorInput) {
        self.zklocks[index].monitor.driver.answer(answer);
    }

    pub(super) fn monitor_exits(&mut self, index: usize, exit: Exit) {
        let zklock = &mut self.zklocks[index];
        zklock.monitor.alive = false;
        zklock.exit = Some(exit);
        self.trace.print(self.now, || format!("zklock {index} exits: {exit:?}"));
        self.check_exit(index, exit);
    }

    pub(super) fn kill_worker(&mut self, index: usize) {
        self.worker_ends(index);
    }
}
