//! The main job, as a story: connect, acquire, run the command, release.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::SigSet;

use crate::acquire::{Limits, Outcome, acquire};
use crate::claim::Claim;
use crate::cli::{LockOptions, Options, Words};
use crate::clock::BootTime;
use crate::conclude::conclude;
use crate::environment::{self, held_around_us};
use crate::event::{self, Emitter, Events};
use crate::exit::Exit;
use crate::job::{descendants, signals};
use crate::lock::contender::{Entry, Ids};
use crate::lock::once::Once;
use crate::lock::path::LockPath;
use crate::lock::record::Record;
use crate::nest::{self, Around, look_around};
use crate::release::{Giving, Release, release};
use crate::work::{Found, Work};

/// Runs the command under its locks, and says how zklock is to exit.
pub fn run(options: &Options) -> Result<Exit> {
    let mask = SigSet::thread_get_mask().context("can't read the signal mask")?;
    let words = options.lock.words()?;
    let (emitter, mut events) = event::channel().context("can't make a channel for events")?;
    // Before there are other threads: these have children of their own.
    let children = descendants::children_at_start();
    let (arrivals, ignores_children) = signals::listen(&emitter)?;
    events.listen(arrivals);
    let found = Found { mask, ignores_children, children };
    under_lock(options, &words, found, emitter, &events).with_context(|| words.first_lock().to_string())
}

fn under_lock(
    options: &Options,
    words: &Words,
    found: Found,
    emitter: Emitter,
    events: &Events,
) -> Result<Exit> {
    let lock = &options.lock;
    let limits = limits(options);
    let settings = options.settings(limits.connect_by())?;
    let outer = held_around_us(env::var_os(environment::HELD).as_deref());
    let held = match look_around(&words.locks, &outer, &settings, &emitter, events)? {
        Around::Held(held) => held,
        Around::Interrupted(signal) => return Ok(Exit::Signal(signal as i32)),
    };
    held.iter().try_for_each(|held| nest::check(held, lock.mode(), lock.family()))?;
    let job = Work { options, words, found, outer, held };
    let missing: Vec<LockPath> = job.missing();
    if missing.is_empty() {
        // The lock around us will be released without a record, whatever the command does.
        ensure!(
            lock.once_per.is_none(),
            "held already by the command that this runs in; say --once-per there"
        );
        return job.run_under_outer_locks();
    }

    let record = || Record::of_this_process(Path::new(&words.shown), lock.label.clone(), lock.mode());
    let once = lock.once_per.map(|period| Once::new(words.first_lock(), period));
    let mut claim = Claim::open(settings, || entries(lock, &record(), &missing), emitter)
        .context("can't start the session or the guard process")?;
    let acquired = acquire(&mut claim, events, &options.ensemble.zookeeper, limits, once);
    // Whatever comes of it, what we have in the queue is taken back.
    let (exit, giving) = match acquired {
        Ok(Outcome::Held) => {
            let exit = job.run_holding(&mut claim, events);
            if lock.once_per.is_some() && matches!(exit, Ok(Exit::Code(0))) {
                conclude(&mut claim, events, words.first_lock(), record());
            }
            (exit, Giving::Back)
        }
        Ok(Outcome::Busy) => (Ok(Exit::Code(lock.conflict_exit_code)), Giving::UpWaiting),
        Ok(Outcome::Recent) => (Ok(Exit::Code(lock.conflict_exit_code)), Giving::Back),
        Ok(Outcome::Interrupted(signal)) => (Ok(Exit::Signal(signal as i32)), Giving::UpWaiting),
        Err(error) => (Err(error), Giving::UpWaiting),
    };
    match release(&mut claim, events, giving)? {
        Release::Done => claim.end(),
        // The guard goes on trying while the session may live.
        Release::Unconfirmed => drop(claim),
        Release::CutShort(signal) => return Ok(Exit::Signal(signal as i32)),
    }
    exit
}

fn limits(options: &Options) -> Limits {
    let lock = &options.lock;
    let nonblock = lock.gives_up_at_once();
    let wait = lock.timeout.filter(|_| !nonblock);
    let began = BootTime::now();
    Limits {
        began,
        deadline: wait.map(|wait| began + wait),
        connect_timeout: options.ensemble.connect_timeout,
        nonblock,
        kill_after: lock.kill_after,
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
