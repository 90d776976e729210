//! The command and all that it is to know: run while the locks are held, or at once if they are held around us.

use anyhow::{Context, Result};

use crate::claim::Claim;
use crate::cli::{Options, Words};
use crate::environment::{HeldLock, environment, full_path};
use crate::event::Events;
use crate::exit::Exit;
use crate::job::Job;
pub use crate::job::spawn::Launch;
use crate::lock::contender::OwnNode;
use crate::lock::path::LockPath;
use crate::pair::{Deadline, Found};
use crate::planted::{Mistake, planted};
use crate::release::LONGEST_END;
use crate::supervise::{OnLost, supervise};
use crate::ui;
use crate::worker::MayStillRun;

/// The command that is to run, and what it is to know.
#[derive(Debug)]
pub struct Work<'a> {
    /// What the user wants of zklock.
    pub options: &'a Options,
    /// The locks and the command.
    pub words: &'a Words,
    /// How zklock found its signals, and the command shall find them.
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

    /// What is added to the environment where every lock is held by the zklock around us.
    pub fn variables_under_outer_locks(&self) -> Result<Vec<(String, String)>> {
        self.variables(&self.held)
    }

    /// Runs the command while the locks are held. The command is gone when this returns, unless the error is
    /// [`MayStillRun`].
    pub fn run_holding(self, claim: &mut Claim, events: &Events) -> Result<Exit> {
        let (options, words) = (&self.options.lock, self.words);
        let mut locks = held_locks(claim, self.options).context("there is no session")?;
        locks.extend(self.held.iter().cloned());
        let launch = self.launch(&locks)?;
        let on_lost = OnLost { terminate: options.on_lost_terminates(), kill_after: options.kill_after };
        // From here on the monitor knows what is at stake: there is no moment in which it could be too late for that.
        let lease = claim.lease().filter(|_| on_lost.terminate);
        let moments = lease.map(|lease| {
            let act = lease.take_over_at(on_lost.kill_after);
            (lease.stop_at(on_lost.kill_after), Deadline { act, latest: lease.too_late_at() })
        });
        let (latest, deadline) = moments.unzip();
        let latest = latest.filter(|_| !planted(Mistake::DoomedStart));
        claim.worker().command_begins(deadline);
        match Job::start(&launch, claim.worker(), latest, options.signal) {
            Ok(job) => Ok(supervise(job, claim, words, events, on_lost).map_err(MayStillRun)?),
            Err(error) => {
                let exit = Exit::Code(error.code());
                claim.worker().command_is_over(exit, LONGEST_END);
                ui::error(words.first_lock(), &error);
                Ok(exit)
            }
        }
    }

    fn launch(self, locks: &[HeldLock]) -> Result<Launch> {
        Ok(Launch {
            environment: self.variables(locks)?,
            program: self.words.program.clone(),
            arguments: self.words.arguments.clone(),
            found: self.found,
        })
    }

    fn variables(&self, locks: &[HeldLock]) -> Result<Vec<(String, String)>> {
        let chroot = self.options.ensemble.zookeeper.chroot_text();
        let position =
            |held: &HeldLock| self.words.locks.iter().position(|path| held.path == full_path(chroot, path));
        let mut in_order = locks.to_vec();
        in_order.sort_by_key(position);
        environment(&in_order, &self.outer, chroot)
    }
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
