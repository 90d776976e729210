//! A wait inside a command that holds the lock: it must not wait for itself.

use nix::unistd::getpid;
use zklock_core::environment::HeldLock;
use zklock_core::message::Message;
use zklock_core::path::{LockPath, NodePath};
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::name::Mode;
use zklock_core::queue::until_free::UntilFree;
use zklock_core::run::ancestor;

use super::{End, Wait};
use crate::ensemble::RequestError;
use crate::job::lineage::ancestors;
use crate::process::identity::process;

impl Wait<'_> {
    /// The locks that the surrounding command holds alone. They are free of others until it ends, so that there is nothing to
    /// wait for: an inner zklock runs at once too.
    pub(super) fn held_around(&mut self) -> Result<Vec<LockPath>, End> {
        let plan = self.plan;
        let lock_of = |held: &HeldLock| plan.locks.iter().find(|path| held.is_of(&plan.chroot, path));
        let candidates: Vec<(&HeldLock, &LockPath)> =
            plan.outer.iter().filter_map(|held| Some((held, lock_of(held)?))).collect();
        if candidates.is_empty() {
            return Ok(vec![]);
        }
        let nodes = || candidates.iter().map(|(held, _)| held.node_below(&plan.chroot));
        let answers = self.request(|session| session.get_all(nodes()))?;
        let mut alone = vec![];
        for ((held, path), (_, answer)) in candidates.into_iter().zip(answers) {
            match answer {
                Ok(node) if held.is_still_held(&node) => match held.mode() {
                    Some(Mode::Exclusive | Mode::Slots(1)) => alone.push(path.clone()),
                    mode => {
                        let outer = mode.map_or_else(|| held.mode.clone(), |mode| mode.to_string());
                        return Err(End::failure(path, &Message::WaitsInside { outer }));
                    }
                },
                Ok(_) | Err(RequestError::NoNode) => {}
                Err(failure) => {
                    let action = "see whether the surrounding command holds the lock";
                    let why = ContentionError::of(failure, action, "READ", path);
                    return Err(End::failure(path, &Message::Contender(why)));
                }
            }
        }
        Ok(alone)
    }

    /// Fails if one of the holders started this zklock and no variable said so, as behind sudo.
    pub(super) fn refuse_to_wait_for_itself(&mut self, locks: &[UntilFree]) -> Result<(), End> {
        let holders_of = |lock| UntilFree::holders(lock).into_iter().map(move |node| (lock.path(), node));
        let holders: Vec<(&LockPath, NodePath)> = locks.iter().flat_map(holders_of).collect();
        let ancestors = if holders.is_empty() { vec![] } else { ancestors(getpid()) };
        let Some(own) = process(getpid()).filter(|_| !ancestors.is_empty()) else { return Ok(()) };
        let read = self.request(|session| session.get_all(holders.iter().map(|(_, node)| node.clone())))?;
        let mut found = holders.iter().zip(read).filter_map(|((path, _), (_, node))| {
            Some((*path, ancestor(node.ok()?.data(), &own, &ancestors)?))
        });
        match found.next() {
            Some((path, pid)) => Err(End::failure(path, &Message::WaitsForItself { pid })),
            None => Ok(()),
        }
    }
}
