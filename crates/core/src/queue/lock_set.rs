//! Several locks for one command, acquired one after the other in sorted order, so that two runs that want the same
//! locks can't wait for each other. Pure.

use super::contender::{Contender, ContenderConfig};
use crate::path::LockPath;
use crate::protocol::{LockIndex, LockNode};

/// The contenders for all locks that one command needs.
#[derive(Debug)]
pub struct LockSet {
    /// Sorted by path, each path once.
    contenders: Vec<Contender>,
    /// How many are held: those before this index. The contender at this index is contending.
    held: usize,
}

impl LockSet {
    /// Contenders of the session with this id; `configs` in any order.
    pub fn new(mut configs: Vec<ContenderConfig>, session: i64) -> Self {
        configs.sort_by(|a, b| a.path.cmp(&b.path));
        configs.dedup_by(|a, b| a.path == b.path);
        Self {
            contenders: configs.into_iter().map(|config| Contender::new(config, session)).collect(),
            held: 0,
        }
    }

    /// The contender for the lock with this index.
    pub fn get_mut(&mut self, index: LockIndex) -> Option<&mut Contender> {
        self.contenders.get_mut(index.0)
    }

    /// The contender for each lock.
    pub fn each(&mut self) -> impl Iterator<Item = (LockIndex, &mut Contender)> {
        self.contenders.iter_mut().enumerate().map(|(index, contender)| (LockIndex(index), contender))
    }

    /// The lock with this index is held.
    pub fn acquired(&mut self, index: LockIndex) {
        if index.0 == self.held {
            self.held += 1;
        }
    }

    /// The contender for the first lock that isn't held, if there is one.
    pub fn first_not_held(&mut self) -> Option<(LockIndex, &mut Contender)> {
        let next = LockIndex(self.held);
        Some((next, self.get_mut(next)?))
    }

    /// Whether every lock is held.
    pub fn all_held(&self) -> bool {
        self.held == self.contenders.len()
    }

    /// Whether [`Contender::is_unread`] holds for any lock.
    pub fn any_unread(&self) -> bool {
        self.contenders.iter().any(Contender::is_unread)
    }

    /// Whether another contender was seen ahead on any lock.
    pub fn seen_busy(&self) -> bool {
        self.contenders.iter().any(Contender::seen_busy)
    }

    /// The path of the lock that zklock is waiting for, if another contender was seen ahead there.
    pub fn busy(&self) -> Option<&LockPath> {
        self.contenders.get(self.held).filter(|contender| contender.seen_busy()).map(Contender::path)
    }

    /// The path of the lock that zklock is waiting for, or of the last one.
    pub fn current(&self) -> Option<&LockPath> {
        self.contenders.get(self.held).or(self.contenders.last()).map(Contender::path)
    }

    /// The path of the lock with this index.
    pub fn path(&self, index: LockIndex) -> Option<&LockPath> {
        self.contenders.get(index.0).map(Contender::path)
    }

    /// Every lock on which zklock has a node, with that node, in the order of acquisition.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (&LockPath, &LockNode)> {
        self.contenders.iter().filter_map(|contender| Some((contender.path(), contender.own()?)))
    }

    /// zklock's node on the first lock, and the node's data.
    pub fn first(&self) -> Option<(&LockNode, Vec<u8>)> {
        let contender = self.contenders.first()?;
        Some((contender.own()?, contender.data()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks(paths: &[&str]) -> LockSet {
        LockSet::new(paths.iter().map(|path| ContenderConfig::exclusive(path)).collect(), 7)
    }

    #[test]
    fn locks_are_acquired_in_sorted_order_and_once_each() {
        let mut locks = locks(&["/b", "/a", "/b"]);
        assert_eq!(locks.current().map(LockPath::as_str), Some("/a"));
        assert_eq!(locks.held, 0);
        locks.acquired(LockIndex(0));
        let next = locks.first_not_held().map(|(index, contender)| (index, contender.path().to_string()));
        assert_eq!(next, Some((LockIndex(1), "/b".to_owned())));
        assert_eq!(locks.contenders[locks.held - 1].path().as_str(), "/a");
        assert!(!locks.all_held());
        locks.acquired(LockIndex(1));
        assert_eq!(locks.first_not_held(), None);
        assert!(locks.all_held());
    }

    #[test]
    fn only_the_lock_that_is_waited_for_lets_the_next_one_begin() {
        let mut locks = locks(&["/a", "/b", "/c"]);
        let next = |locks: &mut LockSet, index| {
            locks.acquired(LockIndex(index));
            locks.first_not_held().map(|(next, _)| next)
        };
        assert_eq!(next(&mut locks, 1), Some(LockIndex(0)));
        assert_eq!(next(&mut locks, 0), Some(LockIndex(1)));
        assert_eq!(next(&mut locks, 0), Some(LockIndex(1)), "it was held before");
    }
}
