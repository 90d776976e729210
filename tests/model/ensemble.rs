//! One lock path in an ensemble: what was committed, in order, and what a server that lags shows of it.

use std::sync::Arc;

use zklock::core::path::LockPath;
use zklock::runtime::zk::{Created, Failure, Node, ServerTime};

/// The children of the lock path, and what was committed since. A server shows some of the changes, in order;
/// how many is its *view*.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// What every server shows at least, lowest number first.
    base: Vec<Arc<Lodged>>,
    changes: Vec<Change>,
    next_number: usize,
}

/// One committed change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    Created(Arc<Lodged>),
    Written(Arc<Lodged>),
    Deleted(Arc<Lodged>),
}

/// A node. Its number stands for its transaction too: that both grow is all that matters.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Lodged {
    pub number: usize,
    pub name: String,
    pub path: String,
    pub owner: i64,
}

impl Lodged {
    fn czxid(&self) -> i64 {
        i64::try_from(self.number).map_or(i64::MAX, |number| number + 1)
    }
}

impl Change {
    /// The path of the node that a watch would tell of, and whether it was deleted.
    pub fn told(&self) -> Option<(&str, bool)> {
        match self {
            Self::Created(_) => None,
            Self::Written(node) => Some((&node.path, false)),
            Self::Deleted(node) => Some((&node.path, true)),
        }
    }
}

impl History {
    /// The view of a server that lags behind nobody.
    pub fn now(&self) -> usize {
        self.changes.len()
    }

    /// What servers with the view `from` and not yet the view `to` have still to learn.
    pub fn between(&self, from: usize, to: usize) -> &[Change] {
        self.changes.get(from..to).unwrap_or_default()
    }

    pub fn create(&mut self, lock: &LockPath, prefix: &str, owner: i64) -> Created {
        let number = self.next_number;
        self.next_number += 1;
        let name = format!("{prefix}{number:010}");
        let node = Arc::new(Lodged { number, path: lock.child(&name), name, owner });
        self.changes.push(Change::Created(Arc::clone(&node)));
        Created { name: node.name.clone(), czxid: node.czxid(), created: ServerTime(0) }
    }

    pub fn delete(&mut self, path: &str) -> Result<(), Failure> {
        let node = self.find(path, self.now()).ok_or(Failure::NoNode)?;
        self.changes.push(Change::Deleted(node));
        Ok(())
    }

    /// Somebody writes to a node.
    pub fn write(&mut self, path: &str) -> Result<(), Failure> {
        let node = self.find(path, self.now()).ok_or(Failure::NoNode)?;
        self.changes.push(Change::Written(node));
        Ok(())
    }

    /// A session ends, and its nodes with it.
    pub fn end_session(&mut self, owner: i64) {
        let mut nodes = self.queue(self.now());
        nodes.retain(|node| node.owner == owner);
        self.changes.extend(nodes.into_iter().map(Change::Deleted));
    }

    pub fn read(&self, path: &str, view: usize) -> Result<Node, Failure> {
        let node = self.find(path, view).ok_or(Failure::NoNode)?;
        Ok(Node {
            data: vec![],
            owner: node.owner,
            czxid: node.czxid(),
            version: 0,
            created: ServerTime(0),
            modified: ServerTime(0),
            children: 0,
        })
    }

    pub fn list(&self, view: usize) -> Vec<String> {
        self.queue(view).iter().map(|node| node.name.clone()).collect()
    }

    /// The nodes that are there, lowest first.
    pub fn queue(&self, view: usize) -> Vec<Arc<Lodged>> {
        let mut queue = self.base.clone();
        self.between(0, view).iter().for_each(|change| apply(&mut queue, change));
        queue
    }

    pub fn find(&self, path: &str, view: usize) -> Option<Arc<Lodged>> {
        self.queue(view).into_iter().find(|node| node.path == path)
    }

    /// Every server has come to this view: what happened before is no longer told from what was always so.
    pub fn forget(&mut self, view: usize) {
        for change in self.changes.drain(..view) {
            apply(&mut self.base, &change);
        }
    }
}

fn apply(queue: &mut Vec<Arc<Lodged>>, change: &Change) {
    match change {
        Change::Created(node) => queue.push(Arc::clone(node)),
        Change::Written(_) => {}
        Change::Deleted(node) => queue.retain(|other| other.number != node.number),
    }
}
