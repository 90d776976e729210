//! The main job, as a story: connect, acquire, run the command, release.

use std::path::Path;

use anyhow::{Context, Result};
use nix::sys::signal::SigSet;
use serde::Serialize;

use crate::acquire::{Limits, Outcome, acquire};
use crate::claim::Claim;
use crate::cli::{Options, Words};
use crate::clock::BootTime;
use crate::event::{self, Emitter, Events};
use crate::exit::Exit;
use crate::job::Job;
use crate::job::signals::{self, Caught};
use crate::job::spawn::{Launch, SpawnError};
use crate::lock::contender::{Entry, Ids};
use crate::lock::name::Mode;
use crate::lock::path::LockPath;
use crate::lock::record::Record;
use crate::release::{Giving, Release, release};
use crate::supervise::{OnLost, supervise};
use crate::ui;
use crate::zk::Settings;

/// Runs the command under its locks, and says how zklock is to exit.
pub fn run(options: &Options) -> Result<Exit> {
    let mask = SigSet::thread_get_mask().context("can't read the signal mask")?;
    let words = options.words()?;
    let (emitter, events) = event::channel().context("can't make a channel for events")?;
    let found = Found { mask, caught: signals::listen(&emitter)? };
    under_lock(options, &words, found, emitter, &events).with_context(|| words.first_lock().to_string())
}

/// How zklock found its signals, and the command shall find them.
struct Found {
    mask: SigSet,
    caught: Caught,
}

fn under_lock(
    options: &Options,
    words: &Words,
    found: Found,
    emitter: Emitter,
    events: &Events,
) -> Result<Exit> {
    let limits = limits(options);
    let mut claim = Claim::open(settings(options, limits), entries(options, words), emitter)
        .context("can't start the session or the guard process")?;
    let acquired = acquire(&mut claim, events, &options.zookeeper, limits);
    // Whatever comes of it, what we have in the queue is taken back.
    let (exit, giving) = match acquired {
        Ok(Outcome::Held) => (hold(options, words, found, &mut claim, events), Giving::Back),
        Ok(Outcome::Busy) => (Ok(Exit::Code(options.conflict_exit_code)), Giving::UpWaiting),
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

/// Runs the command while the locks are held. The command is gone when this returns.
fn hold(options: &Options, words: &Words, found: Found, claim: &mut Claim, events: &Events) -> Result<Exit> {
    let launch = Launch {
        program: words.program.clone(),
        arguments: words.arguments.clone(),
        environment: environment(claim, &words.locks, options.mode())?,
        mask: found.mask,
        caught: found.caught,
    };
    let on_lost = OnLost { terminate: options.on_lost_terminates(), kill_after: options.kill_after };
    claim.guard_the_lease(on_lost.terminate);
    match start(&launch, claim, options)? {
        Ok(job) => Ok(supervise(job, claim, words, events, on_lost)?),
        Err(error) => {
            ui::error(words.first_lock(), &error);
            Ok(Exit::Code(error.code()))
        }
    }
}

/// Starts the command. A guard that doesn't open its gate is replaced, once.
fn start(launch: &Launch, claim: &mut Claim, options: &Options) -> Result<Result<Job, SpawnError>> {
    match Job::start(launch, claim.gate()?, options.signal) {
        Err(SpawnError::Refused) => {
            log::debug!("the guard didn't let the command go: trying once more with another");
            claim.renew_guard(None)?;
            Ok(Job::start(launch, claim.gate()?, options.signal))
        }
        started => Ok(started),
    }
}

fn limits(options: &Options) -> Limits {
    let nonblock = options.gives_up_at_once();
    let wait = options.timeout.filter(|_| !nonblock);
    Limits {
        deadline: wait.map(|wait| BootTime::now() + wait),
        connect_timeout: options.connect_timeout,
        nonblock,
        kill_after: options.kill_after,
    }
}

fn settings(options: &Options, limits: Limits) -> Settings {
    Settings {
        hosts: options.zookeeper.clone(),
        session_timeout: options.session_timeout,
        deadline: Some(limits.deadline.unwrap_or_else(|| BootTime::now() + options.connect_timeout)),
    }
}

fn entries(options: &Options, words: &Words) -> Vec<Entry> {
    let mode = options.mode();
    let record = Record::of_this_process(Path::new(&words.shown), options.label.clone(), mode);
    let with_slot = Record { has_slot: true, ..record.clone() };
    let entry = |path: &LockPath| Entry {
        path: path.clone(),
        family: options.family(),
        mode,
        data: record.to_bytes(),
        data_with_slot: with_slot.to_bytes(),
        nonblock: options.gives_up_at_once(),
        ids: Ids::Random,
    };
    words.locks.iter().map(entry).collect()
}

/// A lock as the command sees it.
#[derive(Debug, Serialize)]
struct HeldLock<'a> {
    path: &'a str,
    node: &'a str,
    mode: &'static str,
    fencing_token: i64,
}

/// What the command is told. With several locks the single variables speak of the first on the command line.
fn environment(claim: &Claim, locks: &[LockPath], mode: Mode) -> Result<Vec<(&'static str, String)>> {
    let set = claim.set().context("there is no session")?;
    let held: Vec<HeldLock<'_>> = set
        .nodes()
        .map(|(path, node)| HeldLock {
            path: path.as_str(),
            node: &node.path,
            mode: mode.word(),
            fencing_token: node.fencing_token,
        })
        .collect();
    let first = locks.first().and_then(|path| held.iter().find(|lock| lock.path == path.as_str()));
    let first = first.context("the first lock isn't held")?;
    Ok(vec![
        ("ZKLOCK_PATH", first.path.to_owned()),
        ("ZKLOCK_NODE", first.node.to_owned()),
        ("ZKLOCK_FENCING_TOKEN", first.fencing_token.to_string()),
        ("ZKLOCK_LOCKS", serde_json::to_string(&held)?),
    ])
}
