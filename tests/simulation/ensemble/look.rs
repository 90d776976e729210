//! What whoever checks a run may see of the servers, without asking them.

use super::leader::WALL_MS;
use super::tree::Tree;
use super::{Ensemble, config};

impl Ensemble {
    /// What the leader knows; without one, whoever knows most.
    fn newest(&self) -> &Tree {
        let leader = self.leader();
        let known = |server: &usize| (leader == Some(*server), self.servers[*server].tree.zxid);
        let newest = (0..self.size()).max_by_key(known).unwrap_or_default();
        &self.servers[newest].tree
    }

    /// The children of a node.
    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let node = self.newest().get(path);
        node.map(|node| node.children.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    /// The session that owns a node.
    pub(crate) fn owner(&self, path: &str) -> Option<i64> {
        self.newest().get(path).map(|node| node.stat().owner)
    }

    /// When a node was written last, in milliseconds.
    pub(crate) fn modified_ms(&self, path: &str) -> Option<i64> {
        self.newest().get(path).map(|node| node.stat().mtime)
    }

    /// What a wall clock shows that is right, in milliseconds.
    pub(crate) fn wall_clock_ms(&self) -> i64 {
        WALL_MS + i64::try_from(self.now / config::MS).unwrap_or(i64::MAX)
    }
}
