//! The monitor: the process that the user started. It forwards signals to the worker, stops and continues like the
//! command, and exits with its code. If its worker is killed or hangs, it ends every process of the command and
//! deletes the lock nodes.
//!
//! Nothing may block it: until every process has ended it connects to nothing, and waits only for its worker. What it
//! writes, a thread of its own writes.

mod effects;
mod signals;
mod sources;

use std::process;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use zklock_core::exit::Exit;
use zklock_core::monitor::{MonitorDriver, MonitorEffect, MonitorInput, MonitorTurn};
use zklock_core::pair::{Order, Stage};
use zklock_core::path::LockPath;
use zklock_core::signal::SIGCONT;
use zklock_core::time::BootTime;

use self::signals::CaughtSignals;
use self::sources::Sources;
use crate::ensemble::Settings;
use crate::job::descendants::{Children, Observed, Sweep, end_all};
use crate::job::reap_all_but;
use crate::link::MonitorSide;
use crate::process::alarm::Alarm;
use crate::process::clock;
use crate::process::sys;
use crate::process::system_error::explain;

/// When the monitor's memory is locked after the start of a command: most commands are over by then.
const LOCKED_AFTER: Duration = Duration::from_secs(1);

/// How often the monitor checks the children it has inherited, if there are any.
const CHILDREN_INTERVAL: Duration = Duration::from_secs(1);

/// The unrelated children, which zklock has inherited from the program that became zklock by exec. To be listed before
/// the fork: a worker that is killed soon leaves its command to the monitor before that has looked once.
///
/// # Errors
/// If they can't be listed: then nothing is known, and a sweep could end them.
pub fn unrelated_children() -> Result<Vec<Pid>> {
    Children::of_this_process()?.list().context("can't read the list of this process's children in /proc")
}

/// Watches over the worker, which may be one that `records` a success, until it has ended. `path` and `settings` are for
/// messages and the cleanup if the worker is killed.
///
/// # Errors
/// If the monitor can't be set up. The worker is killed then.
pub fn watch(
    monitor: MonitorSide,
    unrelated: Vec<Pid>,
    records: bool,
    path: &LockPath,
    settings: &Settings,
) -> Result<Exit> {
    let (worker, page, spared) = (monitor.worker, monitor.page, unrelated.clone());
    match MonitorLoop::begin(monitor, unrelated, records, settings) {
        Ok(monitor) => Ok(monitor.run(path, settings)),
        // The worker must not run without a monitor, nor a command that it has started already.
        Err(error) => {
            let _ = kill(worker, Signal::SIGKILL);
            let _ = sys::reap(worker);
            if page.stage() == Stage::Running
                && let Ok(children) = Children::of_this_process()
            {
                end_all(&children, &spared);
            }
            Err(error.context("can't watch over the worker process"))
        }
    }
}

struct MonitorLoop {
    driver: MonitorDriver,
    sources: Sources,
    alarm: Alarm,
    children: Children,
    /// `None` if `/proc` hides the worker: its memory may be hidden, and its files then belong to another user
    /// (`hidepid`).
    worker: Option<Observed>,
    /// Unrelated children, at first those that zklock has inherited from the program that became zklock by exec, later
    /// also their orphans. They are left alone.
    unrelated: Vec<Pid>,
    /// A check has shown that there are none, and so there never will be any: while the worker is alive, its
    /// descendants become its own children. Only PID 1 also inherits the orphans of other processes.
    has_only_the_worker: bool,
    /// Whether the worker's live line was ended, so that messages begin below it.
    is_line_ended: bool,
    /// When its memory is locked, so that it can end processes even on a machine that swaps or whose disk hangs.
    locks_memory_at: Option<BootTime>,
    is_in_memory: bool,
}

impl MonitorLoop {
    fn begin(side: MonitorSide, unrelated: Vec<Pid>, records: bool, settings: &Settings) -> Result<Self> {
        let signals = CaughtSignals::listen(&side.inherited)?;
        let alarm = Alarm::new().context("can't make a timer")?;
        let worker = Observed::new(side.worker).ok();
        let mut this = Self {
            driver: MonitorDriver::new(settings.session_timeout, records),
            sources: Sources::new(side, signals),
            alarm,
            children: Children::of_this_process()?,
            worker,
            unrelated,
            has_only_the_worker: false,
            is_line_ended: false,
            locks_memory_at: None,
            is_in_memory: false,
        };
        let _ = this.check_children();
        // The code for ending processes runs once without anything to end, so that it is in memory from then on.
        if let Some(all) = this.children.list() {
            Sweep::default().round(&this.children, None, &all, clock::now());
        }
        Ok(this)
    }

    fn run(mut self, path: &LockPath, settings: &Settings) -> Exit {
        loop {
            match self.driver.next(&mut self.sources) {
                MonitorTurn::CarryOut(MonitorEffect::Finish(exit)) => return exit,
                MonitorTurn::CarryOut(effect) => {
                    if let Some(answer) = self.carry_out(effect, path, settings) {
                        self.driver.answer(answer);
                    }
                }
                MonitorTurn::Wait(until) => {
                    if let Err(error) = self.wait_for_events(until) {
                        self.driver.answer(MonitorInput::CannotWatch(explain(&error)));
                    }
                }
            }
        }
    }

    fn wait_for_events(&mut self, until: Option<BootTime>) -> Result<()> {
        self.sources.check()?;
        let now = clock::now();
        // A waiter's needn't be locked.
        if self.sources.side.page.stage() == Stage::Running {
            let due = *self.locks_memory_at.get_or_insert(now + LOCKED_AFTER);
            if !self.is_in_memory && due <= now {
                sys::lock_memory();
                self.is_in_memory = true;
            }
        }
        let lock = self.locks_memory_at.filter(|_| !self.is_in_memory);
        // No event announces an orphan of an unrelated child.
        let check = Some(now + CHILDREN_INTERVAL).filter(|_| !self.unrelated.is_empty());
        let until = [until, check, lock, self.sources.look_at()].into_iter().flatten().min();
        let ready = self.alarm.wait(self.sources.sources(), until).context("can't wait for what happens")?;
        self.sources.note(ready);
        if !self.has_only_the_worker {
            let _ = self.check_children();
        }
        Ok(())
    }

    /// Stops by the signal that stopped the command. If the kernel doesn't stop this process, because none could continue
    /// it, a worker that waits has to go on.
    fn suspend(&mut self, signal: i32) {
        let sources = &mut self.sources;
        if sources.forward_signals() {
            return;
        }
        sys::stop_by(signal);
        if !sources.forward_signals() && sources.side.page.stage() == Stage::Waiting {
            sources.forward(Order::Signal(SIGCONT));
        }
    }

    /// Reaps dead inherited children, and updates the list of unrelated ones. While the worker is alive, every orphan
    /// of the command becomes the worker's child, so all other children are unrelated. Returns `None`, and leaves what
    /// was known, if the children can't be listed.
    fn check_children(&mut self) -> Option<()> {
        let worker = self.sources.side.worker;
        reap_all_but(worker, &self.children);
        let mut children = self.children.list()?;
        children.retain(|&child| child != worker);
        // Checked after the listing: if the worker isn't ending now, the monitor had inherited none of the command's
        // processes when the children were listed. Before the command may run, there are none.
        let worker_is_alive = || self.worker.as_ref().is_some_and(|worker| !worker.is_ending());
        if self.sources.side.page.stage() == Stage::Waiting || worker_is_alive() {
            self.has_only_the_worker = children.is_empty() && process::id() != 1;
            self.unrelated = children;
        }
        Some(())
    }
}
