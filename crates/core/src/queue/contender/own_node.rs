//! zklock's own node, as a small machine beside the contender: what it says, and what others do to it.

use std::time::Duration;

use super::error::ContentionError;
use super::reaction::{ContenderConfig, Reaction};
use crate::protocol::{LockNode, ReadNode, Request, RequestError};
use crate::queue::event::Event;
use crate::queue::record::{self, Record};

/// zklock's own node. It is watched from the start: if another client deletes it, the waiters behind move up, and an old
/// listing would let this contender run at the same time as they do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct OwnNode {
    pub(super) node: LockNode,
    pub(super) watched: bool,
    /// Another client wrote to it, and zklock hasn't read it yet.
    pub(super) unread: bool,
    version: i32,
    /// It has one of several slots, and the next contender must know.
    has_slot: bool,
    stopped: bool,
    /// How long after its creation the lock was acquired.
    held_after: Option<Duration>,
    /// It may not have the data that it should have.
    unwritten: bool,
}

impl OwnNode {
    pub(super) fn new(node: LockNode) -> Self {
        Self {
            node,
            watched: false,
            unread: false,
            version: 0,
            has_slot: false,
            stopped: false,
            held_after: None,
            unwritten: false,
        }
    }

    /// The data that it should have.
    pub(super) fn data(&self, config: &ContenderConfig) -> Vec<u8> {
        let data = if self.has_slot { &config.data_with_slot } else { &config.data };
        if !self.stopped && self.held_after.is_none() {
            return data.clone();
        }
        let held_after_ms = self.held_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        let with_more = |record| Record { stopped: self.stopped, held_after_ms, ..record }.to_bytes();
        Record::from_bytes(data).map_or_else(|| data.clone(), with_more)
    }

    /// Shows the next contender, which watches only this node, that it is now the first waiter for another slot.
    pub(super) fn announce_slot(&mut self, config: &ContenderConfig) -> Reaction {
        self.has_slot = true;
        self.write(config)
    }

    pub(super) fn mark_stopped(&mut self, stopped: bool, config: &ContenderConfig) -> Reaction {
        self.stopped = stopped;
        self.write(config)
    }

    pub(super) fn record_held_since(&mut self, after: Duration, config: &ContenderConfig) -> Reaction {
        self.held_after = Some(after);
        self.write(config)
    }

    /// Writes its data, unless another client has changed it since it was read: that would overwrite a mark that asks
    /// zklock to give up the lock. In that case the write is retried after the node has been read.
    pub(super) fn write(&mut self, config: &ContenderConfig) -> Reaction {
        self.unwritten = true;
        Reaction::ask(Request::Write(self.node.path.clone(), self.data(config), self.version))
    }

    pub(super) fn watch(&self) -> Reaction {
        if self.watched { Reaction::default() } else { Reaction::ask(Request::Watch(self.node.path.clone())) }
    }

    /// Its watch ended with the old connection.
    pub(super) fn reconnected(&mut self) -> Reaction {
        if std::mem::take(&mut self.watched) { self.watch() } else { Reaction::default() }
    }

    /// It was read for the contender of this session.
    pub(super) fn read(
        &mut self,
        result: Result<ReadNode, RequestError>,
        session: i64,
        config: &ContenderConfig,
    ) -> Result<Reaction, ContentionError> {
        match result {
            Ok(ReadNode::Seen(node)) if node.owner == session && node.czxid == self.node.czxid => {
                (self.watched, self.unread) = (true, false);
                self.version = node.version;
                if let Some(by) = record::revocation(&node.data) {
                    return Ok(Reaction::tell(Event::Revoked(config.path.clone(), by)));
                }
                self.unwritten &= node.data != self.data(config);
                Ok(if self.unwritten { self.write(config) } else { Reaction::default() })
            }
            Ok(ReadNode::Hidden) => Err(ContentionError::OwnNodeHidden),
            Ok(ReadNode::Seen(_)) | Err(RequestError::NoNode) => Err(ContentionError::Deleted),
            Err(RequestError::ConnectionLost) => Ok(self.watch()),
            Err(failure) => Err(ContentionError::of(failure, "read its own node", "READ", &config.path)),
        }
    }

    /// Its watch has fired.
    pub(super) fn changed(&mut self, deleted: bool) -> Result<Reaction, ContentionError> {
        (self.watched, self.unread) = (false, true);
        if deleted { Err(ContentionError::Deleted) } else { Ok(self.watch()) }
    }
}
