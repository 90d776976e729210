//! Transactions and their log, which survives a crash.

use std::collections::VecDeque;
use std::rc::Rc;

use super::network::ConnId;
use super::tree::{Change, Stamp};
use super::wire::{Answer, WireError};

/// The request behind a transaction: a client's connection and the server that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) server: usize,
    pub(super) conn: ConnId,
    pub(super) xid: i32,
}

/// A proposal of the leader. A failed request is also a transaction, without changes.
#[derive(Debug)]
pub(super) struct Txn {
    pub(super) at: Stamp,
    pub(super) changes: Vec<Change>,
    pub(super) origin: Option<Origin>,
    pub(super) result: Result<Answer, WireError>,
}

impl Txn {
    pub(super) fn zxid(&self) -> i64 {
        self.at.zxid
    }
}

/// How many transactions a server keeps to bring another up to date without a snapshot.
const KEPT: usize = 2_000;

#[derive(Clone, Default)]
pub(super) struct Log {
    txns: VecDeque<Rc<Txn>>,
    /// The zxid just before the oldest transaction that is kept.
    base: i64,
    /// The epoch of the last leader that this history comes from.
    pub(super) epoch: i64,
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

    /// Forgets old transactions that are already in the tree.
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
}
