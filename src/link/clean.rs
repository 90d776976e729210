//! Deletes lock nodes over a separate session, for a worker that can't delete them itself, or couldn't in time.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use zklock_core::leftover_nodes::LeftoverNodes;
use zklock_core::server_wait::ServerWait;

use crate::ensemble::{BlockingError, BlockingSession, Limit, Reply, RequestError, Settings};
use crate::process::clock;
use crate::process::thread::builder;

/// How often to check whether the caller wants to give up.
const GIVE_UP_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time between the end of the session that owned the nodes and that of this one.
const LONGEST_END: Duration = Duration::from_secs(2);

/// What is told of a deletion.
pub enum CleaningNews {
    /// It waits for the servers.
    Waits(ServerWait),
    /// It is over. Whether the nodes are certainly deleted.
    Over(bool),
}

/// Deletes the nodes that zklock still owns. Gives up when the session that owns them must have ended, or when
/// `gives_up` returns `true`. A longer wait for the servers is told to `tells`. Returns whether they are certainly deleted.
pub fn clean(
    settings: &Settings,
    leftover: LeftoverNodes,
    mut gives_up: impl FnMut() -> bool,
    mut tells: impl FnMut(&ServerWait),
) -> bool {
    if leftover.is_empty() {
        return true;
    }
    let latest = clock::now() + leftover.session_timeout + LONGEST_END;
    let (sender, news) = mpsc::channel();
    if start_cleaning(settings, leftover, move |news| drop(sender.send(news))).is_err() {
        return false;
    }
    loop {
        match news.recv_timeout(GIVE_UP_INTERVAL) {
            Ok(CleaningNews::Over(is_certain)) => return is_certain,
            Ok(CleaningNews::Waits(wait)) => tells(&wait),
            Err(RecvTimeoutError::Timeout) if !gives_up() && clock::now() < latest => {}
            Err(_) => return false,
        }
    }
}

/// Begins to delete the nodes in a thread, which isn't joined: the client library doesn't return while a server never
/// stops talking. `tells` is told that it waits for the servers, and its end. It fails if no thread can be started.
pub fn start_cleaning(
    settings: &Settings,
    leftover: LeftoverNodes,
    tells: impl Fn(CleaningNews) + Send + 'static,
) -> io::Result<()> {
    let session_timeout = leftover.session_timeout;
    let deadline = Some(clock::now() + session_timeout);
    let settings = Settings { session_timeout, deadline, refusals_end: false, ..settings.clone() };
    let clean = move || {
        let waits = |wait: Option<&ServerWait>| {
            if let Some(wait) = wait {
                tells(CleaningNews::Waits(wait.clone()));
            }
        };
        let mut session = BlockingSession::new(settings, Limit::Until(deadline), waits);
        // After any failure, the nodes are deleted when their session ends.
        let deleted = delete(&mut session, &leftover);
        if deleted.is_ok() {
            session.close();
        }
        tells(CleaningNews::Over(deleted.unwrap_or(false)));
    };
    builder().name("cleaning".to_owned()).spawn(clean).map(drop)
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
