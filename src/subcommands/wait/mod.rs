//! `wait`: returns when locks are free of all that held them or queued for them when it began. It takes no lock and writes
//! nothing.
//!
//! [`UntilFree`] decides who is awaited and which node is watched. A lost connection or session changes neither.

mod connection;
mod progress;
mod surrounding;

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use nix::unistd::getpgrp;
use signal_hook::iterator::Signals;
use zklock_core::exit::{self, Exit};
use zklock_core::message::Message;
use zklock_core::path::LockPath;
use zklock_core::protocol::Request;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::until_free::{UntilFree, UntilFreeStep};
use zklock_core::run::Plan;
use zklock_core::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use zklock_core::time::BootTime;

use self::progress::{Known, Progress};
use crate::cli::{LogFormat, Options, WaitOptions};
use crate::ensemble::{BlockingError, BlockingSession, Settings, Wakeup};
use crate::output;
use crate::process::end::end;
use crate::process::{clock, sys, thread};
use crate::run::surroundings;

pub(super) fn run(wait: &WaitOptions, options: &Options) -> Result<Exit> {
    // It starts no command that could outlive a lock.
    let around = surroundings(options.ensemble.log_format == LogFormat::Text);
    let plan = options.plan_of_wait(wait, around);
    let mut settings =
        Settings::new(&options.connection(), plan.connect_by()).with_context(|| plan.first.to_string())?;
    settings.session_timeout = plan.session_timeout;
    settings.refusals_end = plan.nonblock;
    if plan.shows_line {
        erase_line_at_signals()?;
    }
    let mut wait = Wait {
        plan: &plan,
        settings,
        session: None,
        progress: Progress::new(&plan),
        known: None,
        heard: plan.began,
    };
    let waited = wait.run();
    if plan.shows_line {
        output::draw_text(None, getpgrp());
    }
    if let Some(session) = wait.session.take() {
        session.close();
    }
    match waited {
        Ok(()) => Ok(Exit::Code(0)),
        Err(End::Said(exit)) => Ok(exit),
        Err(End::NotBegun(why)) => Err(why.context(plan.first.to_string())),
    }
}

/// Removes the line from the screen before a signal ends or stops zklock.
fn erase_line_at_signals() -> Result<()> {
    let caught =
        [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP].into_iter().filter(|&signal| !sys::is_ignored(signal));
    let mut signals = Signals::new(caught).context("can't handle signals")?;
    let thread = thread::builder().name("signals".to_owned()).spawn(move || {
        for signal in &mut signals {
            output::draw_text(None, getpgrp());
            output::drain(output::AT_THE_END);
            if signal != SIGTSTP {
                end(Exit::Signal(signal));
            }
            sys::stop_by(signal, false, || false);
        }
    });
    thread.context("can't handle signals")?;
    Ok(())
}

/// The end of a wait before the locks are free.
#[derive(Debug)]
enum End {
    /// A message has said why.
    Said(Exit),
    NotBegun(anyhow::Error),
}

impl End {
    /// zklock fails because of this.
    fn failure(path: &LockPath, message: &Message) -> Self {
        output::say(path, None, message);
        Self::Said(Exit::Code(exit::FAILURE))
    }

    /// Contenders are there, and zklock is to wait no longer.
    fn busy(path: &LockPath, message: &Message, plan: &Plan) -> Self {
        output::say(path, None, message);
        Self::Said(Exit::Code(plan.conflict_exit_code))
    }
}

/// The wait for all locks.
struct Wait<'a> {
    plan: &'a Plan,
    settings: Settings,
    session: Option<BlockingSession<'a>>,
    progress: Progress,
    /// What is known of the lock that is waited for.
    known: Option<Known>,
    /// When a server last answered, as far as is known.
    heard: BootTime,
}

impl Wait<'_> {
    fn run(&mut self) -> Result<(), End> {
        self.open(Some(self.plan.connect_by()))?;
        let held = self.held_around()?;
        let mut seen = BTreeSet::new();
        let distinct = self.plan.locks.iter().filter(|path| seen.insert(*path));
        let (held, waited): (Vec<_>, Vec<_>) = distinct.cloned().partition(|path| held.contains(path));
        for path in &held {
            output::step(path, "already held by the surrounding command");
        }
        // All of them before the first wait: contenders that come later don't count.
        let mut locks: Vec<UntilFree> = waited.into_iter().map(UntilFree::new).collect();
        self.begin(&mut locks)?;
        self.refuse_to_wait_for_itself(&locks)?;
        locks.iter_mut().try_for_each(|lock| self.until_free(lock))
    }

    /// Makes the first listing of each lock, all in flight together: on a slow line, several locks take no longer than one.
    fn begin(&mut self, locks: &mut [UntilFree]) -> Result<(), End> {
        let listings = locks.iter_mut().filter_map(|lock| match lock.begin() {
            UntilFreeStep::Ask(requests) => Some(requests),
            _ => None,
        });
        let listings: Vec<Request> = listings.flatten().collect();
        let replies = self.request(|session| session.ask_all(&listings))?;
        for (lock, reply) in locks.iter_mut().zip(replies) {
            let step = match lock.take(reply) {
                // It has nodes of other recipes, which is rare.
                None | Some(UntilFreeStep::Ask(_)) => self.follow(lock, UntilFree::begin)?,
                Some(step) => step,
            };
            if let UntilFreeStep::Failed(error) = step {
                return Err(self.failed(lock, error));
            }
        }
        Ok(())
    }

    fn until_free(&mut self, lock: &mut UntilFree) -> Result<(), End> {
        self.known = None;
        let mut step = self.follow(lock, UntilFree::approach)?;
        loop {
            step = match step {
                UntilFreeStep::Waits(awaited) => {
                    let known = Known::new(lock.path().clone(), awaited);
                    if self.plan.nonblock {
                        return Err(End::busy(&known.path, &known.busy(), self.plan));
                    }
                    self.progress.say_if_new(&known);
                    self.known = Some(known);
                    self.rest(lock)?;
                    self.follow(lock, UntilFree::look)?
                }
                UntilFreeStep::Free => {
                    let after = clock::now().since(self.plan.began);
                    output::say(lock.path(), None, &Message::Free { after });
                    return Ok(());
                }
                UntilFreeStep::Failed(error) => return Err(self.failed(lock, error)),
                UntilFreeStep::Busy | UntilFreeStep::Ask(_) => self.follow(lock, UntilFree::approach)?,
            }
        }
    }

    /// Waits until it is time to look again, and shows the wait meanwhile.
    fn rest(&mut self, lock: &mut UntilFree) -> Result<(), End> {
        loop {
            let now = clock::now();
            if self.plan.give_up_at.is_some_and(|at| at <= now) {
                return Err(self.out_of_time());
            }
            let Some(known) = &self.known else { return Ok(()) };
            if self.progress.must_read(known, now) {
                return Ok(());
            }
            self.progress.show_if_due(known, self.plan, now);
            let Some(session) = &mut self.session else { return Ok(()) };
            let until = [self.progress.wake_at(known), self.plan.give_up_at].into_iter().flatten().min();
            let woken = session.wait_for_change(until);
            self.heard = clock::now();
            match woken {
                Ok(Wakeup::TimedOut) => continue,
                Ok(Wakeup::Changed) => {}
                Ok(Wakeup::Disconnected) => self.recover(BlockingError::Disconnected)?,
                Err(error) => self.recover(error)?,
            }
            lock.unwatched();
            return Ok(());
        }
    }

    fn failed(&self, lock: &UntilFree, error: ContentionError) -> End {
        End::failure(lock.path(), &Message::Contender(error.below(&self.plan.chroot)))
    }

    /// The end of `-w`, or of the time that servers have for an answer with `-n`. Only what was seen lately is busy.
    fn out_of_time(&self) -> End {
        let now = clock::now();
        let waited = now.since(self.plan.began);
        let Some(known) = &self.known else {
            let hosts = self.plan.hosts.clone();
            return End::failure(&self.plan.first, &Message::NoAnswer { hosts, waited });
        };
        let timeout = self.session.as_ref().and_then(BlockingSession::timeout);
        let silence = now.since(self.heard);
        let is_silent = silence > timeout.unwrap_or(self.plan.session_timeout) / 2;
        if is_silent {
            End::failure(&known.path, &known.last_seen_busy(waited, silence))
        } else {
            End::busy(&known.path, &known.gave_up(waited), self.plan)
        }
    }
}
