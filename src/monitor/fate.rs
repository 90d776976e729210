//! The end that the monitor makes where its worker can't: first the worker, then the command, then the lock nodes.

use std::io::{IsTerminal, stderr};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::getpgrp;

use super::duty::Why;
use super::{Outcome, Watch};
use crate::clock::BootTime;
use crate::descendants::{Left, Round, Sweep};
use crate::exit::Exit;
use crate::job::terminal::Terminal;
use crate::lock::path::LockPath;
use crate::pair::{self, Remains, Stage};
use crate::planted::{Mistake, planted};
use crate::release::ends_us;
use crate::zk::Settings;
use crate::{sys, ui};

/// How the worker comes to its end before its time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Death {
    /// It died, or failed, and is reaped.
    Found(Option<ExitStatus>),
    /// It has to be killed.
    Needed(Why),
}

/// For a monitor that can't wait for anything.
const PAUSE: Duration = Duration::from_millis(10);

impl Watch {
    /// Ends the worker if it lives, since one that was only frozen might start the command yet; then every process of
    /// the command; then what is left at the servers.
    pub(super) fn share_its_fate(mut self, death: Death, path: &LockPath, settings: &Settings) -> Outcome {
        let why = match death {
            Death::Needed(why) => Some(why),
            Death::Found(_) => None,
        };
        if self.shown().stage == Stage::Over {
            // A command that has ended by itself may have left somebody, who is left alone also if the worker goes then.
            self.end_worker(why.is_some());
        } else if (why.is_some() || self.shown().stage == Stage::Running)
            && (why.is_some() || !planted(Mistake::DeadWorkerUnswept))
            && let Some(exit) = self.end_everybody(path, why)
        {
            return Outcome::Exit(exit);
        }
        self.listen_to_the_dead();
        if let Some(group) = self.monitor.page.group() {
            Terminal::open(getpgrp()).take_back(group);
        }
        let exit = self.duty.exit(self.shown(), why);
        say_what_happened(path, self.shown().stage, death);
        let (session_timeout, nodes) = self.duty.nodes();
        let session_timeout = session_timeout.unwrap_or(settings.session_timeout);
        let nodes = nodes.to_vec();
        let remains = Remains { session_timeout, nodes, entering: self.monitor.page.entering() };
        if !remains.is_empty() {
            // Servers may not answer: who asks for the end needn't wait for them.
            let arrivals = &mut self.arrivals;
            let gone = pair::clean(settings, &remains, || arrivals.take().into_iter().any(ends_us));
            let node = if gone { "is gone" } else { "goes when its session times out" };
            ui::warn(path, format_args!("the lock node {node}"));
        }
        Outcome::Exit(exit)
    }

    fn end_worker(&mut self, lives: bool) {
        let worker = self.monitor.worker;
        self.line_ended = true;
        while lives && sys::reap_if_dead(worker).is_none() {
            let _ = kill(worker, Signal::SIGKILL);
            self.pause(Some(BootTime::now() + PAUSE));
            self.arrivals.take();
        }
    }

    /// Ends the worker and every process of the command. `Some`: somebody is left, and zklock was told to end.
    fn end_everybody(&mut self, path: &LockPath, why: Option<Why>) -> Option<Exit> {
        let latest = self.monitor.page.deadline().map(|deadline| deadline.latest);
        let mut sweep = Sweep::with_time_until(latest, BootTime::now()).but_for(self.monitor.worker);
        let mut is_told = false;
        if planted(Mistake::GroupOnly) {
            self.end_worker(why.is_some());
            let _ = self.monitor.page.group().map(|group| killpg(group, Signal::SIGKILL));
            return None;
        }
        self.line_ended = true;
        while sweep.round(&self.children, None, &self.unrelated, BootTime::now()) == Round::Left {
            if let Some(left) = sweep.left_for_long(BootTime::now()) {
                say_what_is_left(path, &left);
                is_told = true;
            }
            self.pause(sweep.next());
            // Nothing more can be done than what is done: who asks for the end gets it.
            if self.arrivals.take().into_iter().any(ends_us) && is_told {
                return Some(self.duty.exit(self.shown(), why));
            }
        }
        None
    }

    fn pause(&self, until: Option<BootTime>) {
        if self.wait(until).is_err() {
            std::thread::sleep(PAUSE);
        }
    }
}

fn say_what_is_left(path: &LockPath, left: &[Left]) {
    ui::speak();
    for process in left {
        ui::warn(path, format_args!("{process}; the lock is kept until its session times out"));
    }
}

fn say_what_happened(path: &LockPath, stage: Stage, death: Death) {
    ui::speak();
    let what = match death {
        Death::Needed(Why::Frozen) if stage == Stage::Over => {
            "the worker process stood still during the release".to_owned()
        }
        Death::Needed(Why::Frozen) => {
            "the worker process stood still until the lease was nearly over".to_owned()
        }
        Death::Needed(Why::Deaf(signal)) => {
            format!("the worker process stood still and didn't hear {signal}")
        }
        Death::Found(Some(status)) => match status.signal() {
            Some(signal) => format!("the worker process was killed by signal {signal}"),
            None => "the worker process failed".to_owned(),
        },
        Death::Found(None) => "the worker process is gone".to_owned(),
    };
    let command = match stage {
        Stage::Waiting => "the command was not started",
        Stage::Running => "the command was stopped with all its processes",
        Stage::Over => "the command had ended before",
    };
    // The worker's waiting line is still on the screen.
    if stage == Stage::Waiting && stderr().is_terminal() {
        ui::new_line();
    }
    ui::error(path, format_args!("{what}; {command}"));
}
