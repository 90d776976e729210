//! Deleting the lock nodes of a worker that can't, or couldn't in time, over a session of its own.

use crate::core::run::Remains;
use crate::runtime::clock;
use crate::runtime::zk::{Failure, Inquiry, Limit, Reply, Request, Settings, Unanswered};

/// Where the node would be that may have been created, and how its name begins.
fn entering(remains: &Remains) -> Option<(&str, &str)> {
    remains.entering.as_deref()?.rsplit_once('/')
}

/// The questions about the nodes, and then the one about the node that may have been created.
fn questions(remains: &Remains) -> Vec<Request> {
    let nodes = remains.nodes.iter().map(|node| Request::Watch(node.path.clone()));
    let entering = entering(remains).map(|(parent, _)| Request::CatchUpAndList(parent.to_owned()));
    nodes.chain(entering).collect()
}

/// What of that is to be deleted: nothing that only has the name of ours.
fn found_in(remains: &Remains, answers: &[Reply]) -> Vec<Request> {
    let nodes = remains.nodes.iter().zip(answers).filter_map(|(node, answer)| match answer {
        // A node of the same name that was created by another transaction isn't ours.
        Reply::Read(path, Ok(found)) if found.czxid == node.czxid => Some(Request::Delete(path.clone())),
        _ => None,
    });
    // A name with our uuid is nobody else's.
    let entered = entering(remains).zip(answers.last()).and_then(|((parent, prefix), answer)| match answer {
        Reply::Listed(Ok(children)) => {
            let name = children.iter().find(|name| name.starts_with(prefix))?;
            Some(Request::Delete(format!("{parent}/{name}")))
        }
        _ => None,
    });
    nodes.chain(entered).collect()
}

/// Deletes what is still ours, and gives up when the session that owns it must be over, or when `gives_up` says so.
/// Whether it is gone for certain.
pub fn clean(settings: &Settings, remains: &Remains, gives_up: impl FnMut() -> bool) -> bool {
    if remains.is_empty() {
        return true;
    }
    let session_timeout = remains.session_timeout;
    let deadline = clock::now() + session_timeout;
    let settings =
        Settings { session_timeout, deadline: Some(deadline), refusals_end: false, ..settings.clone() };
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
        let found = inquiry.ask_all(&questions(remains))?;
        let deleted = inquiry.ask_all(&found_in(remains, &found))?;
        // It may have been done, and the name given again.
        if !deleted.iter().any(lost) {
            return Ok(found.iter().chain(&deleted).all(tells));
        }
    }
}
