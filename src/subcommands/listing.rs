//! Lists locks on the servers: their contenders in order, and the last success of `--once-per`.
//!
//! The data is serialized as `status --json` shows it; `docs/json.md` specifies each field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use anyhow::{Result, bail};
use serde::{Serialize, Serializer};
use zklock_core::path::{LockPath, NodePath};
use zklock_core::queue::name::{Family, Mode, Name};
use zklock_core::queue::once::{LastSuccess, record_path, recorded_lock};
use zklock_core::queue::order::{QueueEntry, queue_entries};
use zklock_core::queue::record::{Record, revocation};

use super::owner::{Owner, session_id};
use crate::ensemble::{Answer, BlockingSession, ReadNode, Request, RequestError, ServerTime};

/// The servers' own nodes, among which there are no locks. A chroot has no such nodes.
const SYSTEM_NODES: &str = "/zookeeper";

/// The state of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Lock {
    pub(super) path: String,
    /// In the order of the queue; `None` if the path can't be listed.
    pub(super) contenders: Option<Vec<ListedContender>>,
    pub(super) last_success: Option<Success>,
    /// How many locks below its path have contenders, if it was looked for.
    #[serde(skip)]
    pub(super) busy_below: usize,
}

/// A contender in the queue of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ListedContender {
    pub(super) position: usize,
    #[serde(serialize_with = "text")]
    pub(super) state: State,
    /// Whether it is stopped, as by Ctrl-Z.
    pub(super) stopped: bool,
    #[serde(flatten, serialize_with = "mode_and_slots")]
    pub(super) mode: Mode,
    #[serde(flatten)]
    pub(super) owner: Owner,
    /// This and the following times and numbers are unknown for a node that can't be read, since ZooKeeper 3.9.
    pub(super) since: Option<ServerTime>,
    /// Since when it holds the lock, if it is a holder and its node says so.
    pub(super) held_since: Option<ServerTime>,
    pub(super) fencing_token: Option<i64>,
    pub(super) session: Option<String>,
    /// The full path of its node.
    pub(super) node: NodePath,
    #[serde(rename = "naming", serialize_with = "text")]
    pub(super) family: Family,
    /// Whether it was asked to stop, by `zklock revoke` or by Curator's revocation.
    #[serde(skip)]
    pub(super) asked_to_stop: bool,
    /// The host and pid that asked, if known.
    pub(super) revoked_by: Option<String>,
}

/// What a node's place in the queue means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Held,
    Waiting,
    /// No session owns the node, so it holds nothing and waits for nothing, whatever its name is. It stays in the way of
    /// the contenders behind it.
    Unowned {
        /// Whether a contender in its place would hold the lock.
        is_first: bool,
    },
}

impl State {
    fn of(entry: &QueueEntry<'_>, node: &ReadNode) -> Self {
        match entry.holds {
            is_first if node.is_permanent() => Self::Unowned { is_first },
            true => Self::Held,
            false => Self::Waiting,
        }
    }
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Unowned { .. } => "unowned",
        })
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn mode_and_slots<S: Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        mode: &'static str,
        slots: u32,
    }
    Fields { mode: mode.word(), slots: mode.slots() }.serialize(serializer)
}

fn text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl ListedContender {
    /// Whether its node can't be read.
    pub(super) fn is_hidden(&self) -> bool {
        self.fencing_token.is_none()
    }
}

/// The last success of a command that runs once per period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Success {
    /// Unknown if the record can't be read.
    pub(super) at: Option<ServerTime>,
    pub(super) host: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) fencing_token: Option<i64>,
}

impl Lock {
    /// Whether a contender holds the lock.
    pub(super) fn is_held(&self) -> bool {
        self.contenders().iter().any(|contender| contender.state == State::Held)
    }

    /// Whether it is certain that there is no contender.
    pub(super) fn is_free(&self) -> bool {
        self.contenders.as_ref().is_some_and(Vec::is_empty)
    }

    /// The contenders; none if the path can't be listed.
    pub(super) fn contenders(&self) -> &[ListedContender] {
        self.contenders.as_deref().unwrap_or_default()
    }
}

/// The result of listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) locks: Vec<Lock>,
    /// Paths whose children can't be listed. They must not be reported as free.
    pub(super) closed: Vec<String>,
}

impl Listing {
    fn new(mut locks: Vec<Lock>, closed: Vec<String>) -> Self {
        let is_closed: BTreeSet<&String> = closed.iter().collect();
        for lock in locks.iter_mut().filter(|lock| is_closed.contains(&lock.path)) {
            lock.contenders = None;
        }
        Self { locks, closed }
    }
}

/// The locks with these paths, including those without a contender.
pub(super) fn locks(session: &mut BlockingSession<'_>, paths: &[LockPath]) -> Result<Listing> {
    let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
    let listed = list(session, &paths)?;
    let mut closed = vec![];
    let mut found = BTreeMap::new();
    for (path, children) in paths.into_iter().zip(listed) {
        if children.is_none() {
            closed.push(path.clone());
        }
        found.insert(path, children.unwrap_or_default());
    }
    Ok(Listing::new(describe(session, found)?, closed))
}

/// The lock with this path and, as if it were alone, the contender with this node, if there is one. The path isn't
/// listed, which would need READ on it.
pub(super) fn lock_of(session: &mut BlockingSession<'_>, path: &LockPath, node: &str) -> Result<Listing> {
    let contender = Name::parse(node).map(|name| name.text.to_owned());
    let found = BTreeMap::from([(path.to_string(), contender.into_iter().collect())]);
    Ok(Listing::new(describe(session, found)?, vec![]))
}

/// Every lock at or below these paths. A path is a lock if it has a contender or a record of a success.
pub(super) fn locks_below(session: &mut BlockingSession<'_>, roots: &[String]) -> Result<Listing> {
    let mut closed = vec![];
    // A root may be a lock of which only the record of a success is left, beside it.
    let named = roots.iter().filter(|root| root.len() > 1);
    let mut found: BTreeMap<String, Vec<String>> = named.map(|root| (root.clone(), vec![])).collect();
    let mut level: Vec<String> = roots.to_vec();
    while !level.is_empty() {
        let listed = list(session, &level)?;
        let mut next = vec![];
        for (path, children) in level.into_iter().zip(listed) {
            let Some(children) = children else {
                closed.push(path);
                continue;
            };
            let base = path.trim_end_matches('/');
            for child in &children {
                if let Some(lock) = recorded_lock(child) {
                    found.entry(format!("{base}/{lock}")).or_default();
                } else if Name::parse(child).is_none() {
                    next.push(format!("{base}/{child}"));
                }
            }
            if children.iter().any(|child| Name::parse(child).is_some()) {
                found.insert(path, children);
            }
        }
        if !session.has_chroot() {
            next.retain(|path| path != SYSTEM_NODES);
        }
        level = next;
    }
    let mut locks = describe(session, found)?;
    locks.retain(|lock| !lock.contenders().is_empty() || lock.last_success.is_some());
    Ok(Listing::new(locks, closed))
}

/// The children of each path: empty for a path that doesn't exist, `None` for one that can't be listed.
fn list(session: &mut BlockingSession<'_>, paths: &[String]) -> Result<Vec<Option<Vec<String>>>> {
    let answers = session.ask_all(paths.iter().map(|path| Request::List(path.clone().into())))?;
    let children = |(path, answer): (&String, Answer<Vec<String>>)| match answer {
        Ok(children) => Ok(Some(children)),
        Err(RequestError::NoNode) => Ok(Some(vec![])),
        Err(RequestError::NoAuth) => Ok(None),
        Err(failure) => bail!("{path}: {failure}"),
    };
    paths.iter().zip(answers).map(children).collect()
}

/// Reads every contender's node and every record.
fn describe(session: &mut BlockingSession<'_>, locks: BTreeMap<String, Vec<String>>) -> Result<Vec<Lock>> {
    let names = |(path, children): (&String, &Vec<String>)| {
        let contenders = children.iter().filter(|child| Name::parse(child).is_some());
        let nodes = contenders.map(|name| NodePath::from(format!("{path}/{name}")));
        nodes.chain([record_path(path)]).collect::<Vec<_>>()
    };
    let mut nodes: BTreeMap<NodePath, ReadNode> = BTreeMap::new();
    let paths: Vec<NodePath> = locks.iter().flat_map(names).collect();
    let answers = session.ask_all(paths.iter().cloned().map(Request::Get))?;
    for (path, answer) in paths.into_iter().zip(answers) {
        match answer {
            Ok(node) => drop(nodes.insert(path, node)),
            // The node was deleted after the listing, or there is no record.
            Err(RequestError::NoNode) => {}
            Err(failure) => bail!("{path}: {failure}"),
        }
    }
    Ok(locks.into_iter().map(|(path, children)| lock(path, &children, &nodes)).collect())
}

fn lock(path: String, children: &[String], nodes: &BTreeMap<NodePath, ReadNode>) -> Lock {
    let existing: Vec<String> = children
        .iter()
        .filter(|child| nodes.contains_key(&NodePath::from(format!("{path}/{child}"))))
        .cloned()
        .collect();
    let contenders = queue_entries(&existing)
        .into_iter()
        .filter_map(|entry| {
            let node = NodePath::from(format!("{path}/{}", entry.name.text));
            let read = nodes.get(&node)?;
            Some(contender(&entry, node, read))
        })
        .collect();
    let last_success = nodes.get(&record_path(&path)).map(success);
    Lock { path, contenders: Some(contenders), last_success, busy_below: 0 }
}

fn contender(entry: &QueueEntry<'_>, node: NodePath, read: &ReadNode) -> ListedContender {
    let known = read.seen();
    let record = Record::from_bytes(read.data());
    let revocation = revocation(read.data());
    let state = State::of(entry, read);
    ListedContender {
        position: entry.position,
        state,
        stopped: record.as_ref().is_some_and(|record| record.stopped),
        mode: entry.name.mode,
        owner: record.as_ref().map_or_else(|| Owner::of(read.data()), Owner::of_record),
        since: known.map(|read| read.created),
        held_since: known
            .filter(|_| state == State::Held)
            .and_then(|read| record.as_ref()?.held_since(read.created)),
        fencing_token: known.map(|read| read.czxid),
        session: known.map(|read| session_id(read.owner)),
        node,
        family: entry.name.family,
        asked_to_stop: revocation.is_some(),
        revoked_by: revocation.flatten(),
    }
}

fn success(record: &ReadNode) -> Success {
    let last = LastSuccess::from_bytes(record.data());
    let Owner { host, pid, .. } = Owner::of(record.data());
    Success {
        at: record.seen().map(|record| record.modified),
        host,
        pid,
        fencing_token: last.map(|last| last.fencing_token),
    }
}
