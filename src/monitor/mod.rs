//! The monitor: the process that the user started. It forwards signals to the worker, stops and continues like the
//! command, and exits with its code. If its worker is killed or hangs, it ends every process of the command and
//! deletes the lock nodes.
//!
//! Nothing may block it: until every process has ended it writes nothing, connects to nothing, and waits only for its
//! worker.

mod effects;
mod signals;

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use self::signals::CaughtSignals;
use crate::core::exit::Exit;
use crate::core::monitor::{Death, Monitor, MonitorEffect, MonitorInput, Outcome, WorkerState};
use crate::core::pair::{Order, Report, Stage};
use crate::core::path::LockPath;
use crate::core::signal::ends_waiting;
use crate::core::time::BootTime;
use crate::ensemble::Settings;
use crate::job::descendants::{Children, Observed, Sweep};
use crate::job::reap_all_but;
use crate::link::{MonitorSide, Received};
use crate::process::alarm::Alarm;
use crate::process::clock;
use crate::process::sys;

/// How often the monitor checks the children it has inherited, if there are any.
const CHILDREN_INTERVAL: Duration = Duration::from_secs(1);

/// The monitor locks its memory once a command has run for this long. Locking takes half a millisecond, which would
/// delay very short commands, and memory that was just used isn't swapped out yet.
const LOCK_MEMORY_AFTER: Duration = Duration::from_millis(250);

/// Watches over the worker until it has ended. `path` and `settings` are for messages and the cleanup if the worker is
/// killed.
///
/// # Errors
/// If the monitor can't be set up. The worker is killed then.
pub fn watch(monitor: MonitorSide, path: &LockPath, settings: &Settings) -> Result<Outcome> {
    let worker = monitor.worker;
    match MonitorLoop::begin(monitor, settings) {
        Ok(monitor) => Ok(monitor.run(path, settings)),
        // The worker must not run without a monitor.
        Err(error) => {
            let _ = kill(worker, Signal::SIGKILL);
            let _ = sys::reap(worker);
            Err(error.context("can't watch over the worker process"))
        }
    }
}

struct MonitorLoop {
    monitor: MonitorSide,
    machine: Monitor,
    signals: CaughtSignals,
    alarm: Alarm,
    children: Children,
    /// `None` if `/proc` hides the worker: its memory may be hidden, and its files then belong to another user
    /// (`hidepid`).
    worker: Option<Observed>,
    /// Unrelated children, inherited by zklock from the program that became zklock by exec. They are left alone.
    unrelated: Vec<Pid>,
    /// A check has shown that there are none, and so there never will be any: while the worker is alive, its
    /// descendants become its own children. Only PID 1 also inherits the orphans of other processes.
    has_only_the_worker: bool,
    /// The worker's end of the socket is closed, so the socket is always readable.
    socket_closed: bool,
    memory: MemoryLock,
}

/// Whether the monitor's memory is locked, so that it can end processes even on a machine that swaps or whose disk
/// hangs.
enum MemoryLock {
    /// No command runs yet.
    Off,
    /// It will be locked at this time.
    DueAt(BootTime),
    /// It is locked.
    On,
}

impl MonitorLoop {
    fn begin(monitor: MonitorSide, settings: &Settings) -> Result<Self> {
        let signals = CaughtSignals::listen(&monitor.inherited.mask)?;
        let alarm = Alarm::new().context("can't make a timer")?;
        let worker = Observed::new(monitor.worker).ok();
        let mut this = Self {
            monitor,
            signals,
            alarm,
            machine: Monitor::new(settings.session_timeout),
            children: Children::of_this_process(),
            worker,
            unrelated: vec![],
            has_only_the_worker: false,
            socket_closed: false,
            memory: MemoryLock::Off,
        };
        // The code for ending processes runs once without anything to end, so that it is in memory from then on.
        this.check_children();
        let all = this.children.list().unwrap_or_default();
        Sweep::default().round(&this.children, None, &all, clock::now());
        Ok(this)
    }

    fn run(mut self, path: &LockPath, settings: &Settings) -> Outcome {
        loop {
            self.forward_signals();
            let mut effects = self.read_reports();
            if effects.is_empty() {
                let state = self.worker_state();
                effects = self.machine.on(clock::now(), MonitorInput::Looked(state));
            }
            // The check comes last: SIGCHLD was taken in above, so no later event is missed.
            if effects.is_empty() && sys::is_dead(self.monitor.worker) {
                effects = self.worker_ended();
            }
            if effects.is_empty() && self.wait_for_events().is_err() {
                // A monitor that can't wait can't watch, so it treats the worker as frozen.
                let frozen = WorkerState { deadline: Some(BootTime::from_nanos(0)), ..self.worker_state() };
                effects = self.machine.on(clock::now(), MonitorInput::Looked(frozen));
            }
            if let Some(outcome) = self.carry_out(effects, path, settings) {
                return outcome;
            }
        }
    }

    fn worker_ended(&mut self) -> Vec<MonitorEffect> {
        let status = sys::reap(self.monitor.worker).ok();
        self.read_last_reports();
        let state = self.worker_state();
        self.machine.on(clock::now(), MonitorInput::WorkerEnded(death(status), state))
    }

    fn wait_for_events(&mut self) -> std::io::Result<()> {
        let (state, now) = (self.worker_state(), clock::now());
        // No event announces an orphan of an unrelated child.
        let check = Some(now + CHILDREN_INTERVAL).filter(|_| !self.unrelated.is_empty());
        let lock = self.lock_memory_when_due(state, now);
        self.wait([self.machine.wake_at(state), check, lock].into_iter().flatten().min())?;
        if !self.has_only_the_worker {
            self.check_children();
        }
        Ok(())
    }

    fn wait(&self, until: Option<BootTime>) -> std::io::Result<()> {
        let [interrupts, others] = self.signals.sources();
        let socket = if self.socket_closed { others } else { self.monitor.socket.as_fd() };
        self.alarm.wait([interrupts, others, socket], until)
    }

    /// Locks the memory once a command has run for [`LOCK_MEMORY_AFTER`]. Returns when that is due, if it is still to
    /// come.
    fn lock_memory_when_due(&mut self, state: WorkerState, now: BootTime) -> Option<BootTime> {
        match self.memory {
            MemoryLock::Off if state.stage == Stage::Running => {
                self.memory = MemoryLock::DueAt(now + LOCK_MEMORY_AFTER);
            }
            MemoryLock::DueAt(then) if then <= now => {
                sys::lock_memory();
                self.memory = MemoryLock::On;
            }
            _ => {}
        }
        match self.memory {
            MemoryLock::DueAt(then) => Some(then),
            MemoryLock::Off | MemoryLock::On => None,
        }
    }

    fn worker_state(&self) -> WorkerState {
        let page = self.monitor.page;
        let deadline = page.deadline().map(|deadline| deadline.act);
        WorkerState { stage: page.stage(), deadline, taken: page.taken() }
    }

    /// Reads the worker's reports until one requires an action.
    fn read_reports(&mut self) -> Vec<MonitorEffect> {
        loop {
            let report = match self.monitor.socket.receive() {
                Received::Message(report) => report,
                Received::Nothing => return vec![],
                Received::Closed => {
                    self.socket_closed = true;
                    return vec![];
                }
            };
            let effects = self.machine.on(clock::now(), MonitorInput::Reported(report));
            if !effects.is_empty() {
                return effects;
            }
        }
    }

    /// Forwards signals to the worker. Returns whether there was a SIGCONT.
    fn forward_signals(&mut self) -> bool {
        let mut continued = false;
        for signal in self.signals.take() {
            if signal != Signal::SIGCHLD {
                continued |= signal == Signal::SIGCONT;
                // If the worker is frozen for so long that the socket is full, the deadline or the count of signals
                // shows it.
                if self.monitor.socket.send(&Order::Signal(signal as i32)).is_ok() {
                    self.machine.on(clock::now(), MonitorInput::Relayed(signal as i32));
                }
            }
        }
        continued
    }

    /// Stops by the signal that stopped the command. If the kernel doesn't stop this group, because no process could
    /// continue it, the monitor tells the worker.
    fn stop(&mut self, signal: i32, whole_group: bool) {
        let mut continued = self.forward_signals();
        if !continued {
            sys::stop_by(signal, whole_group, || {
                continued |= self.forward_signals();
                continued
            });
        }
        if !continued && !self.forward_signals() {
            let _ = self.monitor.socket.send(&Order::NotStopped);
        }
    }

    /// Reaps dead inherited children, and updates the list of unrelated ones. While the worker is alive, every orphan
    /// of the command becomes the worker's child, so all other children are unrelated.
    fn check_children(&mut self) {
        let worker = self.monitor.worker;
        reap_all_but(worker, &self.children);
        let mut children = self.children.list().unwrap_or_default();
        children.retain(|&child| child != worker);
        // Checked after the listing: if the worker isn't ending now, the monitor had inherited none of the command's
        // processes when the children were listed. Before the command may run, there are none.
        let worker_is_alive = || self.worker.as_ref().is_some_and(|worker| !worker.is_ending());
        if self.monitor.page.stage() == Stage::Waiting || worker_is_alive() {
            self.has_only_the_worker = children.is_empty() && process::id() != 1;
            self.unrelated = children;
        }
    }

    /// Reads the reports that the worker sent before its end. They count, except for a stop.
    fn read_last_reports(&mut self) {
        while let Received::Message(report) = self.monitor.socket.receive::<Report>() {
            self.machine.on(clock::now(), MonitorInput::Reported(report));
        }
    }

    fn become_command(&mut self, variables: Vec<(String, String)>) -> Outcome {
        // From here on signals are left for the command.
        let _ = SigSet::all().thread_set_mask();
        let ends = |signal: &Signal| ends_waiting(*signal as i32);
        if let Some(signal) = self.signals.take().into_iter().find(ends) {
            return Outcome::Exit(Exit::Signal(signal as i32));
        }
        Outcome::Become(variables)
    }
}

fn death(status: Option<ExitStatus>) -> Death {
    match status {
        Some(status) if status.success() => Death::Success,
        Some(status) => status.signal().map_or(Death::Failure, Death::Killed),
        None => Death::Unknown,
    }
}
