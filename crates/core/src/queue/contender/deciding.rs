//! What a listing means: hold the lock, wait, or refuse the queue.

use super::ahead::shown;
use super::error::ContentionError;
use super::step::Step;
use super::{Contender, ContenderPhase};
use crate::protocol::{ReadNode, Request, RequestError};
use crate::queue::event::Event;
use crate::queue::name::Mode;
use crate::queue::order;
use crate::queue::order::{Decision, QueueError};

impl Contender {
    pub(super) fn decide(&mut self, children: &[String]) -> Step {
        let Some(own) = self.own.as_ref().map(|own| own.path.name()) else {
            debug_assert!(false, "nothing is decided before its own node is known");
            return self.fail(ContentionError::Deleted);
        };
        match order::decide(children, own) {
            Decision::Hold => {
                // Contenders that entered before this listing may have read the node without a slot, even if this one
                // never waited. Later contenders read what it says now.
                let is_to_be_told = order::anybody_behind(children, own);
                let told = if is_to_be_told { self.announce_slot() } else { Step::default() };
                let mut step = self.hold();
                step.append(told);
                step
            }
            Decision::Wait { holder, .. } if self.config.nonblock => self.read_blocker(holder, None),
            Decision::Wait { watch, ahead, .. } => {
                self.seen_busy = true;
                let mut step = self.watch_own();
                step.requests.extend(watch.iter().map(|name| Request::Watch(self.path().child(name))));
                self.phase =
                    ContenderPhase::Approaching { unset: watch.clone(), watch, nearest: None, ahead };
                step
            }
            Decision::Gone => self.fail(ContentionError::Deleted),
            Decision::Refuse(refusal) => self.fail(refusal.into()),
        }
    }

    pub(super) fn hold(&mut self) -> Step {
        self.phase = ContenderPhase::Holding;
        let mut step = self.watch_own();
        step.events.push(Event::Held(self.path().clone()));
        step
    }

    /// Shows the next contender, which watches only this node, that it is now the first waiter for another slot.
    pub(super) fn announce_slot(&mut self) -> Step {
        if !matches!(self.config.mode, Mode::Slots(2..)) {
            return Step::default();
        }
        self.content.has_slot = true;
        self.write_own()
    }

    /// With `nonblock`: reads the node in the way, before the lock counts as busy or the queue as refused.
    pub(super) fn read_blocker(&mut self, node: String, refusal: Option<QueueError>) -> Step {
        self.seen_busy = refusal.is_none();
        let watch = Request::Watch(self.path().child(&node));
        self.go(ContenderPhase::Naming { node, refusal }, watch)
    }

    /// The answer about the node in the way.
    pub(super) fn named(
        &mut self,
        node: String,
        refusal: Option<QueueError>,
        result: Result<ReadNode, RequestError>,
    ) -> Step {
        match (result, refusal) {
            // A waiter would ignore it if it were behind, and only zklock's own number tells whether it is.
            (Ok(read), _) if read.is_permanent() && self.own.is_none() => {
                self.seen_busy = false;
                self.enter()
            }
            (Ok(read), _) if read.is_permanent() => {
                self.fail(ContentionError::NotEphemeral(self.path().child(&node).to_string()))
            }
            (_, Some(refusal)) => self.fail(refusal.into()),
            (result, None) => {
                let (data, since) = shown(result.ok().and_then(ReadNode::into_seen));
                self.phase = ContenderPhase::Ended;
                let event = Event::Busy { path: self.path().clone(), holder: node, data, since };
                Step { requests: vec![], events: vec![event] }
            }
        }
    }
}
