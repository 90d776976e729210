//! The worker's job, as a story: connect, acquire, run the command, release.

use std::env;
use std::path::Path;
use std::process;

use anyhow::{Context, Result, ensure};

use crate::acquire::{Limits, Outcome, acquire};
use crate::claim::Claim;
use crate::cli::{LockOptions, Options, Words};
use crate::conclude::conclude;
use crate::environment::{self, held_around_us};
use crate::event::{self, Events};
use crate::exit::{self, Exit};
use crate::lock::contender::{Entry, Ids};
use crate::lock::once::Once;
use crate::lock::path::LockPath;
use crate::lock::record::Record;
use crate::nest::{self, Around, look_around};
use crate::pair::{self, Report, Worker};
use crate::release::{Giving, Release, left_behind, let_go, release};
use crate::work::Work;
use crate::zk::Settings;
use crate::{sys, ui};

/// How the worker's part ends.
enum End {
    /// Nothing is left to be done.
    Done(Exit),
    /// These nodes may be left at the servers: zklock ends so, and the worker goes on deleting them.
    Unconfirmed(Exit, Box<Claim>),
    /// The command is to be run by the monitor, with these variables added.
    Become(Vec<(String, String)>),
}

/// Runs the command under its locks, tells the monitor how zklock is to exit, and ends this process.
pub fn work(worker: Worker, options: &Options, words: &Words, settings: Settings, limits: Limits) -> ! {
    ui::speak();
    let line = worker.reporter();
    let end = match worker.settle().context("can't become a subreaper") {
        Ok(true) => under_lock(worker, options, words, settings, limits),
        Ok(false) => Ok(End::Done(Exit::Code(exit::FAILURE))),
        Err(error) => Err(error),
    };
    let end = end.with_context(|| words.first_lock().to_string());
    let end = end.unwrap_or_else(|error| {
        log::error!("{error:#}");
        if error.is::<MayStillRun>() {
            // Nothing may be released. The monitor ends whatever is left, and then releases.
            ui::drain_at_the_end();
            process::exit(exit::FAILURE.into());
        }
        End::Done(Exit::Code(exit::FAILURE))
    });
    ui::drain_at_the_end();
    match end {
        End::Done(exit) => line.say_at_last(&Report::Exit(exit)),
        End::Become(variables) => line.say_at_last(&Report::Become(variables)),
        End::Unconfirmed(exit, mut claim) => {
            line.say(&Report::Leave(exit));
            // The user's shell, terminal, pipes and files have nothing to do with what is left.
            sys::let_go_of_the_caller();
            let (remains, settings) = (left_behind(&mut claim), claim.settings().clone());
            // The old session's own attempt ends here.
            drop(claim);
            remains.map(|remains| pair::clean(&settings, &remains, || false));
            // For a monitor that was stopped meanwhile.
            line.say_at_last(&Report::Exit(exit));
        }
    }
    process::exit(0)
}

/// The command may still run although nobody can see to it any more.
#[derive(Debug, thiserror::Error)]
#[error("zklock can't see to the command any more: {0}")]
pub struct MayStillRun(pub std::io::Error);

fn under_lock(
    worker: Worker,
    options: &Options,
    words: &Words,
    settings: Settings,
    limits: Limits,
) -> Result<End> {
    let lock = &options.lock;
    let (emitter, mut events) = event::channel().context("can't make a channel for events")?;
    events.listen(worker.ear()).context("can't listen for signals")?;
    let outer = held_around_us(env::var_os(environment::HELD).as_deref());
    let held = match look_around(&words.locks, &outer, &settings, limits, &events, &worker)? {
        Around::Held(held) => held,
        Around::Interrupted(signal) => return Ok(End::Done(Exit::Signal(signal as i32))),
    };
    held.iter().try_for_each(|held| nest::check(held, lock.mode(), lock.family()))?;
    let pid = u32::try_from(worker.monitor.as_raw()).unwrap_or_default();
    let job = Work { options, words, found: worker.found, outer, held };
    let missing: Vec<LockPath> = job.missing();
    if missing.is_empty() {
        // The lock around us will be released without a record, whatever the command does.
        ensure!(
            lock.once_per.is_none(),
            "held already by the command that this runs in; say --once-per there"
        );
        return Ok(End::Become(job.variables_under_outer_locks()?));
    }

    let record = || Record::of_process(pid, Path::new(&words.shown), lock.label.clone(), lock.mode());
    let once = lock.once_per.map(|period| Once::new(words.first_lock(), period));
    let mut claim = Claim::open(settings, || entries(lock, &record(), &missing), emitter, worker)
        .context("can't start the session")?;
    let acquired = acquire(&mut claim, &events, &options.ensemble.zookeeper, limits, once);
    // Whatever comes of it, what we have in the queue is taken back.
    let (exit, giving) = match acquired {
        Ok(Outcome::Held) => {
            let exit = job.run_holding(&mut claim, &events);
            if lock.once_per.is_some() && matches!(exit, Ok(Exit::Code(0))) {
                conclude(&mut claim, &events, words.first_lock(), record());
            }
            (exit, Giving::Back)
        }
        Ok(Outcome::Busy) => (Ok(Exit::Code(lock.conflict_exit_code)), Giving::UpWaiting),
        Ok(Outcome::Recent) => (Ok(Exit::Code(lock.conflict_exit_code)), Giving::Back),
        Ok(Outcome::Interrupted(signal)) => (Ok(Exit::Signal(signal as i32)), Giving::UpWaiting),
        Err(error) => (Err(error), Giving::UpWaiting),
    };
    // A command that may still run keeps its lock.
    if let Err(error) = &exit
        && error.is::<MayStillRun>()
    {
        return exit.map(End::Done);
    }
    give_back(claim, &events, giving, exit, words.first_lock())
}

fn give_back(
    mut claim: Claim,
    events: &Events,
    giving: Giving,
    exit: Result<Exit>,
    path: &LockPath,
) -> Result<End> {
    let failed = |error: anyhow::Error| {
        ui::error(path, format_args!("{error:#}"));
        Exit::Code(exit::FAILURE)
    };
    if events.monitor_died() {
        let_go();
    }
    match release(&mut claim, events, giving)? {
        Release::Done => Ok(End::Done(exit?)),
        // The servers may come back while the session lives.
        Release::Unconfirmed => Ok(End::Unconfirmed(exit.unwrap_or_else(failed), Box::new(claim))),
        Release::CutShort(signal) => Ok(End::Unconfirmed(Exit::Signal(signal as i32), Box::new(claim))),
    }
}

fn entries(options: &LockOptions, record: &Record, locks: &[LockPath]) -> Vec<Entry> {
    let with_slot = Record { has_slot: true, ..record.clone() };
    let entry = |path: &LockPath| Entry {
        path: path.clone(),
        family: options.family(),
        mode: options.mode(),
        data: record.to_bytes(),
        data_with_slot: with_slot.to_bytes(),
        nonblock: options.gives_up_at_once(),
        ids: Ids::Random,
    };
    locks.iter().map(entry).collect()
}
