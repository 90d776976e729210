//! The wait until a lock is free of all that held it or queued for it when the wait began, without a place in the queue.
//! Pure.
//!
//! The contenders of the first listing are awaited, by their names, so that later ones never count, whatever happens to
//! connections, sessions and the lock's node meanwhile. Only the last of them is watched: usually the others are gone
//! before it.

use std::collections::BTreeSet;

use super::contender::{ContentionError, Inspection, InspectionResult};
use super::name::{Family, Mode, Name};
use super::order::{disorder, in_order, queue_entries};
use crate::path::{LockPath, NodePath};
use crate::protocol::{ReadNode, Reply, Request, RequestError};

/// A wait until one lock is free.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UntilFree {
    path: LockPath,
    /// The nodes that were there when the wait began and still are, in the order of their numbers.
    there: Vec<String>,
    /// The first listing was made.
    is_begun: bool,
    /// The node that is watched, and what was read from it.
    watched: Option<(String, ReadNode)>,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    /// The first listing, which says who is awaited.
    Beginning,
    /// It has names of other recipes: checking whether their owners are alive.
    Inspecting(Inspection),
    /// A later listing, which says who of them is left.
    Looking,
    /// Setting the watch, and reading the node of the holder.
    Reading { holder: Option<Holder> },
    /// Nothing is asked for.
    Idle,
}

/// The first that holds the lock, if it isn't the last that is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Holder {
    name: String,
    read: HolderRead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum HolderRead {
    Pending,
    /// `None`: it can't be read, because it is gone meanwhile.
    Done(Option<ReadNode>),
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UntilFreeStep {
    /// Make these requests, and take in the replies.
    Ask(Vec<Request>),
    /// Contenders hold the lock or wait for it. [`approach`](UntilFree::approach) watches them.
    Busy,
    /// The last of them is watched. [`look`](UntilFree::look) when it has changed.
    Waits(Awaited),
    /// None of them is left.
    Free,
    /// The wait can't end.
    Failed(ContentionError),
}

/// Those that are still awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    /// How many there are.
    pub count: usize,
    /// The name of the last one's node, and its content.
    pub last: (String, ReadNode),
    /// The same of the first that holds the lock. `None` if its node was gone before it was read.
    pub holder: Option<(String, ReadNode)>,
}

impl UntilFree {
    /// A wait for this lock, which [begins](Self::begin) later.
    pub fn new(path: LockPath) -> Self {
        Self { path, there: vec![], is_begun: false, watched: None, phase: Phase::Idle }
    }

    /// The lock.
    pub fn path(&self) -> &LockPath {
        &self.path
    }

    /// Makes the first listing. A server that lags behind must not hide a holder.
    pub fn begin(&mut self) -> UntilFreeStep {
        self.phase = Phase::Beginning;
        UntilFreeStep::Ask(vec![Request::CatchUpAndList(self.path.node())])
    }

    /// Watches the last of those that are still there, unless it is watched, and reads the holder.
    pub fn approach(&mut self) -> UntilFreeStep {
        let Some(last) = self.there.last() else { return self.free() };
        let mut requests = vec![];
        if self.watched.as_ref().is_none_or(|(watched, _)| watched != last) {
            self.watched = None;
            requests.push(Request::Watch(self.path.child(last)));
        }
        let holder = queue_entries(&self.there).into_iter().find(|entry| entry.holds);
        let holder = holder.map(|entry| entry.name.text.to_owned()).filter(|holder| holder != last);
        requests.extend(holder.iter().map(|name| Request::Get(self.path.child(name))));
        self.phase = Phase::Reading { holder: holder.map(|name| Holder { name, read: HolderRead::Pending }) };
        self.watches().unwrap_or(UntilFreeStep::Ask(requests))
    }

    /// Looks who is left of those that are awaited.
    pub fn look(&mut self) -> UntilFreeStep {
        self.phase = Phase::Looking;
        UntilFreeStep::Ask(vec![Request::List(self.path.node())])
    }

    /// The watch has fired, or ended with the connection.
    pub fn unwatched(&mut self) {
        self.watched = None;
    }

    /// The nodes of all that hold the lock, of those that are awaited.
    pub fn holders(&self) -> Vec<NodePath> {
        let holders = queue_entries(&self.there).into_iter().filter(|entry| entry.holds);
        holders.map(|entry| self.path.child(entry.name.text)).collect()
    }

    /// Takes in a reply. `None`: other replies are still to come.
    pub fn take(&mut self, reply: Reply) -> Option<UntilFreeStep> {
        match (&mut self.phase, reply) {
            (Phase::Beginning, Reply::Listed(result)) => self.began(result),
            (Phase::Inspecting(inspection), reply) => {
                let result = inspection.take(&self.path, reply);
                self.inspected(result)
            }
            (Phase::Looking, Reply::Listed(result)) => Some(self.looked(result)),
            (Phase::Reading { .. }, Reply::Read(node, result)) => self.read(&node, result),
            _ => None,
        }
    }

    fn began(&mut self, result: Result<Vec<String>, RequestError>) -> Option<UntilFreeStep> {
        let children = match result {
            Ok(children) => children,
            // Nobody can hold a lock that doesn't exist.
            Err(RequestError::NoNode) => vec![],
            Err(RequestError::ConnectionLost) => return Some(self.begin()),
            Err(failure) => return Some(self.cannot_list(failure)),
        };
        if let Some(error) = disorder(&children) {
            return Some(self.fail(error.into()));
        }
        // It may begin again after a reconnection, before the inspection is over.
        self.there = if std::mem::replace(&mut self.is_begun, true) {
            self.left_of(&children)
        } else {
            in_order(&children).into_iter().map(|name| name.text.to_owned()).collect()
        };
        let Some(mut inspection) = Inspection::of(&children) else { return Some(self.begun()) };
        let result = inspection.begin(&self.path);
        self.phase = Phase::Inspecting(inspection);
        self.inspected(result)
    }

    fn inspected(&mut self, result: InspectionResult) -> Option<UntilFreeStep> {
        match result {
            InspectionResult::Ask(requests) => (!requests.is_empty()).then_some(UntilFreeStep::Ask(requests)),
            InspectionResult::Fail(error) => Some(self.fail(error)),
            InspectionResult::Clean => Some(self.begun()),
        }
    }

    fn begun(&mut self) -> UntilFreeStep {
        self.phase = Phase::Idle;
        if self.there.is_empty() { self.free() } else { UntilFreeStep::Busy }
    }

    fn looked(&mut self, result: Result<Vec<String>, RequestError>) -> UntilFreeStep {
        match result {
            Ok(children) => self.there = self.left_of(&children),
            // The servers delete only a node without children.
            Err(RequestError::NoNode) => self.there.clear(),
            Err(RequestError::ConnectionLost) => return self.look(),
            Err(failure) => return self.cannot_list(failure),
        }
        self.approach()
    }

    /// Those of the children that are awaited. A writer of Curator's that steps down goes on as a reader with its number.
    fn left_of(&self, children: &[String]) -> Vec<String> {
        let names: BTreeSet<&str> = self.there.iter().map(String::as_str).collect();
        let before = self.there.iter().filter_map(|name| Name::parse(name));
        let is_writer = |name: &Name<'_>| name.family == Family::CuratorRw && name.mode == Mode::Exclusive;
        let writers: BTreeSet<i32> = before.filter(is_writer).map(|name| name.sequence).collect();
        let stepped_down = |name: &Name<'_>| {
            name.family == Family::CuratorRw && name.mode == Mode::Shared && writers.contains(&name.sequence)
        };
        let left = in_order(children).into_iter();
        left.filter(|name| names.contains(name.text) || stepped_down(name))
            .map(|name| name.text.to_owned())
            .collect()
    }

    fn read(&mut self, node: &NodePath, result: Result<ReadNode, RequestError>) -> Option<UntilFreeStep> {
        let is = |name: &str| node.is_child_of(&self.path) && node.name() == name;
        if let Ok(read) = &result
            && read.is_permanent()
        {
            return Some(self.fail(ContentionError::NotEphemeral(node.to_string())));
        }
        match &mut self.phase {
            Phase::Reading { holder: Some(holder) } if is(&holder.name) => {
                // Not looked for again: in a queue of short commands, each holder may be gone before it is read.
                holder.read = HolderRead::Done(result.ok());
            }
            _ if self.there.last().is_some_and(|last| is(last)) => match result {
                Ok(read) => self.watched = Some((node.name().to_owned(), read)),
                Err(RequestError::NoNode) => return Some(self.look()),
                Err(RequestError::ConnectionLost) => {
                    return Some(UntilFreeStep::Ask(vec![Request::Watch(node.clone())]));
                }
                Err(failure) => {
                    let why = ContentionError::of(failure, "watch the contender ahead", "READ", &self.path);
                    return Some(self.fail(why));
                }
            },
            _ => {}
        }
        self.watches()
    }

    /// The step once the last is watched and the holder is read.
    fn watches(&mut self) -> Option<UntilFreeStep> {
        let (Phase::Reading { holder }, Some(last)) = (&self.phase, &self.watched) else { return None };
        let holder = match holder {
            None => Some(last.clone()),
            Some(Holder { read: HolderRead::Pending, .. }) => return None,
            Some(Holder { name, read: HolderRead::Done(read) }) => {
                read.clone().map(|read| (name.clone(), read))
            }
        };
        let waits = Awaited { count: self.there.len(), last: last.clone(), holder };
        self.phase = Phase::Idle;
        Some(UntilFreeStep::Waits(waits))
    }

    fn cannot_list(&mut self, failure: RequestError) -> UntilFreeStep {
        let why = ContentionError::of(failure, "see the queue", "READ", &self.path);
        self.fail(why)
    }

    fn free(&mut self) -> UntilFreeStep {
        self.phase = Phase::Idle;
        UntilFreeStep::Free
    }

    fn fail(&mut self, error: ContentionError) -> UntilFreeStep {
        self.phase = Phase::Idle;
        UntilFreeStep::Failed(error)
    }
}

#[cfg(test)]
mod tests;
