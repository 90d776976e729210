//! Deletes lock nodes over a separate session, for a worker that can't delete them itself, or couldn't in time.

use zklock_core::leftover_nodes::LeftoverNodes;
use zklock_core::server_wait::ServerWait;

use crate::ensemble::{BlockingError, BlockingSession, Limit, Reply, RequestError, Settings};
use crate::process::clock;

/// Deletes the nodes that zklock still owns. Gives up when the session that owns them must have ended, or when
/// `gives_up` returns `true`. A longer wait for the servers is told to `tells`. Returns whether they are certainly deleted.
pub fn clean(
    settings: &Settings,
    leftover: &LeftoverNodes,
    gives_up: impl FnMut() -> bool,
    tells: impl FnMut(Option<&ServerWait>),
) -> bool {
    if leftover.is_empty() {
        return true;
    }
    let session_timeout = leftover.session_timeout;
    let deadline = clock::now() + session_timeout;
    let settings =
        Settings { session_timeout, deadline: Some(deadline), refusals_end: false, ..settings.clone() };
    // After any failure, the nodes are deleted when their session ends.
    let mut session = BlockingSession::new(settings, Limit::Until(Some(deadline)), tells).unless(gives_up);
    match delete(&mut session, leftover) {
        Ok(is_certain) => {
            session.close();
            is_certain
        }
        Err(_) => false,
    }
}

/// Deletes the nodes, and returns whether they are certainly deleted.
fn delete(session: &mut BlockingSession<'_>, leftover: &LeftoverNodes) -> Result<bool, BlockingError> {
    session.connect()?;
    let lost = |reply: &Reply| reply.failure() == Some(&RequestError::ConnectionLost);
    loop {
        let found = session.replies(leftover.questions())?;
        let deleted = session.replies(leftover.found_in(&found))?;
        // A delete whose answer was lost may have succeeded, and the name may have been reused, so the nodes are read
        // again.
        if !deleted.iter().any(lost) {
            return Ok(found.iter().chain(&deleted).all(LeftoverNodes::is_certain));
        }
    }
}
