//! Entering the queue: the create, the lost reply to it, missing parents, and the listings that follow.

use super::error::{ContentionError, cannot_list};
use super::step::Step;
use super::{Contender, ContenderPhase, MOST_LOST_CREATES, MOST_PARENTS};
use crate::protocol::{LockNode, Request, RequestError};
use crate::queue::event::Event;
use crate::queue::name::{Name, prefix};
use crate::queue::order;
use crate::queue::order::{Decision, QueueError};

impl Contender {
    pub(super) fn enter(&mut self) -> Step {
        // A new uuid for each attempt, so that a node left by an earlier attempt isn't taken for this one's.
        self.prefix = prefix(self.config.family, self.config.mode, self.config.ids.next());
        let parent = self.path().node();
        let create = Request::Create { parent, prefix: self.prefix.clone(), data: self.config.data.clone() };
        let list = self.list();
        self.phase = ContenderPhase::Entering { created: None };
        // Requests of a session are served in order, so the listing contains the node.
        Step { requests: vec![create, list], events: vec![] }
    }

    pub(super) fn created(&mut self, result: Result<LockNode, RequestError>) -> Step {
        if let ContenderPhase::Entering { created } = &mut self.phase {
            *created = Some(result);
        }
        Step::default()
    }

    pub(super) fn parents_made(&mut self, result: Result<(), RequestError>) -> Step {
        match result {
            Ok(()) => {
                self.parents_made += 1;
                if self.parents_made == MOST_PARENTS {
                    return self.fail(ContentionError::ParentsVanish);
                }
                self.enter()
            }
            Err(RequestError::ConnectionLost) if self.loses_each_create() => {
                self.fail(ContentionError::Closed("create the lock path"))
            }
            Err(RequestError::ConnectionLost) => self.make_parents(),
            Err(RequestError::NoNode) => self.fail(ContentionError::NoChroot(String::new())),
            Err(failure) => {
                self.fail(ContentionError::of(failure, "make the lock path", "CREATE", &self.config.path))
            }
        }
    }

    pub(super) fn make_parents(&mut self) -> Step {
        self.go(ContenderPhase::MakingParents, Request::MakeParents(self.path().node()))
    }

    pub(super) fn listed(&mut self, result: Result<Vec<String>, RequestError>) -> Step {
        match (&mut self.phase, result) {
            (ContenderPhase::Looking, Ok(children)) => {
                match order::decide_as_next(&children, self.config.family, self.config.mode) {
                    Decision::Wait { holder, .. } => self.read_blocker(holder, None),
                    // Like a waiter, it ignores another kind of contender behind it.
                    Decision::Refuse(QueueError::OtherKind { node, theirs, ours }) => {
                        self.read_blocker(node.clone(), Some(QueueError::OtherKind { node, theirs, ours }))
                    }
                    Decision::Refuse(refusal) => self.fail(refusal.into()),
                    Decision::Hold | Decision::Gone => self.enter(),
                }
            }
            (ContenderPhase::Looking | ContenderPhase::Searching, Err(RequestError::NoNode)) => self.enter(),
            (ContenderPhase::Entering { created }, result) => match created.take() {
                Some(created) => self.entered(created, result),
                // The create was throttled and sent again, so this listing doesn't contain the node.
                None => self.ask(self.catch_up()),
            },
            (ContenderPhase::Searching, Ok(children)) => {
                match children
                    .iter()
                    .find(|child| Name::parse(child).is_some_and(|name| name.is_from(&self.prefix)))
                {
                    Some(found) => self.go(
                        ContenderPhase::Adopting(found.clone()),
                        Request::Watch(self.path().child(found)),
                    ),
                    None => self.enter(),
                }
            }
            (ContenderPhase::Listing, Ok(children)) => self.decide(&children),
            (
                ContenderPhase::Looking | ContenderPhase::Searching | ContenderPhase::Listing,
                Err(RequestError::ConnectionLost),
            ) => self.ask(self.catch_up()),
            (ContenderPhase::Looking | ContenderPhase::Searching | ContenderPhase::Listing, Err(failure)) => {
                self.fail(cannot_list(failure, &self.config.path))
            }
            _ => Step::default(),
        }
    }

    /// Handles the answers to both create and list.
    pub(super) fn entered(
        &mut self,
        created: Result<LockNode, RequestError>,
        listed: Result<Vec<String>, RequestError>,
    ) -> Step {
        let created = match created {
            Ok(created) => created,
            Err(RequestError::NoNode) => return self.make_parents(),
            Err(RequestError::ConnectionLost) if self.loses_each_create() => {
                return self.fail(ContentionError::Closed("create its lock node"));
            }
            Err(RequestError::ConnectionLost) => return self.go(ContenderPhase::Searching, self.catch_up()),
            Err(failure) => {
                return self.fail(ContentionError::of(failure, "queue", "CREATE", &self.config.path));
            }
        };
        let mut step = self.queued(created);
        step.append(match listed {
            Ok(children) => self.decide(&children),
            Err(RequestError::ConnectionLost) => self.go(ContenderPhase::Listing, self.catch_up()),
            Err(failure) => self.fail(cannot_list(failure, &self.config.path)),
        });
        step
    }

    /// Counts a create whose answer was lost with the connection. Returns whether there were too many for chance.
    fn loses_each_create(&mut self) -> bool {
        self.lost_creates += 1;
        self.lost_creates == MOST_LOST_CREATES
    }

    pub(super) fn queued(&mut self, own: LockNode) -> Step {
        self.own = Some(own.clone());
        Step { requests: vec![], events: vec![Event::Queued(self.path().clone(), own)] }
    }
}
