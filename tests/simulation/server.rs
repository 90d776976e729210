//! A ZooKeeper server as its clients see it: one copy of the tree, sessions in an expiry queue, watches that fire once.
//!
//! Where a rule is ZooKeeper's own: sessions expire at the first tick after their time (`ExpiryQueue`), an ephemeral node
//! goes with its session, numbers come from the parent's counter, a watch fires once and belongs to a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zklock::core::protocol::{Asker, Created, Failure, Node, Reply, Request, ServerTime};

/// A connection of a client.
pub(crate) type Connection = u64;

/// A watch that fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fired {
    pub(crate) connection: Connection,
    pub(crate) asker: Asker,
    pub(crate) path: String,
    pub(crate) deleted: bool,
}

#[derive(Debug)]
pub(crate) struct Server {
    tick: u64,
    zxid: i64,
    next_session: i64,
    nodes: BTreeMap<String, Stored>,
    sessions: BTreeMap<i64, Session>,
    watches: BTreeMap<String, BTreeSet<(Connection, Asker2)>>,
    /// Its wall clock is that much ahead of the simulated time, in milliseconds.
    clock: i64,
}

/// An asker that can be ordered.
type Asker2 = (u8, usize);

#[derive(Debug, Clone)]
struct Stored {
    node: Node,
    counter: i32,
    container: bool,
    had_children: bool,
}

#[derive(Debug)]
struct Session {
    timeout: u64,
    expires: u64,
}

fn order(asker: Asker) -> Asker2 {
    match asker {
        Asker::Lock(index) => (0, index),
        Asker::Lease => (1, 0),
        Asker::Once => (2, 0),
        Asker::WaitingLine => (3, 0),
        Asker::Question(index) => (4, index),
    }
}

fn asker(order: Asker2) -> Asker {
    match order {
        (0, index) => Asker::Lock(index),
        (1, _) => Asker::Lease,
        (2, _) => Asker::Once,
        (3, _) => Asker::WaitingLine,
        (_, index) => Asker::Question(index),
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Server {
    pub(crate) fn new(tick: Duration) -> Self {
        Self {
            tick: u64::try_from(tick.as_nanos()).unwrap(),
            zxid: 0,
            next_session: 1,
            nodes: BTreeMap::new(),
            sessions: BTreeMap::new(),
            watches: BTreeMap::new(),
            clock: 1_700_000_000_000,
        }
    }

    /// A new session, with the timeout that is granted: 2 to 20 ticks.
    pub(crate) fn connect(&mut self, now: u64, wanted: u64) -> (i64, u64) {
        let timeout = wanted.clamp(2 * self.tick, 20 * self.tick);
        let id = self.next_session;
        self.next_session += 1;
        self.zxid += 1;
        self.sessions.insert(id, Session { timeout, expires: 0 });
        self.touch(id, now);
        (id, timeout)
    }

    /// Whether the session is still there; it is touched then.
    pub(crate) fn touch(&mut self, id: i64, now: u64) -> bool {
        let tick = self.tick;
        let Some(session) = self.sessions.get_mut(&id) else { return false };
        // Rounded up to the next tick, never down.
        session.expires = ((now + session.timeout) / tick + 1) * tick;
        true
    }

    /// When the next session expires.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        self.sessions.values().map(|session| session.expires).min()
    }

    /// Ends the sessions whose time is over.
    pub(crate) fn expire(&mut self, now: u64) -> (Vec<i64>, Vec<Fired>) {
        let over: Vec<i64> =
            self.sessions.iter().filter(|(_, session)| session.expires <= now).map(|(id, _)| *id).collect();
        let fired = over.iter().flat_map(|&id| self.close(id)).collect();
        (over, fired)
    }

    /// Ends a session, and deletes its nodes.
    pub(crate) fn close(&mut self, id: i64) -> Vec<Fired> {
        if self.sessions.remove(&id).is_none() {
            return vec![];
        }
        self.zxid += 1;
        let owned: Vec<String> = self
            .nodes
            .iter()
            .filter(|(_, stored)| stored.node.owner == id)
            .map(|(path, _)| path.clone())
            .collect();
        owned.iter().flat_map(|path| self.remove(path)).collect()
    }

    /// The watches of a connection that is gone.
    pub(crate) fn forget(&mut self, connection: Connection) {
        for watches in self.watches.values_mut() {
            watches.retain(|(of, _)| *of != connection);
        }
        self.watches.retain(|_, watches| !watches.is_empty());
    }

    /// The lock nodes of a path, by their numbers.
    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let below = format!("{path}/");
        self.nodes
            .range(below.clone()..)
            .take_while(|(child, _)| child.starts_with(&below))
            .filter(|(child, _)| !child[below.len()..].contains('/'))
            .map(|(child, _)| child[below.len()..].to_owned())
            .collect()
    }

    pub(crate) fn node(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path).map(|stored| &stored.node)
    }

    /// Somebody's hand: writes what asks the owner to give up.
    pub(crate) fn write_by_hand(&mut self, path: &str, data: &[u8], now: u64) -> Vec<Fired> {
        self.set(path, data, -1, now).map(|(_, fired)| fired).unwrap_or_default()
    }

    /// Somebody's hand: deletes.
    pub(crate) fn delete_by_hand(&mut self, path: &str) -> Vec<Fired> {
        self.zxid += 1;
        self.remove(path)
    }

    /// Containers that are empty are removed, as the server does once in a while.
    pub(crate) fn reap_containers(&mut self) -> Vec<Fired> {
        let empty: Vec<String> = self
            .nodes
            .iter()
            .filter(|(path, stored)| {
                stored.container && stored.had_children && self.children(path).is_empty()
            })
            .map(|(path, _)| path.clone())
            .collect();
        empty.iter().flat_map(|path| self.remove(path)).collect()
    }

    /// Carries a request out.
    pub(crate) fn serve(
        &mut self,
        connection: Connection,
        session: i64,
        who: Asker,
        request: &Request,
        now: u64,
    ) -> (Reply, Vec<Fired>) {
        match request {
            Request::Create { parent, prefix, data } => {
                let created = self.create_lock_node(parent, prefix, data, session, now);
                match created {
                    Ok((created, fired)) => (Reply::Created(Ok(created)), fired),
                    Err(failure) => (Reply::Created(Err(failure)), vec![]),
                }
            }
            Request::MakeParents(path) => {
                self.make_parents(path, now);
                (Reply::ParentsMade(Ok(())), vec![])
            }
            Request::List(path) | Request::CatchUpAndList(path) => {
                let listed = if self.nodes.contains_key(path) {
                    Ok(self.children(path))
                } else {
                    Err(Failure::NoNode)
                };
                (Reply::Listed(listed), vec![])
            }
            Request::Watch(path) => {
                let read = self.node(path).cloned().ok_or(Failure::NoNode);
                if read.is_ok() {
                    self.watches.entry(path.clone()).or_default().insert((connection, order(who)));
                }
                (Reply::Read(path.clone(), read), vec![])
            }
            Request::Get(path) => {
                (Reply::Read(path.clone(), self.node(path).cloned().ok_or(Failure::NoNode)), vec![])
            }
            Request::WatchBelow(_) => (Reply::Watching(Ok(())), vec![]),
            Request::Write(path, data, version) => match self.set(path, data, *version, now) {
                Ok((at, fired)) => (Reply::Written(Ok(at)), fired),
                Err(failure) => (Reply::Written(Err(failure)), vec![]),
            },
            Request::Delete(path) => self.delete(path, None),
            Request::DeleteUnchanged(path, version) => self.delete(path, Some(*version)),
            Request::Conclude { record, data, node } => self.conclude(record, data, node, now),
            Request::Confirm(nodes) => {
                self.zxid += 1;
                let all = nodes.iter().all(|node| self.nodes.contains_key(node));
                // The client dates it: it knows when it was sent.
                (Reply::Concluded(if all { Ok(()) } else { Err(Failure::NoNode) }), vec![])
            }
        }
    }

    fn delete(&mut self, path: &str, version: Option<i32>) -> (Reply, Vec<Fired>) {
        match self.node(path) {
            None => (Reply::Deleted(Err(Failure::NoNode)), vec![]),
            Some(node) if version.is_some_and(|version| version != node.version) => {
                (Reply::Deleted(Err(Failure::Changed)), vec![])
            }
            Some(_) => {
                self.zxid += 1;
                (Reply::Deleted(Ok(())), self.remove(path))
            }
        }
    }

    fn conclude(&mut self, record: &str, data: &[u8], node: &str, now: u64) -> (Reply, Vec<Fired>) {
        if !self.nodes.contains_key(node) {
            return (Reply::Concluded(Err(Failure::NoNode)), vec![]);
        }
        self.zxid += 1;
        if self.nodes.contains_key(record) {
            let _ = self.set(record, data, -1, now);
        } else {
            let stored = self.stored(data, 0, now, false);
            self.nodes.insert(record.to_owned(), stored);
        }
        (Reply::Concluded(Ok(())), self.remove(node))
    }

    fn create_lock_node(
        &mut self,
        parent: &str,
        prefix: &str,
        data: &[u8],
        session: i64,
        now: u64,
    ) -> Result<(Created, Vec<Fired>), Failure> {
        if !self.sessions.contains_key(&session) {
            return Err(Failure::Expired);
        }
        let above = self.nodes.get_mut(parent).ok_or(Failure::NoNode)?;
        let name = format!("{prefix}{:010}", above.counter);
        above.counter += 1;
        above.had_children = true;
        self.zxid += 1;
        let stored = self.stored(data, session, now, false);
        let created = Created { name: name.clone(), czxid: stored.node.czxid, created: stored.node.created };
        self.nodes.insert(format!("{parent}/{name}"), stored);
        Ok((created, vec![]))
    }

    fn make_parents(&mut self, path: &str, now: u64) {
        let mut made = String::new();
        for name in path.split('/').skip(1) {
            if let Some(above) = self.nodes.get_mut(&made) {
                above.had_children = true;
            }
            made = format!("{made}/{name}");
            if !self.nodes.contains_key(&made) {
                self.zxid += 1;
                let stored = self.stored(&[], 0, now, true);
                self.nodes.insert(made.clone(), stored);
            }
        }
    }

    fn stored(&self, data: &[u8], owner: i64, now: u64, container: bool) -> Stored {
        let at = self.time(now);
        let node =
            Node { data: data.to_vec(), owner, czxid: self.zxid, version: 0, created: at, modified: at };
        Stored { node, counter: 0, container, had_children: false }
    }

    fn set(
        &mut self,
        path: &str,
        data: &[u8],
        version: i32,
        now: u64,
    ) -> Result<(ServerTime, Vec<Fired>), Failure> {
        let at = self.time(now);
        let stored = self.nodes.get_mut(path).ok_or(Failure::NoNode)?;
        if version >= 0 && version != stored.node.version {
            return Err(Failure::Changed);
        }
        self.zxid += 1;
        stored.node.version += 1;
        stored.node.data = data.to_vec();
        stored.node.modified = at;
        Ok((at, self.fire(path, false)))
    }

    fn remove(&mut self, path: &str) -> Vec<Fired> {
        if self.nodes.remove(path).is_none() {
            return vec![];
        }
        if let Some(above) = self.nodes.get_mut(parent(path)) {
            above.had_children = true;
        }
        self.fire(path, true)
    }

    fn fire(&mut self, path: &str, deleted: bool) -> Vec<Fired> {
        let watches = self.watches.remove(path).unwrap_or_default();
        watches
            .into_iter()
            .map(|(connection, of)| Fired { connection, asker: asker(of), path: path.to_owned(), deleted })
            .collect()
    }

    pub(crate) fn time(&self, now: u64) -> ServerTime {
        ServerTime(self.clock + i64::try_from(now / 1_000_000).unwrap())
    }
}
