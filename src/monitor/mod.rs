//! The monitor: the process that the user started. It relays, mirrors, and exits; and when its worker is killed or stands
//! still, it ends every process of the command and deletes the lock nodes.
//!
//! Nothing may hold it up: until every process is ended it writes nothing, connects to nothing and waits for nothing
//! but its worker.

mod duty;
mod fate;
mod signals;

use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use self::duty::{Duty, End, Shown, Task, Why};
use self::fate::Death;
use self::signals::Arrivals;
use crate::alarm::Alarm;
use crate::clock::BootTime;
use crate::descendants::{Children, Observed, Sweep};
use crate::exit::Exit;
use crate::job::reap_all_but;
use crate::lock::path::LockPath;
use crate::pair::{Found, Heard, Monitor, Order, Report, Stage};
use crate::planted::{Mistake, planted};
use crate::sys;
use crate::zk::Settings;

/// How often the monitor looks for children that it has inherited, where there are any.
const LOOK: Duration = Duration::from_secs(1);

/// How long a command has run when the monitor makes sure of its memory. That takes half a millisecond, which a command
/// of milliseconds needn't pay for: what was used so lately is in memory.
const BRIEF: Duration = Duration::from_millis(250);

/// What the monitor leads to.
#[derive(Debug)]
pub enum Outcome {
    /// zklock ends so.
    Exit(Exit),
    /// zklock becomes the command, whose locks are all held around it, with these variables added.
    Become(Vec<(String, String)>, Found),
}

/// Watches over the worker until it has ended. `path` and `settings` are for what is left to do if it is killed.
pub fn watch(monitor: Monitor, path: &LockPath, settings: &Settings) -> Result<Outcome> {
    let worker = monitor.worker;
    match Watch::begin(monitor) {
        Ok(watch) => Ok(watch.see_it_through(path, settings)),
        // Nothing may run that nobody watches over.
        Err(error) => {
            let _ = kill(worker, Signal::SIGKILL);
            let _ = sys::reap(worker);
            Err(error.context("can't watch over the worker process"))
        }
    }
}

struct Watch {
    monitor: Monitor,
    arrivals: Arrivals,
    alarm: Alarm,
    duty: Duty,
    children: Children,
    /// `None` where `/proc` hides it from us: it may hide its memory, and be another user's then (`hidepid`).
    worker: Option<Observed>,
    /// Children that aren't the worker: zklock inherited them from what became zklock by exec. They are left alone.
    unrelated: Vec<Pid>,
    line_ended: bool,
    memory: Memory,
}

/// Whether what it takes to end processes stays in memory, so that it works on a machine that swaps or whose disk hangs.
enum Memory {
    /// Nothing runs yet.
    Loose,
    /// It is kept there from this moment on.
    KeptFrom(BootTime),
    /// It is kept there.
    Kept,
}

/// What ends the watch.
enum Over {
    /// The worker has ended, by itself or not.
    Ended,
    /// The worker has to be ended.
    OneFate(Why),
    /// The worker goes on alone.
    Left(Exit),
}

impl Watch {
    fn begin(monitor: Monitor) -> Result<Self> {
        let arrivals = Arrivals::listen(&monitor.found.mask)?;
        let alarm = Alarm::new().context("can't make a timer")?;
        let worker = Observed::new(monitor.worker).ok();
        let mut watch = Self {
            monitor,
            arrivals,
            alarm,
            duty: Duty::default(),
            children: Children::of_this_process(),
            worker,
            unrelated: vec![],
            line_ended: false,
            memory: Memory::Loose,
        };
        // What it takes to end processes is used once, with nobody to end: from then on it is in memory.
        watch.look_at_children();
        let all = watch.children.list().unwrap_or_default();
        Sweep::default().round(&watch.children, None, &all, BootTime::now());
        Ok(watch)
    }

    fn see_it_through(mut self, path: &LockPath, settings: &Settings) -> Outcome {
        let death = match self.until_it_is_over() {
            Over::Left(exit) => return Outcome::Exit(exit),
            Over::OneFate(why) => Death::Needed(why),
            Over::Ended => {
                let status = sys::reap(self.monitor.worker).ok();
                self.listen_to_the_dead();
                if status.is_some_and(|status| status.success())
                    && let Some(end) = self.duty.end()
                {
                    return match end {
                        End::Exit(exit) => Outcome::Exit(exit),
                        End::Become(variables) => self.become_command(variables),
                    };
                }
                Death::Found(status)
            }
        };
        self.share_its_fate(death, path, settings)
    }

    fn until_it_is_over(&mut self) -> Over {
        loop {
            self.relay_signals();
            if let Some(exit) = self.listen() {
                return Over::Left(exit);
            }
            let (shown, now) = (self.shown(), BootTime::now());
            if let Some(why) = self.duty.look(shown, now) {
                return Over::OneFate(why);
            }
            // Last of all: whatever was taken in above, SIGCHLD among it, nothing that comes from here on is missed.
            if sys::is_dead(self.monitor.worker) {
                return Over::Ended;
            }
            // An orphan of somebody unrelated comes without a word.
            let look = Some(now + LOOK).filter(|_| !self.unrelated.is_empty());
            let keep = self.stay_in_memory(shown, now);
            if self.wait([self.duty.next_look(shown), look, keep].into_iter().flatten().min()).is_err() {
                // A monitor that can't wait can't watch.
                return Over::OneFate(Why::Frozen);
            }
            self.look_at_children();
        }
    }

    fn wait(&self, until: Option<BootTime>) -> std::io::Result<()> {
        let [interrupts, others] = self.arrivals.sources();
        // At its end a line can be read for ever.
        let line = if self.line_ended { others } else { self.monitor.line.as_fd() };
        self.alarm.wait([interrupts, others, line], until)
    }

    /// Stays in memory once a command has run for a while. When to do that, if it is yet to come.
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
        let deadline = page.deadline().filter(|_| !planted(Mistake::MonitorAsleep));
        Shown { stage: page.stage(), deadline: deadline.map(|deadline| deadline.act), taken: page.taken() }
    }

    /// Takes in what the worker has said. `Some`: it wants to be left alone.
    fn listen(&mut self) -> Option<Exit> {
        loop {
            let report = match self.monitor.line.hear() {
                Heard::Word(report) => report,
                Heard::Silence => return None,
                Heard::End => {
                    self.line_ended = true;
                    return None;
                }
            };
            match self.duty.take(report) {
                Task::Nothing => {}
                Task::Stop { signal, whole_group } => self.stop(signal, whole_group),
                Task::Leave(exit) => return Some(exit),
            }
        }
    }

    fn relay_signals(&mut self) -> bool {
        let mut continued = false;
        for signal in self.arrivals.take() {
            if signal != Signal::SIGCHLD {
                continued |= signal == Signal::SIGCONT;
                // One that is frozen for so long that the line is full is seen to be so in another way.
                if self.monitor.line.say(&Order::Signal(signal as i32)).is_ok() {
                    self.duty.relayed(signal, BootTime::now());
                }
            }
        }
        continued
    }

    /// Stops as the command did. If the kernel doesn't, since nobody could continue this group, the worker is told.
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

    /// Reaps whom this process has inherited, and notes whom it had before there was a command. While the worker lives,
    /// whoever comes from the command and loses its parent becomes the worker's child: every other one is unrelated.
    fn look_at_children(&mut self) {
        let worker = self.monitor.worker;
        reap_all_but(worker, &self.children);
        let mut children = self.children.list().unwrap_or_default();
        children.retain(|&child| child != worker);
        // After the list: a worker that isn't ending now hadn't handed the command to us by then. Nor is there one to be
        // handed over before it is said that it may run.
        let is_there = self.worker.as_ref().is_some_and(|worker| !worker.is_ending());
        if is_there || self.shown().stage == Stage::Waiting {
            self.unrelated = children;
        }
    }

    /// What it said before its end still counts, but for a stop.
    fn listen_to_the_dead(&mut self) {
        while let Heard::Word(report) = self.monitor.line.hear::<Report>() {
            self.duty.take(report);
        }
    }

    fn become_command(mut self, variables: Vec<(String, String)>) -> Outcome {
        // From here on a signal waits for the command.
        let _ = SigSet::all().thread_set_mask();
        let ends = |signal: &Signal| crate::release::ends_us(*signal);
        if let Some(signal) = self.arrivals.take().into_iter().find(ends) {
            return Outcome::Exit(Exit::Signal(signal as i32));
        }
        Outcome::Become(variables, self.monitor.found)
    }
}
