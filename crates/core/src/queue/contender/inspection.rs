//! Whether another recipe uses the lock path: which nodes to read, and what follows from them. Pure.
//!
//! The list of children isn't enough, because only an ephemeral node shows that its owner is alive.

use std::collections::VecDeque;

use super::error::ContentionError;
use crate::path::{LockPath, NodePath};
use crate::protocol::{ReadNode, Reply, Request, RequestError};
use crate::queue::other_recipes::{self, Recipe};
use crate::queue::queue_error::QueueError;

/// The nodes to read before the queue can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Inspection {
    /// Nodes below the lock path that may belong to another recipe, each with that recipe.
    unread: Vec<(String, Recipe)>,
    /// Children of the lock path to list next.
    unlisted: VecDeque<&'static str>,
    /// The child whose listing is in flight.
    listing: Option<&'static str>,
}

/// The result of an answer.
#[derive(Debug)]
pub enum InspectionResult {
    /// No other recipe uses the path.
    Clean,
    /// More requests are needed, or some are still unanswered.
    Ask(Vec<Request>),
    /// The path can't be used.
    Fail(ContentionError),
}

impl Inspection {
    /// `None` if none of these children has to be read.
    pub fn of(children: &[String]) -> Option<Self> {
        let unread: Vec<_> = children
            .iter()
            .filter_map(|child| other_recipes::of_child(child).map(|recipe| (child.clone(), recipe)))
            .collect();
        let unlisted: VecDeque<_> = other_recipes::containers(children).into();
        let something = !unread.is_empty() || !unlisted.is_empty();
        something.then_some(Self { unread, unlisted, listing: None })
    }

    /// Makes the first request.
    pub fn begin(&mut self, lock: &LockPath) -> InspectionResult {
        if self.unread.is_empty() {
            return self.list_next(lock);
        }
        InspectionResult::Ask(self.unread.iter().map(|(name, _)| Request::Get(lock.child(name))).collect())
    }

    /// Takes in an answer.
    pub fn take(&mut self, lock: &LockPath, reply: Reply) -> InspectionResult {
        match reply {
            Reply::Listed(listed) => self.listed(lock, listed),
            Reply::Read(path, read) => self.read(lock, &path, read),
            _ => InspectionResult::Ask(vec![]),
        }
    }

    fn listed(&mut self, lock: &LockPath, listed: Result<Vec<String>, RequestError>) -> InspectionResult {
        let Some(container) = self.listing.take() else { return InspectionResult::Ask(vec![]) };
        match listed {
            Ok(names) => {
                let recipe_of = |name: &String| other_recipes::of_grandchild(container, name);
                let found = names.iter().filter_map(|name| Some((name, recipe_of(name)?)));
                self.unread = found.map(|(name, recipe)| (format!("{container}/{name}"), recipe)).collect();
                self.begin(lock)
            }
            Err(RequestError::NoNode) => self.list_next(lock),
            Err(RequestError::ConnectionLost) => {
                self.unlisted.push_front(container);
                self.list_next(lock)
            }
            Err(RequestError::NoAuth) => InspectionResult::Fail(ContentionError::of(
                RequestError::NoAuth,
                other_recipes::SEE_CONTAINERS,
                "READ",
                &lock.child(container),
            )),
            Err(failure) => {
                InspectionResult::Fail(ContentionError::of(failure, "see the queue", "READ", lock))
            }
        }
    }

    fn read(
        &mut self,
        lock: &LockPath,
        path: &NodePath,
        read: Result<ReadNode, RequestError>,
    ) -> InspectionResult {
        let Some(index) = self.unread.iter().position(|(name, _)| lock.child(name) == *path) else {
            return InspectionResult::Ask(vec![]);
        };
        match read {
            Err(RequestError::ConnectionLost) => {
                return InspectionResult::Ask(vec![Request::Get(path.clone())]);
            }
            Ok(node) if node.is_permanent() => {}
            Err(RequestError::NoNode) => {}
            // A node that can't be read may be alive.
            Ok(_) | Err(RequestError::NoAuth) => {
                let (node, recipe) = self.unread.swap_remove(index);
                return InspectionResult::Fail(QueueError::OtherRecipe { node, recipe }.into());
            }
            Err(failure) => {
                return InspectionResult::Fail(ContentionError::of(failure, "see the queue", "READ", lock));
            }
        }
        self.unread.swap_remove(index);
        if self.unread.is_empty() { self.list_next(lock) } else { InspectionResult::Ask(vec![]) }
    }

    fn list_next(&mut self, lock: &LockPath) -> InspectionResult {
        self.listing = self.unlisted.pop_front();
        match self.listing {
            Some(container) => InspectionResult::Ask(vec![Request::List(lock.child(container))]),
            None => InspectionResult::Clean,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::protocol::{Node, ServerTime};

    const LEASE: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-lease-0000000001";
    const LATCH: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-latch-0000000001";

    fn lock() -> LockPath {
        LockPath::parse(OsStr::new("/app")).unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn node(owner: i64) -> Node {
        let zero = ServerTime(0);
        Node { data: vec![], owner, czxid: 1, version: 0, created: zero, modified: zero }
    }

    fn inspection(children: &[&str]) -> (Inspection, InspectionResult) {
        let mut inspection = Inspection::of(&names(children)).unwrap();
        let finding = inspection.begin(&lock());
        (inspection, finding)
    }

    fn read(
        inspection: &mut Inspection,
        path: &NodePath,
        read: Result<ReadNode, RequestError>,
    ) -> InspectionResult {
        inspection.take(&lock(), Reply::Read(path.clone(), read))
    }

    #[track_caller]
    fn assert_asks(finding: &InspectionResult, expected: &[Request]) {
        assert!(matches!(finding, InspectionResult::Ask(requests) if requests == expected), "{finding:?}");
    }

    #[track_caller]
    fn assert_refused(finding: &InspectionResult, of: Recipe) {
        let refused = |error: &ContentionError| matches!(error, ContentionError::Refused(QueueError::OtherRecipe { recipe, .. }) if *recipe == of);
        assert!(matches!(finding, InspectionResult::Fail(error) if refused(error)), "{finding:?}");
    }

    #[test]
    fn a_listing_without_names_of_other_recipes_costs_no_round_trip() {
        assert_eq!(Inspection::of(&names(&["config", "locks", "lock-0000000001"])), None);
    }

    #[test]
    fn an_ephemeral_node_is_refused_and_a_persistent_one_ignored() {
        let path = lock().child(LATCH);
        let (mut inspection, finding) = inspection(&[LATCH]);
        assert_asks(&finding, &[Request::Get(path.clone())]);
        let mut again = inspection.clone();
        assert_refused(&read(&mut again, &path, Ok(node(7).into())), Recipe::CuratorLatch);
        assert!(matches!(read(&mut inspection, &path, Ok(node(0).into())), InspectionResult::Clean));
    }

    #[test]
    fn a_hidden_node_counts_as_alive() {
        let path = lock().child(LATCH);
        for hidden in [Ok(ReadNode::Hidden), Err(RequestError::NoAuth)] {
            let (mut inspection, _) = inspection(&[LATCH]);
            assert_refused(&read(&mut inspection, &path, hidden), Recipe::CuratorLatch);
        }
    }

    #[test]
    fn a_semaphore_is_found_by_its_leases_even_without_locks() {
        let (mut inspection, finding) = inspection(&["leases"]);
        assert_asks(&finding, &[Request::List("/app/leases".into())]);
        let finding = inspection.take(&lock(), Reply::Listed(Ok(names(&["job", LEASE]))));
        let lease = lock().child(&format!("leases/{LEASE}"));
        assert_asks(&finding, &[Request::Get(lease.clone())]);
        assert_refused(&read(&mut inspection, &lease, Ok(node(7).into())), Recipe::CuratorSemaphore);
    }

    #[test]
    fn a_lock_below_leases_and_locks_is_no_semaphore() {
        let (mut inspection, _) = inspection(&["leases", "locks"]);
        let finding = inspection.take(&lock(), Reply::Listed(Ok(names(&["job"]))));
        assert_asks(&finding, &[Request::List("/app/locks".into())]);
        assert!(matches!(
            inspection.take(&lock(), Reply::Listed(Err(RequestError::NoNode))),
            InspectionResult::Clean
        ));
    }

    #[test]
    fn requests_unanswered_when_the_connection_was_lost_are_retried() {
        let (mut inspection, _) = inspection(&[LATCH, "leases"]);
        let path = lock().child(LATCH);
        let unanswered = read(&mut inspection, &path, Err(RequestError::ConnectionLost));
        assert_asks(&unanswered, &[Request::Get(path.clone())]);
        let list = [Request::List("/app/leases".into())];
        assert_asks(&read(&mut inspection, &path, Err(RequestError::NoNode)), &list);
        assert_asks(&inspection.take(&lock(), Reply::Listed(Err(RequestError::ConnectionLost))), &list);
    }

    #[test]
    fn leases_that_cannot_be_listed_are_named() {
        let (mut inspection, _) = inspection(&["leases"]);
        let finding = inspection.take(&lock(), Reply::Listed(Err(RequestError::NoAuth)));
        let InspectionResult::Fail(ContentionError::Permission { permission, node, .. }) = finding else {
            panic!("{finding:?}");
        };
        assert_eq!((permission, node.as_str()), ("READ", "/app/leases"));
    }
}
