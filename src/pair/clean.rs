//! Deleting the lock nodes of a worker that can't, or couldn't in time, over a session of its own.

use std::time::Duration;

use super::OwnedNode;
use crate::clock::BootTime;
use crate::zk::{Failure, Inquiry, Limit, Reply, Request, Settings, Unanswered};

/// What may be left at the servers.
#[derive(Debug)]
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

    /// Where the node would be that may have been created, and how its name begins.
    fn entering(&self) -> Option<(&str, &str)> {
        self.entering.as_deref()?.rsplit_once('/')
    }

    /// The questions about the nodes, and then the one about the node that may have been created.
    fn questions(&self) -> Vec<Request> {
        let nodes = self.nodes.iter().map(|node| Request::Watch(node.path.clone()));
        let entering = self.entering().map(|(parent, _)| Request::CatchUpAndList(parent.to_owned()));
        nodes.chain(entering).collect()
    }

    /// What of that is to be deleted: nothing that only has the name of ours.
    fn found_in(&self, answers: &[Reply]) -> Vec<Request> {
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
}

/// Deletes what is still ours, and gives up when the session that owns it must be over, or when `gives_up` says so.
/// Whether it is gone for certain.
pub fn clean(settings: &Settings, remains: &Remains, gives_up: impl FnMut() -> bool) -> bool {
    if remains.is_empty() {
        return true;
    }
    let session_timeout = remains.session_timeout;
    let deadline = BootTime::now() + session_timeout;
    let settings = Settings { session_timeout, deadline: Some(deadline), ..settings.clone() };
    // Whatever goes wrong, the nodes go with their session.
    let Ok(inquiry) = Inquiry::open(settings, Limit::Until(deadline)) else {
        return false;
    };
    let mut inquiry = inquiry.unless(gives_up);
    match delete(&mut inquiry, remains) {
        Ok(is_certain) => {
            inquiry.close();
            is_certain
        }
        Err(_) => false,
    }
}

/// Whether nothing of it is left for certain.
fn delete(inquiry: &mut Inquiry<'_>, remains: &Remains) -> Result<bool, Unanswered> {
    inquiry.connect()?;
    let lost = |reply: &Reply| reply.failure() == Some(&Failure::ConnectionLost);
    let tells = |reply: &Reply| reply.failure().is_none_or(|failure| *failure == Failure::NoNode);
    loop {
        let found = inquiry.ask_all(&remains.questions())?;
        let deleted = inquiry.ask_all(&remains.found_in(&found))?;
        // It may have been done, and the name given again.
        if !deleted.iter().any(lost) {
            return Ok(found.iter().chain(&deleted).all(tells));
        }
    }
}
