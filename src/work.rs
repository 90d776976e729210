//! The command and all that it is to know: run while the locks are held, or at once if they are held around us.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

use crate::claim::{Claim, Notice};
use crate::cli::{LockOptions, Options, Words};
use crate::clock::BootTime;
use crate::environment::{HeldLock, environment, full_path};
use crate::event::{Event, Events};
use crate::exit::Exit;
use crate::job::Job;
use crate::job::spawn::{Launch, SpawnError};
use crate::lock::contender::OwnNode;
use crate::lock::path::LockPath;
use crate::nest;
use crate::release::ends_us;
use crate::supervise::{OnLost, supervise};
use crate::ui;

/// How zklock found its signals, and the command shall find them; and who was there before the command.
#[derive(Debug)]
pub struct Found {
    /// The signal mask.
    pub mask: SigSet,
    /// Whether SIGCHLD was ignored.
    pub ignores_children: bool,
    /// Its children.
    pub children: Vec<Pid>,
}

/// The command that is to run, and what it is to know.
#[derive(Debug)]
pub struct Work<'a> {
    /// What the user wants of zklock.
    pub options: &'a Options,
    /// The locks and the command.
    pub words: &'a Words,
    /// How the command shall find its signals.
    pub found: Found,
    /// Every lock that is said to be held around us.
    pub outer: Vec<HeldLock>,
    /// Those of the command line that really are.
    pub held: Vec<HeldLock>,
}

impl Work<'_> {
    /// The locks that nobody around us holds.
    pub fn missing(&self) -> Vec<LockPath> {
        let chroot = self.options.ensemble.zookeeper.chroot_text();
        let is_held = |path: &LockPath| self.held.iter().any(|held| held.path == full_path(chroot, path));
        self.words.locks.iter().filter(|path| !is_held(path)).cloned().collect()
    }

    /// Becomes the command: every lock is held by the zklock around us, whose lease and guard cover it.
    pub fn run_under_outer_locks(self) -> Result<Exit> {
        ui::step(self.words.first_lock(), "held already by the command that this runs in");
        let (words, held) = (self.words, self.held.clone());
        let error = nest::become_command(self.launch(&held)?);
        ui::error(words.first_lock(), &error);
        Ok(Exit::Code(error.code()))
    }

    /// Runs the command while the locks are held. The command is gone when this returns.
    pub fn run_holding(self, claim: &mut Claim, events: &Events) -> Result<Exit> {
        let (options, words) = (&self.options.lock, self.words);
        let mut locks = held_locks(claim, self.options).context("there is no session")?;
        locks.extend(self.held.iter().cloned());
        let launch = self.launch(&locks)?;
        let on_lost = OnLost { terminate: options.on_lost_terminates(), kill_after: options.kill_after };
        claim.guard_the_lease(on_lost.terminate.then_some(on_lost.kill_after));
        match start(&launch, claim, events, options)? {
            Start::Running(job) => Ok(supervise(job, claim, words, events, on_lost)?),
            Start::Interrupted(signal) => Ok(Exit::Signal(signal as i32)),
            Start::Failed(error) => {
                ui::error(words.first_lock(), &error);
                Ok(Exit::Code(error.code()))
            }
        }
    }

    fn launch(self, locks: &[HeldLock]) -> Result<Launch> {
        let chroot = self.options.ensemble.zookeeper.chroot_text();
        let position =
            |held: &HeldLock| self.words.locks.iter().position(|path| held.path == full_path(chroot, path));
        let mut in_order = locks.to_vec();
        in_order.sort_by_key(position);
        Ok(Launch {
            program: self.words.program.clone(),
            arguments: self.words.arguments.clone(),
            environment: environment(&in_order, &self.outer, chroot)?,
            mask: self.found.mask,
            ignores_children: self.found.ignores_children,
            strangers: self.found.children,
        })
    }
}

/// How a start went.
enum Start {
    Running(Job),
    Failed(SpawnError),
    /// A signal came while the guard didn't open its gate.
    Interrupted(Signal),
}

/// Starts the command. A guard that doesn't open its gate is replaced, once; what happened meanwhile counts.
fn start(launch: &Launch, claim: &mut Claim, events: &Events, options: &LockOptions) -> Result<Start> {
    let mut started = Job::start(launch, &claim.gate()?, options.signal);
    if matches!(started, Err(SpawnError::Refused)) {
        while let Some(event) = events.pending() {
            match event {
                Event::Signal(signal) if ends_us(signal) => return Ok(Start::Interrupted(signal)),
                event => match claim.take(event).into_iter().find(Notice::ends_the_hold) {
                    Some(notice) => bail!("the lock was lost before the command was started: {notice:?}"),
                    None => claim.confirm_if_due(BootTime::now()),
                },
            }
        }
        log::debug!("the guard didn't let the command go: trying once more with another");
        claim.renew_guard(None)?;
        started = Job::start(launch, &claim.gate()?, options.signal);
    }
    Ok(started.map_or_else(Start::Failed, Start::Running))
}

/// The locks of the claim, all held.
fn held_locks(claim: &Claim, options: &Options) -> Option<Vec<HeldLock>> {
    let (set, session, mode) = (claim.set()?, claim.session_id()?, options.lock.mode());
    let chroot = options.ensemble.zookeeper.chroot_text();
    let held = |(path, node): (&LockPath, &OwnNode)| HeldLock {
        path: full_path(chroot, path),
        node: format!("{chroot}{}", node.path),
        fencing_token: node.fencing_token,
        session,
        mode: mode.word().to_owned(),
        slots: mode.slots(),
    };
    Some(set.nodes().map(held).collect())
}
