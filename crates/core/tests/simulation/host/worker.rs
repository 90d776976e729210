//! The worker: its loop, and the effects of its state machine.

use serde_json::Value;
use zklock_core::pair::{Report, Stage};
use zklock_core::queue::contender::{AttemptIds, ContentionError};
use zklock_core::queue::record::{Process, Record};
use zklock_core::run::{Effect, End, Input, Introduction, JobEffect, Reach, Turn};
use zklock_core::signal::SIGCONT;
use zklock_core::time::BootTime;

use super::{Pace, Worker, Zklock};
use crate::sessions::ClientId;
use crate::world::{Event, SessionOwner, World};

impl World {
    pub(crate) fn tell_worker(&mut self, index: usize, input: Input) {
        let worker = &mut self.zklocks[index].worker;
        if worker.alive {
            worker.inbox.push_back(input);
            self.work(index);
        }
    }

    pub(crate) fn wake_worker(&mut self, index: usize, which: u64) {
        let worker = &mut self.zklocks[index].worker;
        if worker.wake == which {
            worker.woken();
            self.work(index);
        }
    }

    /// Runs the worker's loop until it would wait.
    pub(super) fn work(&mut self, index: usize) {
        loop {
            let is_asleep = self.zklocks[index].is_asleep();
            let worker = &mut self.zklocks[index].worker;
            if is_asleep || !worker.alive || worker.frozen || worker.alone || worker.driver.is_none() {
                return;
            }
            if worker.busy_until > self.now {
                let until = worker.busy_until;
                return self.wake_worker_at(index, until);
            }
            let step = match worker.unfinished.take() {
                Some(effect) => Turn::CarryOut(effect),
                None => self.next_step(index),
            };
            match step {
                Turn::CarryOut(effect) => self.carry_out(index, effect),
                Turn::Wait(wake) => {
                    let Some(wake) = wake else { return };
                    let at = self.zklocks[index].time_of(wake, self.now);
                    return self.wake_worker_at(index, at);
                }
            }
        }
    }

    fn next_step(&mut self, index: usize) -> Turn {
        let now = self.zklocks[index].clock(self.now);
        let Zklock { worker, page, .. } = &mut self.zklocks[index];
        let Worker { driver: Some(driver), inbox, continued, .. } = worker else { return Turn::Wait(None) };
        driver.next(
            || now,
            || {
                let input = inbox.pop_front();
                if let Some(Input::Signal(signal)) = input {
                    *continued += u64::from(signal == SIGCONT);
                    page.taken += 1;
                }
                input
            },
        )
    }

    pub(super) fn wake_worker_at(&mut self, index: usize, at: u64) {
        let worker = &mut self.zklocks[index].worker;
        worker.wake += 1;
        let which = worker.wake;
        self.at(at, Event::WakeWorker(index, which));
    }

    pub(super) fn answer_worker(&mut self, index: usize, input: Input) {
        if let Some(driver) = &mut self.zklocks[index].worker.driver {
            driver.answer(input);
        }
    }

    #[allow(clippy::too_many_lines, reason = "one arm for each effect")]
    pub(super) fn carry_out(&mut self, index: usize, effect: Effect) {
        match effect {
            Effect::Connect { key, deadline } => {
                (self.zklocks[index].own, self.zklocks[index].missing) = (vec![], false);
                let wanted = self.zklocks[index].contender.session_timeout;
                let client = self.open(SessionOwner::Worker(index), key, wanted, deadline);
                self.zklocks[index].worker.client = Some(client);
            }
            Effect::Introduce => {
                let introduction = self.introduction(index);
                self.answer_worker(index, Input::Introduced(introduction));
            }
            Effect::Ask(asker, request) => {
                if let Some(client) = self.zklocks[index].worker.client {
                    self.ask(client, asker, request);
                }
            }
            Effect::Release(nodes) => {
                if let Some(client) = self.zklocks[index].worker.client {
                    self.release(client, nodes);
                }
            }
            Effect::Clean(leftover) => self.begin_cleaning(SessionOwner::WorkersCleaner(index), leftover),
            Effect::ReportCreate(path) => self.zklocks[index].page.pending_create = Some(path),
            Effect::ReportNodes { session_timeout, nodes } => {
                self.zklocks[index].own = nodes.iter().map(|node| node.path.as_str().to_owned()).collect();
                let session_timeout = u64::try_from(session_timeout.as_millis()).unwrap_or(u64::MAX);
                self.report(index, Report::Nodes { session_timeout, nodes });
                self.zklocks[index].page.pending_create = None;
            }
            Effect::StartCommand { variables, latest, deadline } => {
                self.start_command(index, variables, latest, deadline);
            }
            Effect::Job(effect) => self.carry_out_on_job(index, effect),
            // These effects show nothing on a simulated host.
            Effect::Line(_) | Effect::Notify(_) | Effect::Detach => {}
            Effect::Suspend(signal) => self.tell_to_stop(index, signal),
            Effect::ContinueMonitor => {
                if self.zklocks[index].monitor.stopped {
                    self.signal(index, SIGCONT);
                }
            }
            Effect::SetDeadline(deadline) => self.set_deadline(index, deadline),
            Effect::CommandIsOver(exit, within) => {
                self.report(index, Report::Exit(exit));
                let zklock = &mut self.zklocks[index];
                zklock.page.stage = Some(Stage::Over);
                let end = zklock.clock(self.now) + within;
                self.set_deadline(index, Some(end));
            }
            Effect::Say(path, message) => {
                let reason = message.fields.get("reason").and_then(Value::as_str).unwrap_or_default();
                if message.event == "lost" && message.fields["kill_in"] != 0.0 {
                    self.zklocks[index].worker.stop_began = true;
                }
                match (message.event, reason) {
                    ("lost", "lease") => self.check_loss(index),
                    ("lost", "deleted") => self.check_deleted(index, path.as_str()),
                    ("error", "queue") if message.text == ContentionError::Deleted.to_string() => {
                        self.check_deleted(index, path.as_str());
                    }
                    _ => {}
                }
                self.trace.print(self.now, || format!("zklock {index} says: {path}: {message}"));
            }
            Effect::FlushOutput(limit) => {
                // Sometimes the messages aren't read in time.
                if self.zklocks[index].contender.pace == Pace::Drawn && self.rng.u8(0..10) == 0 {
                    let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).min(500_000_000);
                    let takes = self.rng.u64(0..=limit);
                    self.zklocks[index].worker.busy_until = self.now + takes;
                }
            }
            Effect::Finish(end) => self.finish(index, end),
        }
    }

    fn carry_out_on_job(&mut self, index: usize, effect: JobEffect) {
        use JobEffect::{
            ContinueStopped, Kill, LookAtChildren, Reap, Resume, SignalAll, SignalGroup, SignalLeader,
        };

        if matches!(effect, SignalLeader(_) | SignalGroup(_) | SignalAll(_) | Reap) {
            self.trace.print(self.now, || format!("zklock {index}: {effect:?}"));
        }
        match effect {
            SignalLeader(signal) => self.signal_command(index, signal, Reach::Leader),
            SignalGroup(signal) => self.signal_command(index, signal, Reach::Group),
            SignalAll(signal) => self.signal_command(index, signal, Reach::All),
            ContinueStopped => self.signal_command(index, SIGCONT, Reach::Group),
            Resume => {
                if self.zklocks[index].command.as_ref().is_some_and(|command| command.unseen.is_none()) {
                    self.signal_command(index, SIGCONT, Reach::Group);
                }
            }
            Reap => self.reap_command(index),
            LookAtChildren(reach) => self.look_at_children(index, reach),
            Kill { .. } => self.kill_round(index),
        }
    }

    pub(super) fn introduction(&mut self, index: usize) -> Introduction {
        let contender = &self.zklocks[index].contender;
        let host = format!("host{index}");
        let process = Process { boot: host.clone(), namespace: "pid:[1]".to_owned(), started: index as u64 };
        let record = Record {
            version: 1,
            host,
            pid: u32::try_from(1_000 + index).unwrap(),
            user: "ada".to_owned(),
            program: "job".to_owned(),
            label: None,
            mode: contender.mode.word().to_owned(),
            slots: contender.mode.slots(),
            has_slot: false,
            stopped: false,
            held_after_ms: None,
            process: Some(Box::new(process)),
            revoked_by: None,
        };
        let ids = contender.locks.iter().map(|_| AttemptIds(self.rng.u128(..))).collect();
        Introduction { record, ids }
    }

    pub(super) fn tell_to_stop(&mut self, index: usize, signal: i32) {
        let continued = self.zklocks[index].worker.continued;
        self.report(index, Report::Suspend { signal, continued });
    }

    pub(super) fn set_deadline(&mut self, index: usize, deadline: Option<BootTime>) {
        let old = self.zklocks[index].page.deadline;
        self.zklocks[index].page.deadline = deadline;
        let shorter = match (old, deadline) {
            (Some(old), Some(new)) => new < old,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if shorter {
            self.report(index, Report::DeadlineChanged);
        }
    }

    pub(super) fn report(&mut self, index: usize, report: Report) {
        self.zklocks[index].monitor.reports.push_back(report);
        // The monitor reads the report when it next runs, which is soon.
        self.wake_monitor_at(index, self.now + 50_000);
    }

    pub(super) fn finish(&mut self, index: usize, end: End) {
        match end {
            End::Exit(exit) => {
                self.report(index, Report::Exit(exit));
                self.worker_ends(index);
            }
            End::ExitNow(exit, leftover) => {
                self.report(index, Report::ExitNow(exit));
                self.zklocks[index].worker.alone = true;
                match leftover.filter(|leftover| !leftover.is_empty()) {
                    Some(leftover) if self.zklocks[index].worker.cleaner.is_none() => {
                        self.begin_cleaning(SessionOwner::WorkersCleaner(index), leftover);
                    }
                    _ if self.zklocks[index].worker.cleaner.is_some() => {}
                    _ => self.worker_ends(index),
                }
            }
        }
    }

    pub(super) fn worker_ends(&mut self, index: usize) {
        let worker = &mut self.zklocks[index].worker;
        if !worker.alive {
            return;
        }
        worker.alive = false;
        let clients: Vec<ClientId> = [worker.client, worker.cleaner.take().map(|cleaner| cleaner.client)]
            .into_iter()
            .flatten()
            .collect();
        for client in clients {
            self.abandon(client);
        }
        self.wake_monitor_at(index, self.now + 50_000);
    }
}
