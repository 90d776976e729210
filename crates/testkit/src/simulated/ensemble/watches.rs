//! The watches that a server keeps for its connections.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::network::ConnId;
use super::tree::parent_of;
use super::wire::Happened;

/// The kind of change that a watch reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// Changes of a node's data and existence.
    Data,
    /// Changes of a node's children.
    Child,
}

/// All watches of one server.
#[derive(Default)]
pub(super) struct Watches {
    data: BTreeMap<Rc<str>, Vec<ConnId>>,
    child: BTreeMap<Rc<str>, Vec<ConnId>>,
    of: BTreeMap<ConnId, BTreeSet<(Kind, Rc<str>)>>,
}

impl Watches {
    pub(super) fn add(&mut self, kind: Kind, path: &str, conn: ConnId) {
        let path: Rc<str> = path.into();
        if self.of.entry(conn).or_default().insert((kind, Rc::clone(&path))) {
            self.map(kind).entry(path).or_default().push(conn);
        }
    }

    pub(super) fn forget(&mut self, conn: ConnId) {
        for (kind, path) in self.of.remove(&conn).unwrap_or_default() {
            let map = self.map(kind);
            if let Some(conns) = map.get_mut(&path) {
                conns.retain(|other| *other != conn);
                if conns.is_empty() {
                    map.remove(&path);
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Fires the watches that an event triggers and calls `tell` for each, in order.
    pub(super) fn fire(
        &mut self,
        path: &Rc<str>,
        what: Happened,
        mut tell: impl FnMut(ConnId, &Rc<str>, Happened),
    ) {
        let mut told = self.take(Kind::Data, path);
        if what == Happened::Deleted {
            // A connection with both kinds of watch gets one event.
            for conn in self.take(Kind::Child, path) {
                if !told.contains(&conn) {
                    told.push(conn);
                }
            }
        }
        for conn in told {
            tell(conn, path, what);
        }
        if what != Happened::DataChanged && !self.child.is_empty() {
            let parent = parent_of(path);
            let watching = self.take(Kind::Child, parent);
            if !watching.is_empty() {
                let parent: Rc<str> = parent.into();
                for conn in watching {
                    tell(conn, &parent, Happened::ChildrenChanged);
                }
            }
        }
    }

    fn take(&mut self, kind: Kind, path: &str) -> Vec<ConnId> {
        let Some((path, conns)) = self.map(kind).remove_entry(path) else {
            return vec![];
        };
        for conn in &conns {
            if let Some(of) = self.of.get_mut(conn) {
                of.remove(&(kind, Rc::clone(&path)));
            }
        }
        conns
    }

    fn map(&mut self, kind: Kind) -> &mut BTreeMap<Rc<str>, Vec<ConnId>> {
        match kind {
            Kind::Data => &mut self.data,
            Kind::Child => &mut self.child,
        }
    }
}
