//! The environment variables for the command.

use super::Plan;
use crate::environment::{HeldLock, environment, full_path};
use crate::path::LockPath;
use crate::protocol::LockNode;
use crate::queue::record::Record;
use crate::run::claim::Claim;

/// The variables for a command that runs under the given locks and those held around zklock.
pub(super) fn variables(plan: &Plan, mut locks: Vec<HeldLock>) -> Result<Vec<(String, String)>, String> {
    let position = |held: &HeldLock| plan.locks.iter().position(|path| held.is_of(&plan.chroot, path));
    locks.extend_from_slice(&plan.held);
    locks.sort_by_key(position);
    environment(&locks, &plan.outer, &plan.chroot).map_err(|error| format!("{error:#}"))
}

/// The locks of the claim, all of them held.
pub(super) fn held_locks(plan: &Plan, claim: &Claim, own: Option<&Record>) -> Vec<HeldLock> {
    let started = own.and_then(|own| own.process.as_ref()).map_or(0, |process| process.started);
    let Some(session) = claim.session() else { return vec![] };
    let held = |(path, node): (&LockPath, &LockNode)| HeldLock {
        path: full_path(&plan.chroot, path),
        node: format!("{}{}", plan.chroot, node.path),
        fencing_token: node.czxid,
        session: session.id,
        mode: plan.mode.word().to_owned(),
        slots: plan.mode.slots(),
        pid: own.map_or(0, |own| own.pid),
        started,
    };
    session.nodes().map(held).collect()
}
