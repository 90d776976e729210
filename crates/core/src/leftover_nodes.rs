//! The nodes that a run may have left on the servers, and which of them another session may delete.

use std::time::Duration;

use crate::protocol::LockNode;
use crate::protocol::{ReadNode, Reply, Request, RequestError};

/// The nodes that may be left on the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverNodes {
    /// The timeout of the session that owns them: they are gone after that time at the latest.
    pub session_timeout: Duration,
    /// Nodes that zklock owns.
    pub nodes: Vec<LockNode>,
    /// The path, without its number, of a node that may have been created.
    pub pending_create: Option<String>,
}

impl LeftoverNodes {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.pending_create.is_none()
    }

    /// The requests about the nodes, followed by the one about the node that may have been created.
    pub fn questions(&self) -> Vec<Request> {
        let nodes = self.nodes.iter().map(|node| Request::Watch(node.path.clone()));
        let pending_create = self.pending_create().map(|(parent, _)| Request::CatchUpAndList(parent.into()));
        nodes.chain(pending_create).collect()
    }

    /// The deletes that follow from these answers: never of a node that only has the same name.
    pub fn found_in(&self, answers: &[Reply]) -> Vec<Request> {
        let nodes = self.nodes.iter().zip(answers).filter_map(|(node, answer)| match answer {
            // A node of the same name from another transaction isn't zklock's.
            Reply::Read(path, Ok(ReadNode::Seen(found))) if found.czxid == node.czxid => {
                Some(Request::Delete(path.clone()))
            }
            _ => None,
        });
        // A name with this attempt's uuid can only be zklock's.
        let entered =
            self.pending_create().zip(answers.last()).and_then(|((parent, prefix), answer)| match answer {
                Reply::Listed(Ok(children)) => {
                    let name = children.iter().find(|name| name.starts_with(prefix))?;
                    Some(Request::Delete(format!("{parent}/{name}").into()))
                }
                _ => None,
            });
        nodes.chain(entered).collect()
    }

    /// Whether this answer, to a question or a delete, leaves no doubt: the node was read, deleted, or isn't there. A
    /// hidden node may be zklock's.
    pub fn is_certain(answer: &Reply) -> bool {
        !matches!(answer, Reply::Read(_, Ok(ReadNode::Hidden)))
            && answer.failure().is_none_or(|failure| *failure == RequestError::NoNode)
    }

    /// The parent and the name prefix of the node that may have been created.
    fn pending_create(&self) -> Option<(&str, &str)> {
        self.pending_create.as_deref()?.rsplit_once('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Node, RequestError};

    const ATTEMPT: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-lock-";

    fn leftover(nodes: &[(&str, i64)], pending_create: Option<&str>) -> LeftoverNodes {
        LeftoverNodes {
            session_timeout: Duration::from_secs(30),
            nodes: nodes.iter().map(|&(path, czxid)| LockNode { path: path.into(), czxid }).collect(),
            pending_create: pending_create.map(|name| format!("/locks/b/{name}")),
        }
    }

    fn read(path: &str, czxid: i64) -> Reply {
        Reply::Read(path.into(), Ok(Node { czxid, ..Node::default() }.into()))
    }

    fn listed(names: &[&str]) -> Reply {
        Reply::Listed(Ok(names.iter().map(|&name| name.to_owned()).collect()))
    }

    #[test]
    fn each_node_is_read_and_a_possible_node_is_searched_for() {
        assert!(leftover(&[], None).is_empty());
        let both = leftover(&[("/locks/a/n", 5)], Some(ATTEMPT));
        assert!(!both.is_empty());
        let questions = [Request::Watch("/locks/a/n".into()), Request::CatchUpAndList("/locks/b".into())];
        assert_eq!(both.questions(), questions);
        assert_eq!(leftover(&[("/locks/a/n", 5)], None).questions(), questions[..1]);
        assert!(!leftover(&[], Some(ATTEMPT)).is_empty());
    }

    #[test]
    fn only_nodes_of_this_run_are_deleted() {
        let both = leftover(&[("/locks/a/m", 5), ("/locks/a/n", 6)], Some(ATTEMPT));
        let own = format!("{ATTEMPT}0000000007");
        let answers = [read("/locks/a/m", 4), read("/locks/a/n", 6), listed(&["lock-0000000006", &own])];
        let deletes =
            [Request::Delete("/locks/a/n".into()), Request::Delete(format!("/locks/b/{own}").into())];
        assert_eq!(both.found_in(&answers), deletes);
        let gone = Reply::Read("/locks/a/m".into(), Err(RequestError::NoNode));
        assert_eq!(both.found_in(&[gone, read("/locks/a/n", 7), listed(&["lock-0000000006"])]), []);
    }

    /// Its ACL was changed: it may be zklock's, and it isn't gone.
    #[test]
    fn a_node_that_is_hidden_is_neither_deleted_nor_certainly_gone() {
        let hidden = Reply::Read("/locks/a/n".into(), Ok(ReadNode::Hidden));
        assert_eq!(leftover(&[("/locks/a/n", 5)], None).found_in(std::slice::from_ref(&hidden)), []);
        assert!(!LeftoverNodes::is_certain(&hidden));
        let denied = Reply::Deleted(Err(RequestError::NoAuth));
        assert!(!LeftoverNodes::is_certain(&denied));
        let gone = Reply::Read("/locks/a/n".into(), Err(RequestError::NoNode));
        for certain in [gone, read("/locks/a/n", 6), Reply::Deleted(Ok(()))] {
            assert!(LeftoverNodes::is_certain(&certain), "{certain:?}");
        }
    }
}
