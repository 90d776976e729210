//! The nodes and sessions that a server knows, and the effect of committed changes on them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::wire::{Happened, Stat};

#[derive(Debug, Clone)]
pub(super) struct Znode {
    pub(super) data: Rc<[u8]>,
    /// Its `cversion` counts only created children; sequential names are numbered by it.
    stat: Stat,
    pub(super) children: BTreeSet<Rc<str>>,
    pub(super) is_container: bool,
}

impl Znode {
    /// The stat as clients see it.
    pub(super) fn stat(&self) -> Stat {
        let children = i32::try_from(self.children.len()).unwrap_or(i32::MAX);
        Stat {
            cversion: self.stat.cversion.wrapping_mul(2).wrapping_sub(children),
            data_length: i32::try_from(self.data.len()).unwrap_or(i32::MAX),
            children,
            ..self.stat
        }
    }

    pub(super) fn next_number(&self) -> i32 {
        self.stat.cversion
    }

    pub(super) fn version(&self) -> i32 {
        self.stat.version
    }

    pub(super) fn is_ephemeral(&self) -> bool {
        self.stat.owner != 0
    }
}

/// A change that the leader has found valid.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Create { path: Rc<str>, data: Rc<[u8]>, owner: i64, is_container: bool },
    Delete { path: Rc<str> },
    Set { path: Rc<str>, data: Rc<[u8]> },
    Open { session: i64, timeout_ms: i32 },
    Close { session: i64 },
}

/// The transaction that made a change, and the time by the leader's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) zxid: i64,
    pub(super) time_ms: i64,
}

/// Reverts a change that turned out to be part of a failed transaction.
pub(super) enum Undo {
    Created { path: Rc<str>, parent: Stat },
    Deleted { path: Rc<str>, node: Box<Znode>, parent: Stat },
    Set { path: Rc<str>, data: Rc<[u8]>, stat: Stat },
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    nodes: BTreeMap<Rc<str>, Znode>,
    /// The sessions with their timeouts in milliseconds.
    pub(super) sessions: BTreeMap<i64, i32>,
    owned: BTreeMap<i64, BTreeSet<Rc<str>>>,
    containers: BTreeSet<Rc<str>>,
    /// The last transaction that was applied.
    pub(super) zxid: i64,
}

pub(super) fn parent_of(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(slash) => &path[..slash],
    }
}

fn name_of(path: &str) -> &str {
    path.rfind('/').map_or(path, |slash| &path[slash + 1..])
}

impl Tree {
    pub(super) fn new() -> Self {
        let root = Znode {
            data: Rc::from([]),
            stat: Stat::default(),
            children: BTreeSet::new(),
            is_container: false,
        };
        let mut nodes = BTreeMap::new();
        nodes.insert(Rc::from("/"), root);
        Self {
            nodes,
            sessions: BTreeMap::new(),
            owned: BTreeMap::new(),
            containers: BTreeSet::new(),
            zxid: 0,
        }
    }

    /// The nodes of a session, in the order of their paths.
    pub(super) fn owned(&self, session: i64) -> impl Iterator<Item = &Rc<str>> {
        self.owned.get(&session).into_iter().flatten()
    }

    pub(super) fn get(&self, path: &str) -> Option<&Znode> {
        self.nodes.get(path)
    }

    /// The containers that had children and have none now.
    pub(super) fn empty_containers(&self) -> Vec<Rc<str>> {
        let is_used_up = |path: &&Rc<str>| {
            self.get(path).is_some_and(|node| node.children.is_empty() && node.stat.cversion > 0)
        };
        self.containers.iter().filter(is_used_up).cloned().collect()
    }

    /// Makes a change and reports what happened to which node.
    pub(super) fn apply(&mut self, change: &Change, at: Stamp, mut happened: impl FnMut(&Rc<str>, Happened)) {
        match change {
            Change::Create { path, data, owner, is_container } => {
                let stat = Stat {
                    czxid: at.zxid,
                    mzxid: at.zxid,
                    pzxid: at.zxid,
                    ctime: at.time_ms,
                    mtime: at.time_ms,
                    owner: *owner,
                    ..Stat::default()
                };
                let (data, children) = (Rc::clone(data), BTreeSet::new());
                let node = Znode { data, stat, children, is_container: *is_container };
                self.nodes.insert(Rc::clone(path), node);
                if let Some(parent) = self.nodes.get_mut(parent_of(path)) {
                    parent.children.insert(Rc::from(name_of(path)));
                    parent.stat.cversion = parent.stat.cversion.wrapping_add(1);
                    parent.stat.pzxid = at.zxid;
                }
                if *owner != 0 {
                    self.owned.entry(*owner).or_default().insert(Rc::clone(path));
                }
                if *is_container {
                    self.containers.insert(Rc::clone(path));
                }
                happened(path, Happened::Created);
            }
            Change::Delete { path } => {
                self.remove(path, at.zxid);
                happened(path, Happened::Deleted);
            }
            Change::Set { path, data } => {
                if let Some(node) = self.nodes.get_mut(path) {
                    node.data = Rc::clone(data);
                    node.stat.version = node.stat.version.wrapping_add(1);
                    (node.stat.mzxid, node.stat.mtime) = (at.zxid, at.time_ms);
                }
                happened(path, Happened::DataChanged);
            }
            Change::Open { session, timeout_ms } => {
                self.sessions.insert(*session, *timeout_ms);
            }
            Change::Close { session } => {
                self.sessions.remove(session);
                for path in self.owned.remove(session).unwrap_or_default() {
                    self.remove(&path, at.zxid);
                    happened(&path, Happened::Deleted);
                }
            }
        }
    }

    fn remove(&mut self, path: &Rc<str>, zxid: i64) -> Option<Znode> {
        let node = self.nodes.remove(path)?;
        if let Some(parent) = self.nodes.get_mut(parent_of(path)) {
            parent.children.remove(name_of(path));
            parent.stat.pzxid = zxid;
        }
        if node.is_ephemeral() {
            let is_last = self.owned.get_mut(&node.stat.owner).is_some_and(|owned| {
                owned.remove(path);
                owned.is_empty()
            });
            if is_last {
                self.owned.remove(&node.stat.owner);
            }
        }
        if node.is_container {
            self.containers.remove(path);
        }
        Some(node)
    }

    /// Computes how to revert a change. Must be called before the change is made.
    pub(super) fn undo_of(&self, change: &Change) -> Option<Undo> {
        let parent = |path: &str| self.get(parent_of(path)).map(|node| node.stat);
        match change {
            Change::Create { path, .. } => {
                Some(Undo::Created { path: Rc::clone(path), parent: parent(path)? })
            }
            Change::Delete { path } => {
                let node = Box::new(self.get(path)?.clone());
                Some(Undo::Deleted { path: Rc::clone(path), node, parent: parent(path)? })
            }
            Change::Set { path, .. } => {
                let node = self.get(path)?;
                Some(Undo::Set { path: Rc::clone(path), data: Rc::clone(&node.data), stat: node.stat })
            }
            Change::Open { .. } | Change::Close { .. } => None,
        }
    }

    pub(super) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Created { path, parent } => {
                self.remove(&path, 0);
                self.set_stat(parent_of(&path), parent);
            }
            Undo::Deleted { path, node, parent } => {
                if node.is_ephemeral() {
                    self.owned.entry(node.stat.owner).or_default().insert(Rc::clone(&path));
                }
                if node.is_container {
                    self.containers.insert(Rc::clone(&path));
                }
                if let Some(above) = self.nodes.get_mut(parent_of(&path)) {
                    above.children.insert(Rc::from(name_of(&path)));
                    above.stat = parent;
                }
                self.nodes.insert(path, *node);
            }
            Undo::Set { path, data, stat } => {
                if let Some(node) = self.nodes.get_mut(&path) {
                    (node.data, node.stat) = (data, stat);
                }
            }
        }
    }

    fn set_stat(&mut self, path: &str, stat: Stat) {
        if let Some(node) = self.nodes.get_mut(path) {
            node.stat = stat;
        }
    }
}
