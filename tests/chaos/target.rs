//! Chooses the contender that a fault meets, and injects the faults of lock nodes.

use crate::contender::Contender;
use crate::fault::Draw;
use crate::injector::{Injected, Injector};
use crate::invocation::LOCKS;
use crate::support::Fault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Injector<'_> {
    /// In half of the cases the holder, where a fault matters most; else a contender that met a fault before; else any.
    pub(crate) fn target(&self, draw: &Draw, fault: Fault) -> Option<Arc<Contender>> {
        let can = |contender: &Arc<Contender>| contender.can_apply(fault);
        let others: Vec<_> = self.harness.running().into_iter().filter(can).collect();
        let faulted: Vec<_> =
            others.iter().filter(|other| !other.contender_faults().is_empty()).cloned().collect();
        let one_of =
            |mut some: Vec<_>| (!some.is_empty()).then(|| some.swap_remove(draw.choice / 10 % some.len()));
        let first = match draw.choice % 10 {
            0..5 => self.holder().filter(can),
            5..7 => one_of(faulted),
            _ => None,
        };
        first.or_else(|| one_of(others))
    }

    /// A node of one of the locks, or that of this contender; and its owner by the pid in its data. `None` if the servers
    /// don't answer in time.
    fn node(
        &self,
        draw: &Draw,
        met: Option<&Arc<Contender>>,
    ) -> Option<(&'static str, String, Arc<Contender>)> {
        let drawn = LOCKS[if draw.choice.is_multiple_of(2) { 0 } else { draw.choice / 2 % LOCKS.len() }];
        let lock = met.map_or(drawn, |met| met.invocation.locks[0]);
        let owner_of = |node: &String| {
            let data = self.observer.data(&format!("{lock}/{node}"))?;
            let record: serde_json::Value = serde_json::from_str(&data).ok()?;
            let pid = record["pid"].as_u64()?;
            self.harness.running().into_iter().find(|contender| contender.has_pid(pid))
        };
        let search = || {
            let mut nodes = self.observer.children(lock);
            let first = draw.choice / 10 % nodes.len().max(1);
            nodes.rotate_left(first);
            let mut found = nodes.into_iter().filter_map(|node| Some((owner_of(&node)?, node)));
            match met {
                Some(met) => found.find(|(owner, _)| Arc::ptr_eq(owner, met)),
                None => found.next(),
            }
        };
        // An observer without an answer panics, and can be used again.
        let (owner, node) = catch_unwind(AssertUnwindSafe(search)).ok().flatten()?;
        Some((lock, node, owner))
    }

    pub(crate) fn inject_into_node(
        &self,
        draw: &Draw,
        met: Option<&Arc<Contender>>,
    ) -> Option<Injected<'static>> {
        let (lock, node, owner) = self.node(draw, met)?;
        // Noted first: the contender may exit before the change returns.
        if !owner.apply(draw.fault) {
            return None;
        }
        let target = format!("{} ({node})", owner.name());
        let path = format!("{lock}/{node}");
        match draw.fault {
            Fault::Revoke => {
                let arguments = ["revoke", "-z", &self.wires.direct(), lock, "--node", &node];
                self.harness.run_admin_command(&arguments, move || owner.is_revoked(path));
            }
            Fault::DeleteNode => {
                self.harness.history.at_end(|checker| checker.evict(owner.name()));
                let delete = || self.observer.call("delete", move |client| client.delete(&path, None)).ok();
                catch_unwind(AssertUnwindSafe(delete)).ok();
            }
            fault => panic!("{fault} isn't injected into nodes"),
        }
        Some(Injected { target, undo: None })
    }
}
