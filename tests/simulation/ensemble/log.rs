//! Transactions, and the log of them that survives a crash.

use std::collections::VecDeque;
use std::rc::Rc;

use super::network::ConnId;
use super::tree::{Change, Stamp, Tree};
use super::wire::{Answer, Refusal};

/// The request behind a transaction: the connection of a client, and the server that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) server: usize,
    pub(super) conn: ConnId,
    pub(super) xid: i32,
}

/// What the leader proposes. A request that fails is one too, with no changes.
#[derive(Debug)]
pub(super) struct Txn {
    pub(super) at: Stamp,
    pub(super) changes: Vec<Change>,
    pub(super) origin: Option<Origin>,
    pub(super) result: Result<Answer, Refusal>,
}

impl Txn {
    pub(super) fn zxid(&self) -> i64 {
        self.at.zxid
    }
}

/// As many as a server keeps to bring another up to date without a snapshot.
const KEPT: usize = 2_000;

#[derive(Default)]
pub(super) struct Log {
    txns: VecDeque<Rc<Txn>>,
    /// The zxid just before the oldest that is kept.
    base: i64,
    /// The last leader whose history this is.
    pub(super) epoch: i64,
    /// The highest epoch that was promised to a leader to be.
    pub(super) promised: i64,
}

/// How a follower gets the leader's history.
#[derive(Debug)]
pub(super) enum Difference {
    /// Everything after this zxid is replaced.
    After(i64, Vec<Rc<Txn>>),
    Snapshot(Box<Tree>, Vec<Rc<Txn>>),
}

impl Log {
    pub(super) fn last(&self) -> i64 {
        self.txns.back().map_or(self.base, |txn| txn.zxid())
    }

    pub(super) fn base(&self) -> i64 {
        self.base
    }

    pub(super) fn append(&mut self, txn: Rc<Txn>) {
        self.txns.push_back(txn);
    }

    /// Forgets old transactions, all of which are in the tree.
    pub(super) fn compact(&mut self, applied: i64) {
        if self.txns.len() < 2 * KEPT {
            return;
        }
        while self.txns.len() > KEPT
            && let Some(oldest) = self.txns.pop_front_if(|txn| txn.zxid() <= applied)
        {
            self.base = oldest.zxid();
        }
    }

    pub(super) fn after(&self, zxid: i64) -> impl Iterator<Item = &Rc<Txn>> {
        let from = self.txns.partition_point(|txn| txn.zxid() <= zxid);
        self.txns.range(from..)
    }

    /// What a follower needs that has applied all up to `applied`. That was committed, so that every leader has it.
    pub(super) fn difference(&self, applied: i64, tree: &Tree) -> Difference {
        if applied >= self.base {
            Difference::After(applied, self.after(applied).cloned().collect())
        } else {
            Difference::Snapshot(Box::new(tree.clone()), self.after(tree.zxid).cloned().collect())
        }
    }

    /// Takes a leader's history over.
    pub(super) fn accept(&mut self, difference: Difference, tree: &mut Tree) {
        match difference {
            Difference::After(zxid, txns) => {
                while self.txns.pop_back_if(|txn| txn.zxid() > zxid).is_some() {}
                self.txns.extend(txns);
            }
            Difference::Snapshot(snapshot, txns) => {
                (self.base, *tree) = (snapshot.zxid, *snapshot);
                self.txns = txns.into();
            }
        }
    }
}
