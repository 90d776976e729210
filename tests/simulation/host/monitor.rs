//! The monitor: its loop, and the effects of its state machine.

use zklock::core::exit::Exit;
use zklock::core::monitor::{Death, MonitorEffect, MonitorInput, Outcome};
use zklock::core::run::Input;
use zklock::core::signal::SIGKILL;

use super::KILL_TAKES;
use crate::world::{Event, SessionOwner, World};

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
            if zklock.is_asleep() || !zklock.monitor.alive || zklock.monitor.frozen || zklock.monitor.stopped
            {
                return;
            }
            let now = zklock.clock(self.now);
            if zklock.monitor.ending {
                return;
            }
            let input = if let Some(signal) = zklock.monitor.signals.pop_front() {
                if zklock.worker.alive {
                    self.tell_worker(index, Input::Signal(signal));
                }
                MonitorInput::Relayed(signal)
            } else if let Some(report) = zklock.monitor.reports.pop_front() {
                MonitorInput::Reported(report)
            } else {
                let state = zklock.worker_state();
                let effects = zklock.monitor.machine.on(now, MonitorInput::Looked(state));
                if !effects.is_empty() {
                    self.monitor_does(index, effects);
                    continue;
                }
                if !zklock.worker.alive && !zklock.monitor.worker_reaped {
                    zklock.monitor.worker_reaped = true;
                    let killed = zklock.was_hit && zklock.exit.is_none() && zklock.worker.driver.is_some();
                    let death = if killed && !zklock.worker.alone && zklock.worker_was_killed() {
                        Death::Killed(SIGKILL)
                    } else {
                        Death::Success
                    };
                    MonitorInput::WorkerEnded(death, state)
                } else {
                    break;
                }
            };
            let zklock = &mut self.zklocks[index];
            let effects = zklock.monitor.machine.on(now, input);
            self.monitor_does(index, effects);
        }
        let zklock = &self.zklocks[index];
        if let Some(wake) = zklock.monitor.machine.wake_at(zklock.worker_state()) {
            let at = zklock.time_of(wake, self.now);
            self.wake_monitor_at(index, at);
        }
    }

    pub(super) fn monitor_does(&mut self, index: usize, effects: Vec<MonitorEffect>) {
        for effect in effects {
            match effect {
                MonitorEffect::Stop { .. } => {
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
                    self.after(KILL_TAKES + 2_000_000, Event::Thaw(index, true));
                }
                MonitorEffect::TakeTerminal => {}
                MonitorEffect::Say(message) => {
                    self.trace.print(self.now, || format!("zklock {index} says: {message}"));
                }
                MonitorEffect::Clean(leftover) => {
                    self.begin_cleaning(SessionOwner::MonitorsCleaner(index), leftover);
                }
                MonitorEffect::Finish(Outcome::Exit(exit)) => self.monitor_exits(index, exit),
                MonitorEffect::Finish(Outcome::Become(_)) => self.becomes_command(index),
            }
        }
    }

    /// Ends every process below the monitor.
    pub(super) fn end_all_processes(&mut self, index: usize) {
        if !self.swept(index) {
            return;
        }
        let zklock = &mut self.zklocks[index];
        zklock.monitor.ending = false;
        self.check_inner_stopped(index);
        let zklock = &mut self.zklocks[index];
        if let Some(command) = &mut zklock.command {
            for process in &mut command.processes {
                process.dead = true;
            }
        }
        self.monitor_is_answered_ended(index);
        self.watch(index);
    }

    pub(super) fn monitor_is_answered_ended(&mut self, index: usize) {
        let zklock = &mut self.zklocks[index];
        let now = zklock.clock(self.now);
        while let Some(report) = zklock.monitor.reports.pop_front() {
            zklock.monitor.machine.on(now, MonitorInput::Reported(report));
        }
        zklock.monitor.worker_reaped = true;
        let (state, pending_create) = (zklock.worker_state(), zklock.page.pending_create.clone());
        let effects = zklock.monitor.machine.on(now, MonitorInput::Ended(state, pending_create));
        self.monitor_does(index, effects);
    }

    pub(super) fn monitor_exits(&mut self, index: usize, exit: Exit) {
        let zklock = &mut self.zklocks[index];
        zklock.monitor.alive = false;
        zklock.exit = Some(exit);
        self.trace.print(self.now, || format!("zklock {index} exits: {exit:?}"));
        self.check_exit(index, exit);
        self.tell_outer(index, exit);
        self.start_leftovers(index);
    }

    pub(super) fn kill_worker(&mut self, index: usize) {
        self.worker_ends(index);
    }
}
