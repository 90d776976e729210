//! Whom a fault meets that is done to a contender, and what is done to its node.

use crate::contender::Contender;
use crate::fault::Draw;
use crate::hit::Hit;
use crate::storm::{Storm, Strike};
use crate::wish::LOCKS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Storm<'_> {
    /// Mostly the holder, which is where it matters, or somebody who has suffered already; else anybody.
    pub(crate) fn prey(&self, draw: &Draw, hit: Hit) -> Option<Arc<Contender>> {
        let can = |contender: &Arc<Contender>| contender.can_suffer(hit);
        let others: Vec<_> = self.arena.living().into_iter().filter(can).collect();
        let hurt: Vec<_> = others.iter().filter(|other| !other.hits().is_empty()).cloned().collect();
        let one_of =
            |mut some: Vec<_>| (!some.is_empty()).then(|| some.swap_remove(draw.dice / 10 % some.len()));
        let first = match draw.dice % 10 {
            0..5 => self.holder().filter(can),
            5..7 => one_of(hurt),
            _ => None,
        };
        first.or_else(|| one_of(others))
    }

    /// A node at one of the locks, and whose it is, which stands in it. Nobody's if the servers don't tell in time.
    fn node(&self, draw: &Draw) -> Option<(&'static str, String, Arc<Contender>)> {
        let lock = LOCKS[if draw.dice.is_multiple_of(2) { 0 } else { draw.dice / 2 % LOCKS.len() }];
        // An observer that gets no answer panics, and can be asked again.
        let asked = |ask: &dyn Fn() -> Option<String>| catch_unwind(AssertUnwindSafe(ask)).ok().flatten();
        let node = asked(&|| {
            let nodes = self.observer.children(lock);
            nodes.get(draw.dice / 10 % nodes.len().max(1)).cloned()
        })?;
        let data = asked(&|| self.observer.data(&format!("{lock}/{node}")))?;
        let record: serde_json::Value = serde_json::from_str(&data).ok()?;
        let pid = record["pid"].as_u64()?;
        let owner = self.arena.living().into_iter().find(|contender| contender.has_pid(pid))?;
        Some((lock, node, owner))
    }

    /// As an operator would.
    pub(crate) fn revoke(&self, draw: &Draw) -> Option<Strike> {
        let (lock, node, owner) = self.node(draw)?;
        if !owner.suffer(Hit::Revoked) {
            return None;
        }
        let whom = format!("{} ({node})", owner.name());
        let path = format!("{lock}/{node}");
        let words = ["revoke", "-z", &self.network.direct(), lock, "--node", &node];
        self.arena.operate(&words, move || owner.is_revoked(path));
        Some(Strike { whom, undo: None })
    }

    /// As an administrator would.
    pub(crate) fn delete_node(&self, draw: &Draw) -> Option<Strike> {
        let (lock, node, owner) = self.node(draw)?;
        // First, so that an end which comes of it finds it said.
        if !owner.suffer(Hit::NodeDeleted) {
            return None;
        }
        self.arena.watch.evict(owner.name());
        let path = format!("{lock}/{node}");
        let delete = || self.observer.call("delete", move |client| client.delete(&path, None)).ok();
        catch_unwind(AssertUnwindSafe(delete)).ok();
        Some(Strike { whom: format!("{} ({node})", owner.name()), undo: None })
    }
}
