//! The servers' state, for checks that inspect it without sending requests.

use super::leader::WALL_MS;
use super::tree::Tree;
use super::{ConnId, Ensemble, config};

impl Ensemble {
    /// The leader's tree; without a leader, the newest tree of any server.
    fn newest(&self) -> &Tree {
        let leader = self.leader();
        let known = |server: &usize| (leader == Some(*server), self.servers[*server].tree.zxid);
        let newest = (0..self.size()).max_by_key(known).unwrap_or_default();
        &self.servers[newest].tree
    }

    /// The children of a node.
    pub fn children(&self, path: &str) -> Vec<String> {
        let node = self.newest().get(path);
        node.map(|node| node.children.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    /// Whether a node has no children or doesn't exist.
    pub fn has_no_children(&self, path: &str) -> bool {
        self.newest().get(path).is_none_or(|node| node.children.is_empty())
    }

    /// Whether a session exists.
    pub fn has_session(&self, session: i64) -> bool {
        self.newest().sessions.contains_key(&session)
    }

    /// The nodes of a session.
    pub fn owned(&self, session: i64) -> Vec<String> {
        self.newest().owned(session).map(ToString::to_string).collect()
    }

    /// The server at the other end of a connection.
    pub fn server_of(&self, conn: ConnId) -> Option<usize> {
        self.conns.server_of(conn)
    }

    /// When a node was last written, in milliseconds.
    pub fn modified_ms(&self, path: &str) -> Option<i64> {
        self.newest().get(path).map(|node| node.stat().mtime)
    }

    /// The time of a correct wall clock, in milliseconds.
    pub fn wall_clock_ms(&self) -> i64 {
        WALL_MS + i64::try_from(self.now / config::MS).unwrap_or(i64::MAX)
    }
}
