//! Several locks for one command, acquired one after the other in sorted order, so that two runs that want the same
//! locks can't wait for each other. Pure.

use std::time::Duration;

use super::contender::{Contender, ContenderConfig, ContenderEvent, OwnNode};
use crate::core::path::LockPath;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::{LockIndex, Reply, Request};

/// The contenders for all locks that one command needs.
#[derive(Debug)]
pub struct Set {
    /// Sorted by path, each path once.
    contenders: Vec<Contender>,
    /// How many are held: those before this index. The contender at this index is contending.
    held: usize,
}

/// Requests and news of a step, each with the index of its lock.
#[derive(Debug, Default)]
pub struct SetStep {
    /// Requests to send.
    pub requests: Vec<(LockIndex, Request)>,
    /// What to report or to act on.
    pub news: Vec<(LockIndex, ContenderEvent)>,
}

impl SetStep {
    fn append(&mut self, mut other: Self) {
        self.requests.append(&mut other.requests);
        self.news.append(&mut other.news);
    }
}

impl Set {
    /// Contenders of the session with this id; `entries` in any order.
    pub fn new(mut entries: Vec<ContenderConfig>, session: i64) -> Self {
        if !planted(Mistake::UnsortedLocks) {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
        }
        entries.dedup_by(|a, b| a.path == b.path);
        Self {
            contenders: entries.into_iter().map(|entry| Contender::new(entry, session)).collect(),
            held: 0,
        }
    }

    /// Begins with the first lock.
    pub fn begin(&mut self) -> SetStep {
        self.step(0, Contender::begin)
    }

    /// Takes in a reply for the lock with this index.
    pub fn take(&mut self, index: LockIndex, reply: Reply) -> SetStep {
        let mut step = self.step(index.0, |contender| contender.take(reply));
        if index.0 == self.held && step.news.iter().any(|(_, news)| *news == ContenderEvent::Held) {
            self.held += 1;
            step.append(self.step(self.held, Contender::begin));
        }
        step
    }

    /// See [`Contender::reconnected`].
    pub fn reconnected(&mut self) -> SetStep {
        self.step_all(Contender::reconnected)
    }

    /// Whether at least one lock is held.
    pub fn any_held(&self) -> bool {
        self.contenders.iter().any(Contender::holds)
    }

    /// Marks each of zklock's nodes as stopped or running again.
    pub fn mark_stopped(&mut self, stopped: bool) -> SetStep {
        self.step_all(|contender| contender.mark_stopped(stopped))
    }

    /// See [`Contender::look_around`].
    pub fn look_around(&mut self) -> SetStep {
        self.step_all(Contender::look_around)
    }

    /// Makes each of zklock's nodes say how long after its creation the lock was acquired, which `after` tells by the
    /// lock's index.
    pub fn tell_held(&mut self, after: impl Fn(LockIndex) -> Option<Duration>) -> SetStep {
        let mut all = SetStep::default();
        for index in 0..self.contenders.len() {
            let Some(after) = after(LockIndex(index)) else { continue };
            all.append(self.step(index, |contender| contender.tell_held(after)));
        }
        all
    }

    /// Whether every lock is held.
    pub fn all_held(&self) -> bool {
        self.held == self.contenders.len()
    }

    /// Whether [`Contender::is_unread`] holds for any lock.
    pub fn any_unread(&self) -> bool {
        self.contenders.iter().any(Contender::is_unread)
    }

    /// Whether another contender was seen ahead on the lock that zklock is waiting for.
    pub fn seen_busy(&self) -> bool {
        self.contenders.get(self.held).is_some_and(Contender::seen_busy)
    }

    /// The index of the lock that zklock is waiting for, or of the last one.
    pub fn current(&self) -> LockIndex {
        LockIndex(self.held.min(self.contenders.len().saturating_sub(1)))
    }

    /// The path of the lock with this index.
    pub fn path(&self, index: LockIndex) -> Option<&LockPath> {
        self.contenders.get(index.0).map(Contender::path)
    }

    /// Every lock on which zklock has a node, with that node, in the order of acquisition.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (&LockPath, &OwnNode)> {
        self.contenders.iter().filter_map(|contender| Some((contender.path(), contender.own()?)))
    }

    /// zklock's node on the first lock, and the node's data.
    pub fn first(&self) -> Option<(&OwnNode, Vec<u8>)> {
        let contender = self.contenders.first()?;
        Some((contender.own()?, contender.data()))
    }

    fn step_all(&mut self, act: impl Fn(&mut Contender) -> super::contender::Step) -> SetStep {
        let mut all = SetStep::default();
        for index in 0..self.contenders.len() {
            all.append(self.step(index, &act));
        }
        all
    }

    /// A step of the contender at this index, if there is one.
    fn step(&mut self, index: usize, act: impl FnOnce(&mut Contender) -> super::contender::Step) -> SetStep {
        let Some(contender) = self.contenders.get_mut(index) else {
            return SetStep::default();
        };
        let step = act(contender);
        SetStep {
            requests: step.requests.into_iter().map(|request| (LockIndex(index), request)).collect(),
            news: step.news.into_iter().map(|news| (LockIndex(index), news)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::protocol::{Created, ServerTime};

    fn set(paths: &[&str]) -> Set {
        Set::new(paths.iter().map(|path| ContenderConfig::exclusive(path)).collect(), 7)
    }

    /// Answers the create and list of the lock with this index so that it is held.
    fn grant(set: &mut Set, step: &SetStep, index: LockIndex) -> SetStep {
        let prefix = step.requests.iter().find_map(|(lock, request)| match request {
            Request::Create { prefix, .. } if *lock == index => Some(prefix.clone()),
            _ => None,
        });
        let name = format!("{}0000000001", prefix.unwrap());
        set.take(index, Reply::Created(Ok(Created { name: name.clone(), czxid: 1, created: ServerTime(0) })));
        set.take(index, Reply::Listed(Ok(vec![name])))
    }

    #[test]
    fn locks_are_acquired_in_sorted_order_and_once_each() {
        let mut set = set(&["/b", "/a", "/b"]);
        let step = set.begin();
        let step = grant(&mut set, &step, LockIndex(0));
        assert_eq!(set.path(LockIndex(0)).map(LockPath::as_str), Some("/a"));
        assert!(!set.all_held());
        grant(&mut set, &step, LockIndex(1));
        assert!(set.all_held());
        let nodes: Vec<&str> = set.nodes().rev().map(|(path, _)| path.as_str()).collect();
        assert_eq!(nodes, ["/b", "/a"], "released in reverse");
    }

    #[test]
    fn the_next_lock_is_not_requested_before_the_previous_one_is_held() {
        let mut set = set(&["/a", "/b"]);
        let step = set.begin();
        assert!(step.requests.iter().all(|(lock, _)| *lock == LockIndex(0)));
        let step = grant(&mut set, &step, LockIndex(0));
        assert!(
            step.requests
                .iter()
                .any(|(lock, request)| *lock == LockIndex(1) && matches!(request, Request::Create { .. }))
        );
    }
}
