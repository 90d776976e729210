//! The nodes that a run may have left on the servers, and which of them another session may delete.

use std::time::Duration;

use crate::core::pair::OwnedNode;
use crate::core::protocol::{Reply, Request};

/// The nodes that may be left on the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The timeout of the session that owns them: they are gone after that time at the latest.
    pub session_timeout: Duration,
    /// Nodes that zklock owns.
    pub nodes: Vec<OwnedNode>,
    /// The path, without its number, of a node that may have been created.
    pub entering: Option<String>,
}

impl Remains {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.entering.is_none()
    }

    /// The requests about the nodes, followed by the one about the node that may have been created.
    pub fn questions(&self) -> Vec<Request> {
        let nodes = self.nodes.iter().map(|node| Request::Watch(node.path.clone()));
        let entering = self.entering().map(|(parent, _)| Request::CatchUpAndList(parent.into()));
        nodes.chain(entering).collect()
    }

    /// The deletes that follow from these answers: never of a node that only has the same name.
    pub fn found_in(&self, answers: &[Reply]) -> Vec<Request> {
        let nodes = self.nodes.iter().zip(answers).filter_map(|(node, answer)| match answer {
            // A node of the same name from another transaction isn't zklock's.
            Reply::Read(path, Ok(found)) if found.czxid == node.czxid => Some(Request::Delete(path.clone())),
            _ => None,
        });
        // A name with this attempt's uuid can only be zklock's.
        let entered =
            self.entering().zip(answers.last()).and_then(|((parent, prefix), answer)| match answer {
                Reply::Listed(Ok(children)) => {
                    let name = children.iter().find(|name| name.starts_with(prefix))?;
                    Some(Request::Delete(format!("{parent}/{name}").into()))
                }
                _ => None,
            });
        nodes.chain(entered).collect()
    }

    /// The parent and the name prefix of the node that may have been created.
    fn entering(&self) -> Option<(&str, &str)> {
        self.entering.as_deref()?.rsplit_once('/')
    }
}
