//! ACLs: which zklocks may use the locks, and how the others must end.

use fastrand::Rng;
use zklock_core::exit::{CONFLICT, Exit, FAILURE};

use super::ensemble::Ensemble;
use super::ensemble::wire::{Acl, Who};
use super::scenario::{Contender, pick};
use super::world::World;

/// A zklock's credentials, and the ACLs it meets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AclSetup {
    who: Who,
    /// The ACL of the nodes that it creates.
    own: Acl,
    /// The permissions of outsiders on a lock. Members have all permissions.
    outsiders: u8,
}

impl AclSetup {
    /// Sets up ACLs for every zklock, with the same permissions for all outsiders.
    pub(crate) fn draw(rng: &mut Rng, contenders: &mut [Contender]) {
        let without = [Acl::CREATE, Acl::READ, Acl::DELETE, Acl::DELETE, Acl::WRITE];
        let outsiders = Acl::ALL & !pick(rng, &without);
        for contender in contenders {
            let who = if rng.u8(0..3) == 0 { Who::Outsider } else { Who::Member };
            let (members, others) =
                (Acl { members: Acl::ALL, outsiders: 0 }, Acl { members: 0, outsiders: Acl::ALL });
            let (own, wrong) = if who == Who::Member { (members, others) } else { (others, members) };
            let own = match rng.u8(0..10) {
                0 => wrong,
                1..4 => Acl::OPEN,
                _ => own,
            };
            contender.acl_setup = Some(Self { who, own, outsiders });
        }
    }

    fn may(self, permission: u8) -> bool {
        Acl { members: Acl::ALL, outsiders: self.outsiders }.allows(self.who, permission)
    }
}

impl Contender {
    pub(crate) fn who(&self) -> Who {
        self.acl_setup.map_or(Who::Member, |acl_setup| acl_setup.who)
    }

    /// The ACL of the nodes that it creates.
    pub(crate) fn acl(&self) -> Acl {
        self.acl_setup.map_or(Acl::OPEN, |acl_setup| acl_setup.own)
    }

    /// Whether it can't queue, can't list the queue, or has excluded itself from its own node.
    pub(crate) fn is_refused(&self) -> bool {
        self.acl_setup.is_some_and(|acl_setup| {
            !acl_setup.may(Acl::CREATE)
                || !acl_setup.may(Acl::READ)
                || !acl_setup.own.allows(acl_setup.who, Acl::READ)
        })
    }

    /// Whether another session of it may find its nodes and delete them. Otherwise they go with the session that owns
    /// them.
    pub(crate) fn may_clean(&self) -> bool {
        self.acl_setup.is_none_or(|acl_setup| acl_setup.may(Acl::READ) && acl_setup.may(Acl::DELETE))
    }
}

/// Creates the locks with their ACLs before the run begins.
pub(crate) fn create_locks(ensemble: &mut Ensemble, contenders: &[Contender]) {
    // The operator deletes nodes and asks holders to give up, so it may do everything.
    ensemble.set_identity(contenders.len(), Who::Super);
    for (zone, contender) in contenders.iter().enumerate() {
        ensemble.set_identity(zone, contender.who());
    }
    if let Some(AclSetup { outsiders, .. }) = contenders.iter().find_map(|contender| contender.acl_setup) {
        ensemble.lay_locks(Acl { members: Acl::ALL, outsiders });
    }
}

impl Ensemble {
    /// Creates the nodes of all locks before the run begins.
    pub(crate) fn lay_locks(&mut self, acl: Acl) {
        self.lay("/locks", Acl::OPEN);
        self.lay("/locks/a", acl);
        self.lay("/locks/b", acl);
    }
}

impl World {
    /// Checks that a zklock that lacks a permission has failed and has said so.
    pub(crate) fn check_refused(&mut self, index: usize, exit: Exit) {
        let zklock = &self.zklocks[index];
        let contender = &zklock.contender;
        if zklock.was_hit {
            return;
        }
        if !contender.is_refused() {
            if zklock.reported_refusal {
                self.checks
                    .violated(|| format!("zklock {index} says that it lacks a permission, and doesn't"));
            }
            return;
        }
        let told = zklock.signals.iter().any(|&signal| exit == Exit::Signal(signal));
        let may_be_busy = contender.nonblock || contender.wait.is_some();
        let is_left_alone = self.scenario.faults.is_empty() && !may_be_busy && contender.is_quick();
        if is_left_alone && !zklock.reported_refusal {
            self.checks.violated(|| format!("zklock {index} lacks a permission, and doesn't say so"));
        }
        if !(told || exit == Exit::Code(FAILURE) || may_be_busy && exit == Exit::Code(CONFLICT)) {
            self.checks.violated(|| format!("zklock {index} lacks a permission, and exits with {exit:?}"));
        }
    }
}
