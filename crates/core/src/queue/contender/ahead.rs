//! The nodes ahead: watching them, and what follows when they change.

use super::error::ContentionError;
use super::step::Step;
use super::{Contender, ContenderPhase};
use crate::path::NodePath;
use crate::protocol::{LockNode, Node, ReadNode, Request, RequestError, ServerTime};
use crate::queue::event::Event;
use crate::queue::name::{Family, Mode};
use crate::queue::record;

impl Contender {
    /// The answer about a node ahead, or about one that may be zklock's own.
    pub(super) fn other_read(&mut self, path: &NodePath, result: Result<ReadNode, RequestError>) -> Step {
        let name = path.name();
        match &self.phase {
            _ if !path.is_child_of(self.path()) => Step::default(),
            ContenderPhase::Adopting(own) if own == name => match result {
                Ok(ReadNode::Seen(node)) if node.owner == self.session => {
                    let mut step = self.queued(LockNode { path: path.clone(), czxid: node.czxid });
                    // Another client may have written to it before it was found.
                    step.append(self.own_read(&Ok(ReadNode::Seen(node))));
                    step.append(self.list_again());
                    step
                }
                // zklock can't see whether it owns this node, and a second node would wait for this one.
                Ok(ReadNode::Hidden) => self.fail(ContentionError::OwnNodeHidden),
                // The node of an earlier session, which is about to be deleted. This session never adopts it.
                Ok(ReadNode::Seen(_)) | Err(RequestError::NoNode) => self.enter(),
                Err(RequestError::ConnectionLost) => self.go(ContenderPhase::Searching, self.catch_up()),
                Err(failure) => {
                    self.fail(ContentionError::of(failure, "read its own node", "READ", &self.config.path))
                }
            },
            ContenderPhase::Approaching { unset, .. } if unset.iter().any(|one| one == name) => {
                self.approached(path, result)
            }
            ContenderPhase::Waiting { watch, .. } if watch.iter().any(|one| one == name) => {
                self.read_again(path, result)
            }
            ContenderPhase::Naming { node, refusal } if node == name => {
                self.named(node.clone(), refusal.clone(), result)
            }
            _ => Step::default(),
        }
    }

    /// The answer about a node in the way.
    pub(super) fn approached(&mut self, path: &NodePath, result: Result<ReadNode, RequestError>) -> Step {
        let node = match result {
            Ok(ReadNode::Seen(node)) if node.owner == self.session => {
                return self.go(ContenderPhase::Clearing, Request::Delete(path.clone()));
            }
            Ok(node) if node.is_permanent() => {
                return self.fail(ContentionError::NotEphemeral(path.to_string()));
            }
            Ok(node) => node,
            Err(failure) => return self.not_watched(path, failure),
        };
        let parent = self.config.path.clone();
        let ContenderPhase::Approaching { watch, unset, nearest, ahead } = &mut self.phase else {
            return Step::default();
        };
        unset.retain(|name| name != path.name());
        let Some(predecessor) = watch.first().cloned() else {
            debug_assert!(false, "a waiter watches at least one node");
            return self.list_again();
        };
        if predecessor == path.name() {
            // It got its slot before the watch was set: the listing that put this contender behind it is older than
            // that.
            if may_get_a_slot(self.config.mode, watch) && record::has_slot(node.data()) {
                return self.go(ContenderPhase::Listing, self.catch_up());
            }
            *nearest = node.into_seen();
        }
        if !unset.is_empty() {
            return Step::default();
        }
        let (data, since) = shown(nearest.take());
        let event = Event::Waiting { path: parent, predecessor, data, since, ahead: *ahead };
        // With several slots, a release can let in more than one waiter; and a Curator writer that steps down leaves a
        // reader with its number. Both need another listing.
        let simple = !matches!(self.config.mode, Mode::Slots(2..)) && self.config.family != Family::CuratorRw;
        let watch = std::mem::take(watch);
        self.phase = ContenderPhase::Waiting { watch, ahead: *ahead, sole: *ahead == 1 && simple };
        Step { requests: vec![], events: vec![event] }
    }

    /// The answer about a watched node that another client wrote to. The same request has set the watch again.
    pub(super) fn read_again(&mut self, path: &NodePath, result: Result<ReadNode, RequestError>) -> Step {
        let node = match result {
            Ok(node) => node,
            Err(failure) => return self.not_watched(path, failure),
        };
        let ContenderPhase::Waiting { watch, ahead, .. } = &self.phase else {
            return Step::default();
        };
        let Some(predecessor) = watch.first().filter(|name| *name == path.name()) else {
            return Step::default();
        };
        let (predecessor, ahead) = (predecessor.clone(), *ahead);
        let (data, since) = shown(node.into_seen());
        let path = self.config.path.clone();
        let event = Event::Waiting { path, predecessor, data, since, ahead };
        Step { requests: vec![], events: vec![event] }
    }

    /// A node in the way could not be read, and isn't watched.
    pub(super) fn not_watched(&mut self, path: &NodePath, failure: RequestError) -> Step {
        match failure {
            RequestError::NoNode => self.list_again(),
            RequestError::ConnectionLost => self.ask(Request::Watch(path.clone())),
            failure => self.fail(ContentionError::of(
                failure,
                "watch the contender ahead",
                "READ",
                &self.config.path,
            )),
        }
    }

    pub(super) fn other_changed(&mut self, path: &NodePath, deleted: bool) -> Step {
        let name = path.name();
        match &self.phase {
            _ if !path.is_child_of(self.path()) => Step::default(),
            // New data doesn't move the queue, except when a predecessor announces its slot.
            ContenderPhase::Waiting { watch, .. }
                if !deleted
                    && watch.iter().any(|one| one == name)
                    && !may_get_a_slot(self.config.mode, watch) =>
            {
                self.ask(Request::Watch(path.clone()))
            }
            ContenderPhase::Waiting { watch, sole, .. } if watch.iter().any(|one| one == name) => {
                // Only this node was ahead, and no node can enter in between, so no second listing is needed. That
                // requires that its own node still exists and that events arrive in order.
                let sole = *sole && self.own_watched;
                if deleted && sole { self.hold() } else { self.list_again() }
            }
            // One of several nodes is gone before all watches are set: the listing is out of date.
            ContenderPhase::Approaching { watch, .. } if watch.iter().any(|one| one == name) => {
                self.list_again()
            }
            _ => Step::default(),
        }
    }
}

/// What a message shows of a node; no data and no time if it is hidden.
pub(super) fn shown(node: Option<Node>) -> (Vec<u8>, ServerTime) {
    node.map_or((vec![], ServerTime(0)), |node| (node.data, node.created))
}

/// Whether the watched node is a predecessor that waits for one of several slots too. The first waiter watches the
/// holders of all slots instead.
fn may_get_a_slot(mode: Mode, watch: &[String]) -> bool {
    matches!(mode, Mode::Slots(2..)) && watch.len() == 1
}
