//! A holder's check for clients of other recipes that came to the path after it and don't wait for it. Pure.
//!
//! The number of children is read first. A long queue isn't listed, because the answer would delay the next
//! confirmation on the same connection.

use super::error::ContentionError;
use super::inspection::{Inspection, InspectionResult};
use crate::path::LockPath;
use crate::protocol::{Node, ReadNode, Reply, Request, RequestError};
use crate::queue::name::{Family, Name};
use crate::queue::queue_error::QueueError;

/// The most children that are listed.
const MOST: i32 = 200;

/// The progress of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) enum RecipeCheck {
    /// No check is under way.
    #[default]
    Idle,
    /// Reading the number of children.
    Counting,
    /// Listing the children.
    Listing,
    /// Checking whether the owners of these nodes are alive.
    Inspecting(Inspection),
    /// A client of another recipe was found and reported: there are no more checks.
    Reported,
}

/// What follows from an answer.
type NextRequests = Result<Vec<Request>, QueueError>;

impl RecipeCheck {
    /// Begins, unless a check is under way or has found something.
    pub(super) fn begin(&mut self, lock: &LockPath) -> Vec<Request> {
        if *self != Self::Idle {
            return vec![];
        }
        *self = Self::Counting;
        vec![Request::Get(lock.node())]
    }

    /// Takes in an answer. The error describes the client that was found.
    pub(super) fn take(&mut self, lock: &LockPath, family: Family, reply: Reply) -> NextRequests {
        // Not retried: the next check is soon enough.
        let lost = reply.failure() == Some(&RequestError::ConnectionLost);
        match (std::mem::take(self), reply) {
            (Self::Reported, _) => *self = Self::Reported,
            (_, _) if lost => {}
            (Self::Counting, Reply::Read(path, Ok(ReadNode::Seen(Node { children: 2..=MOST, .. }))))
                if path == lock.node() =>
            {
                *self = Self::Listing;
                return Ok(vec![Request::List(path)]);
            }
            (Self::Listing, Reply::Listed(Ok(children))) => return self.listed(lock, family, &children),
            (Self::Inspecting(mut inspection), reply) => {
                let finding = inspection.take(lock, reply);
                return self.found(inspection, finding);
            }
            _ => {}
        }
        Ok(vec![])
    }

    fn listed(&mut self, lock: &LockPath, family: Family, children: &[String]) -> NextRequests {
        let mut contenders = children.iter().filter_map(|child| Name::parse(child));
        if let Some(other) = contenders.find(|name| name.family != family) {
            *self = Self::Reported;
            return Err(QueueError::OtherFamily { node: other.text.to_owned(), family: other.family });
        }
        let Some(mut inspection) = Inspection::of(children) else { return Ok(vec![]) };
        let finding = inspection.begin(lock);
        self.found(inspection, finding)
    }

    fn found(&mut self, inspection: Inspection, finding: InspectionResult) -> NextRequests {
        match finding {
            InspectionResult::Ask(requests) => {
                *self = Self::Inspecting(inspection);
                Ok(requests)
            }
            InspectionResult::Fail(ContentionError::Refused(refusal)) => {
                *self = Self::Reported;
                Err(refusal)
            }
            InspectionResult::Fail(_) | InspectionResult::Clean => Ok(vec![]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::queue::other_recipes::Recipe;

    const OURS: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-lock-0000000001";
    const LATCH: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-latch-0000000002";
    const KAZOO: &str = "9a2c3f607a5e4d5b8a670123456789ab__lock__0000000003";

    fn lock() -> LockPath {
        LockPath::parse(OsStr::new("/app")).unwrap()
    }

    fn take(recipe_check: &mut RecipeCheck, reply: Reply) -> NextRequests {
        recipe_check.take(&lock(), Family::Curator, reply)
    }

    fn read(path: &str, node: Node) -> Reply {
        Reply::Read(path.into(), Ok(node.into()))
    }

    fn with(children: i32) -> Reply {
        read("/app", Node { children, ..Node::default() })
    }

    /// One that has listed these children.
    fn listed(children: &[&str]) -> (RecipeCheck, NextRequests) {
        let mut recipe_check = RecipeCheck::default();
        assert_eq!(recipe_check.begin(&lock()), [Request::Get("/app".into())]);
        assert_eq!(recipe_check.begin(&lock()), [], "one check at a time");
        assert_eq!(take(&mut recipe_check, with(2)), Ok(vec![Request::List("/app".into())]));
        let children = children.iter().map(|&child| child.to_owned()).collect();
        let seen = take(&mut recipe_check, Reply::Listed(Ok(children)));
        (recipe_check, seen)
    }

    #[test]
    fn alone_or_in_a_crowd_nothing_is_listed() {
        for children in [1, 201, i32::MAX] {
            let mut recipe_check = RecipeCheck::default();
            recipe_check.begin(&lock());
            assert_eq!(take(&mut recipe_check, with(children)), Ok(vec![]));
            assert_ne!(recipe_check.begin(&lock()), [], "the next check is another");
        }
    }

    #[test]
    fn other_contenders_and_ordinary_children_are_no_other_recipe() {
        let (mut recipe_check, seen) = listed(&[OURS, "lock-0000000002", "config"]);
        assert_eq!(seen, Ok(vec![]));
        assert_ne!(recipe_check.begin(&lock()), []);
    }

    #[test]
    fn a_contender_of_another_naming_is_found_and_told_once() {
        let (mut recipe_check, seen) = listed(&[OURS, KAZOO]);
        assert!(matches!(seen, Err(QueueError::OtherFamily { family: Family::Kazoo, .. })), "{seen:?}");
        assert_eq!(recipe_check.begin(&lock()), []);
    }

    #[test]
    fn another_recipe_is_found_if_its_node_is_alive() {
        let latch = format!("/app/{LATCH}");
        for (owner, alive) in [(7, true), (0, false)] {
            let (mut recipe_check, seen) = listed(&[OURS, LATCH]);
            assert_eq!(seen, Ok(vec![Request::Get(latch.as_str().into())]));
            let seen = take(&mut recipe_check, read(&latch, Node { owner, ..Node::default() }));
            let found = matches!(&seen, Err(QueueError::OtherRecipe { recipe: Recipe::CuratorLatch, .. }));
            assert_eq!(found, alive, "{seen:?}");
            assert_eq!(recipe_check.begin(&lock()).is_empty(), alive);
        }
    }

    #[test]
    fn answers_to_other_requests_change_nothing() {
        let mut recipe_check = RecipeCheck::default();
        recipe_check.begin(&lock());
        let other = read("/other", Node { children: 2, ..Node::default() });
        assert_eq!(take(&mut recipe_check, other), Ok(vec![]));
        let (mut recipe_check, seen) = listed(&[OURS, KAZOO]);
        assert!(seen.is_err());
        assert_eq!(take(&mut recipe_check, with(2)), Ok(vec![]));
        assert_eq!(recipe_check.begin(&lock()), [], "it was reported, and isn't checked for again");
    }

    #[test]
    fn a_lost_connection_ends_a_check_and_the_next_one_starts_over() {
        let latch = format!("/app/{LATCH}");
        let (mut recipe_check, _) = listed(&[OURS, LATCH]);
        let lost = Reply::Read(latch.into(), Err(RequestError::ConnectionLost));
        assert_eq!(take(&mut recipe_check, lost), Ok(vec![]));
        assert_eq!(recipe_check.begin(&lock()), [Request::Get("/app".into())]);
    }
}
