//! Deletes the lock nodes of a worker that can't do it, or couldn't in time, over a separate session.

use crate::core::run::Remains;
use crate::runtime::clock;
use crate::runtime::zk::{Failure, Inquiry, Limit, Reply, Settings, Unanswered};

/// Deletes the nodes that zklock still owns. Gives up when the session that owns them must be over, or when `gives_up`
/// returns `true`. Returns whether they are certainly gone.
pub fn clean(settings: &Settings, remains: &Remains, gives_up: impl FnMut() -> bool) -> bool {
    if remains.is_empty() {
        return true;
    }
    let session_timeout = remains.session_timeout;
    let deadline = clock::now() + session_timeout;
    let settings =
        Settings { session_timeout, deadline: Some(deadline), refusals_end: false, ..settings.clone() };
    // Whatever goes wrong, the nodes are deleted when their session ends.
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

/// Deletes the nodes; returns whether none of them is certainly left.
fn delete(inquiry: &mut Inquiry<'_>, remains: &Remains) -> Result<bool, Unanswered> {
    inquiry.connect()?;
    let lost = |reply: &Reply| reply.failure() == Some(&Failure::ConnectionLost);
    let tells = |reply: &Reply| reply.failure().is_none_or(|failure| *failure == Failure::NoNode);
    loop {
        let found = inquiry.ask_all(&remains.questions())?;
        let deleted = inquiry.ask_all(&remains.found_in(&found))?;
        // A delete whose answer was lost may have been done, and the name reused.
        if !deleted.iter().any(lost) {
            return Ok(found.iter().chain(&deleted).all(tells));
        }
    }
}
