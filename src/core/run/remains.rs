//! What a run may have left at the servers, and what of it another session may delete.

use std::time::Duration;

use crate::core::pair::OwnedNode;
use crate::core::protocol::{Reply, Request};

/// What may be left at the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The timeout of the session that owns them: after as long they are gone anyway.
    pub session_timeout: Duration,
    /// Nodes that are ours.
    pub nodes: Vec<OwnedNode>,
    /// The path of a node that may have been created, but for its number.
    pub entering: Option<String>,
}

impl Remains {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.entering.is_none()
    }

    /// The questions about the nodes, and then the one about the node that may have been created.
    pub fn questions(&self) -> Vec<Request> {
        let nodes = self.nodes.iter().map(|node| Request::Watch(node.path.clone()));
        let entering = self.entering().map(|(parent, _)| Request::CatchUpAndList(parent.to_owned()));
        nodes.chain(entering).collect()
    }

    /// What is to be deleted after these answers: nothing that only has the name of ours.
    pub fn found_in(&self, answers: &[Reply]) -> Vec<Request> {
        let nodes = self.nodes.iter().zip(answers).filter_map(|(node, answer)| match answer {
            // A node of the same name that was created by another transaction isn't ours.
            Reply::Read(path, Ok(found)) if found.czxid == node.czxid => Some(Request::Delete(path.clone())),
            _ => None,
        });
        // A name with our uuid is nobody else's.
        let entered =
            self.entering().zip(answers.last()).and_then(|((parent, prefix), answer)| match answer {
                Reply::Listed(Ok(children)) => {
                    let name = children.iter().find(|name| name.starts_with(prefix))?;
                    Some(Request::Delete(format!("{parent}/{name}")))
                }
                _ => None,
            });
        nodes.chain(entered).collect()
    }

    /// Where the node would be that may have been created, and how its name begins.
    fn entering(&self) -> Option<(&str, &str)> {
        self.entering.as_deref()?.rsplit_once('/')
    }
}
