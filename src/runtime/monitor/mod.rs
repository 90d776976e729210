//! The monitor: the process that the user started. It relays signals, stops and continues like the command, and exits
//! with its code. If its worker is killed or stands still, it ends every process of the command and deletes the lock
//! nodes.
//!
//! Nothing may block it: until every process has ended it writes nothing, connects to nothing, and waits only for its
//! worker.

mod fate;
mod signals;

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use self::signals::Arrivals;
use crate::core::exit::Exit;
use crate::core::monitor::{Death, Monitor, MonitorEffect, MonitorInput, Shown};
use crate::core::pair::{Order, Report, Stage};
use crate::core::path::LockPath;
use crate::core::signal::ends_waiting;
use crate::core::time::BootTime;
use crate::runtime::alarm::Alarm;
use crate::runtime::clock;
use crate::runtime::descendants::{Children, Observed, Sweep};
use crate::runtime::job::reap_all_but;
use crate::runtime::pair::{Found, MonitorSide, Received};
use crate::runtime::sys;
use crate::runtime::zk::Settings;

/// How often the monitor checks the children it has inherited, if there are any.
const LOOK: Duration = Duration::from_secs(1);

/// How long a command has run when the monitor locks its memory. That takes half a millisecond, which very short
/// commands shouldn't pay for: memory that was just used isn't swapped out yet.
const BRIEF: Duration = Duration::from_millis(250);

/// The monitor's result.
#[derive(Debug)]
pub enum Outcome {
    /// zklock exits this way.
    Exit(Exit),
    /// zklock becomes the command, whose locks are all held around it, with these variables added.
    Become(Vec<(String, String)>, Found),
}

/// Watches the worker until it has ended. `path` and `settings` are for the cleanup if the worker is killed.
pub fn watch(monitor: MonitorSide, path: &LockPath, settings: &Settings) -> Result<Outcome> {
    let worker = monitor.worker;
    match Watch::begin(monitor, settings) {
        Ok(watch) => Ok(watch.see_it_through(path, settings)),
        // Nothing may run unwatched.
        Err(error) => {
            let _ = kill(worker, Signal::SIGKILL);
            let _ = sys::reap(worker);
            Err(error.context("can't watch over the worker process"))
        }
    }
}

struct Watch {
    monitor: MonitorSide,
    machine: Monitor,
    arrivals: Arrivals,
    alarm: Alarm,
    children: Children,
    /// `None` if `/proc` hides the worker: its memory may be hidden, and its files then belong to another user
    /// (`hidepid`).
    worker: Option<Observed>,
    /// Unrelated children, inherited by zklock from the program that became zklock by exec. They are left alone.
    unrelated: Vec<Pid>,
    line_ended: bool,
    memory: Memory,
}

/// Whether the memory needed for ending processes is locked, so that it works on a machine that swaps or whose disk
/// hangs.
enum Memory {
    /// No command runs yet.
    Loose,
    /// It will be locked at this time.
    KeptFrom(BootTime),
    /// It is locked.
    Kept,
}

impl Watch {
    fn begin(monitor: MonitorSide, settings: &Settings) -> Result<Self> {
        let arrivals = Arrivals::listen(&monitor.found.mask)?;
        let alarm = Alarm::new().context("can't make a timer")?;
        let worker = Observed::new(monitor.worker).ok();
        let mut watch = Self {
            monitor,
            arrivals,
            alarm,
            machine: Monitor::new(settings.session_timeout),
            children: Children::of_this_process(),
            worker,
            unrelated: vec![],
            line_ended: false,
            memory: Memory::Loose,
        };
        // The code for ending processes runs once without anything to end, so that it is in memory from then on.
        watch.look_at_children();
        let all = watch.children.list().unwrap_or_default();
        Sweep::default().round(&watch.children, None, &all, clock::now());
        Ok(watch)
    }

    fn see_it_through(mut self, path: &LockPath, settings: &Settings) -> Outcome {
        loop {
            self.relay_signals();
            let mut effects = self.listen();
            if effects.is_empty() {
                let shown = self.shown();
                effects = self.machine.on(clock::now(), MonitorInput::Looked(shown));
            }
            // The check comes last: SIGCHLD was taken in above, so no later event is missed.
            if effects.is_empty() && sys::is_dead(self.monitor.worker) {
                effects = self.worker_ended();
            }
            if effects.is_empty() && self.wait_for_news().is_err() {
                // A monitor that can't wait can't watch, so it treats the worker as frozen.
                let frozen = Shown { deadline: Some(BootTime::from_nanos(0)), ..self.shown() };
                effects = self.machine.on(clock::now(), MonitorInput::Looked(frozen));
            }
            if let Some(outcome) = self.carry_out(effects, path, settings) {
                return outcome;
            }
        }
    }

    fn worker_ended(&mut self) -> Vec<MonitorEffect> {
        let status = sys::reap(self.monitor.worker).ok();
        self.listen_to_the_dead();
        let shown = self.shown();
        self.machine.on(clock::now(), MonitorInput::WorkerEnded(death(status), shown))
    }

    fn wait_for_news(&mut self) -> std::io::Result<()> {
        let (shown, now) = (self.shown(), clock::now());
        // An orphan of an unrelated child arrives without an event.
        let look = Some(now + LOOK).filter(|_| !self.unrelated.is_empty());
        let keep = self.stay_in_memory(shown, now);
        self.wait([self.machine.wake_at(shown), look, keep].into_iter().flatten().min())?;
        self.look_at_children();
        Ok(())
    }

    fn wait(&self, until: Option<BootTime>) -> std::io::Result<()> {
        let [interrupts, others] = self.arrivals.sources();
        // A socket is always readable once its other end is closed.
        let line = if self.line_ended { others } else { self.monitor.line.as_fd() };
        self.alarm.wait([interrupts, others, line], until)
    }

    /// Locks the memory once a command has run for a while. Returns when that is due, if it is still to come.
    fn stay_in_memory(&mut self, shown: Shown, now: BootTime) -> Option<BootTime> {
        match self.memory {
            Memory::Loose if shown.stage == Stage::Running => self.memory = Memory::KeptFrom(now + BRIEF),
            Memory::KeptFrom(then) if then <= now => {
                sys::stay_in_memory();
                self.memory = Memory::Kept;
            }
            _ => {}
        }
        match self.memory {
            Memory::KeptFrom(then) => Some(then),
            Memory::Loose | Memory::Kept => None,
        }
    }

    fn shown(&self) -> Shown {
        let page = self.monitor.page;
        let deadline = page.deadline();
        Shown { stage: page.stage(), deadline: deadline.map(|deadline| deadline.act), taken: page.taken() }
    }

    /// Takes in the worker's reports until one requires an action.
    fn listen(&mut self) -> Vec<MonitorEffect> {
        loop {
            let report = match self.monitor.line.hear() {
                Received::Word(report) => report,
                Received::Silence => return vec![],
                Received::End => {
                    self.line_ended = true;
                    return vec![];
                }
            };
            let effects = self.machine.on(clock::now(), MonitorInput::Reported(report));
            if !effects.is_empty() {
                return effects;
            }
        }
    }

    fn relay_signals(&mut self) -> bool {
        let mut continued = false;
        for signal in self.arrivals.take() {
            if signal != Signal::SIGCHLD {
                continued |= signal == Signal::SIGCONT;
                // If the worker is frozen for so long that the socket is full, the deadline or the count of signals
                // shows it.
                if self.monitor.line.say(&Order::Signal(signal as i32)).is_ok() {
                    self.machine.on(clock::now(), MonitorInput::Relayed(signal as i32));
                }
            }
        }
        continued
    }

    /// Stops as the command did. If the kernel doesn't stop this group, because no process could continue it, the
    /// worker is told.
    fn stop(&mut self, signal: i32, whole_group: bool) {
        let mut continued = self.relay_signals();
        if !continued {
            sys::stop_by(signal, whole_group, || {
                continued |= self.relay_signals();
                continued
            });
        }
        if !continued && !self.relay_signals() {
            let _ = self.monitor.line.say(&Order::NotStopped);
        }
    }

    /// Reaps inherited children, and remembers those from before the command. While the worker is alive, every orphan
    /// of the command becomes the worker's child, so all other children are unrelated.
    fn look_at_children(&mut self) {
        let worker = self.monitor.worker;
        reap_all_but(worker, &self.children);
        let mut children = self.children.list().unwrap_or_default();
        children.retain(|&child| child != worker);
        // Checked after listing: a worker that isn't ending now hadn't handed the command's processes to the monitor
        // when the children were listed. Before the command may run, there is nothing to hand over.
        let is_there = self.worker.as_ref().is_some_and(|worker| !worker.is_ending());
        if is_there || self.shown().stage == Stage::Waiting {
            self.unrelated = children;
        }
    }

    /// Reports sent before the worker's end still count, except for a stop.
    fn listen_to_the_dead(&mut self) {
        while let Received::Word(report) = self.monitor.line.hear::<Report>() {
            self.machine.on(clock::now(), MonitorInput::Reported(report));
        }
    }

    fn become_command(&mut self, variables: Vec<(String, String)>) -> Outcome {
        // From here on signals are left for the command.
        let _ = SigSet::all().thread_set_mask();
        let ends = |signal: &Signal| ends_waiting(*signal as i32);
        if let Some(signal) = self.arrivals.take().into_iter().find(ends) {
            return Outcome::Exit(Exit::Signal(signal as i32));
        }
        Outcome::Become(variables, self.monitor.found)
    }
}

fn death(status: Option<ExitStatus>) -> Death {
    match status {
        Some(status) if status.success() => Death::Success,
        Some(status) => status.signal().map_or(Death::Failure, Death::Killed),
        None => Death::Unknown,
    }
}
