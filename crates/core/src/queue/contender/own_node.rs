//! zklock's own node: what it says, and what others did to it.

use std::time::Duration;

use super::Contender;
use super::error::ContentionError;
use super::step::Step;
use crate::protocol::{ReadNode, Request, RequestError};
use crate::queue::event::Event;
use crate::queue::record::{self, Record};

/// The content of zklock's node beyond the data it was created with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NodeContent {
    /// It has one of several slots, and the next contender must know.
    pub(super) has_slot: bool,
    pub(super) stopped: bool,
    /// How long after the creation of the node the lock was acquired.
    pub(super) held_after: Option<Duration>,
    /// The node may not have this content yet.
    pub(super) unwritten: bool,
}

impl Contender {
    /// The data that its node should have.
    pub fn data(&self) -> Vec<u8> {
        let data = if self.content.has_slot { &self.config.data_with_slot } else { &self.config.data };
        let NodeContent { stopped, held_after, .. } = self.content;
        if !stopped && held_after.is_none() {
            return data.clone();
        }
        let held_after_ms = held_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        let with_more = |record| Record { stopped, held_after_ms, ..record }.to_bytes();
        Record::from_bytes(data).map_or_else(|| data.clone(), with_more)
    }

    /// Marks its node as stopped or running again.
    pub fn mark_stopped(&mut self, stopped: bool) -> Step {
        self.content.stopped = stopped;
        self.write_own()
    }

    /// Makes its node say how long after its creation the lock was acquired.
    pub fn record_held_since(&mut self, after: Duration) -> Step {
        self.content.held_after = Some(after);
        self.write_own()
    }

    /// Writes its node's data, unless another client has changed the node since it was read: that would overwrite a
    /// mark that asks zklock to give up the lock. In that case the write is retried after the node has been read.
    pub(super) fn write_own(&mut self) -> Step {
        let Some(own) = &self.own else { return Step::default() };
        self.content.unwritten = true;
        self.ask(Request::Write(own.path.clone(), self.data(), self.own_version))
    }

    /// Watches its own node from the start. If another client deletes the node, the waiters behind move up, and an old
    /// listing would let this contender run at the same time as they do.
    pub(super) fn watch_own(&mut self) -> Step {
        match &self.own {
            Some(own) if !self.own_watched => self.ask(Request::Watch(own.path.clone())),
            _ => Step::default(),
        }
    }

    pub(super) fn own_read(&mut self, result: &Result<ReadNode, RequestError>) -> Step {
        let expected = self.own.as_ref().map(|own| own.czxid);
        match result {
            Ok(ReadNode::Seen(node)) if node.owner == self.session && Some(node.czxid) == expected => {
                (self.own_watched, self.own_unread) = (true, false);
                self.own_version = node.version;
                if let Some(by) = record::revocation(&node.data) {
                    return Step { requests: vec![], events: vec![Event::Revoked(self.path().clone(), by)] };
                }
                self.content.unwritten &= node.data != self.data();
                if self.content.unwritten { self.write_own() } else { Step::default() }
            }
            Ok(ReadNode::Hidden) => self.fail(ContentionError::OwnNodeHidden),
            Ok(ReadNode::Seen(_)) | Err(RequestError::NoNode) => self.fail(ContentionError::Deleted),
            Err(RequestError::ConnectionLost) => self.watch_own(),
            Err(failure) => self.fail(ContentionError::of(
                failure.clone(),
                "read its own node",
                "READ",
                &self.config.path,
            )),
        }
    }

    pub(super) fn own_changed(&mut self, deleted: bool) -> Step {
        (self.own_watched, self.own_unread) = (false, true);
        if deleted { self.fail(ContentionError::Deleted) } else { self.watch_own() }
    }
}
