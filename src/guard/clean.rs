//! Deleting the lock nodes of a zklock that can't, over a session of the guard's own.

use std::time::Duration;

use super::order::GuardedNode;
use crate::clock::BootTime;
use crate::event::{self, Event, Events};
use crate::zk::{Hosts, Reply, Request, Session, SessionChange, SessionKey, Settings};

/// Deletes what is still ours among the nodes, and gives up when the session that owns them must be over.
pub(super) fn clean((hosts, session_timeout, nodes): (&str, u64, &[GuardedNode])) {
    let Ok(hosts) = Hosts::parse(hosts) else { return };
    let session_timeout = Duration::from_millis(session_timeout);
    let deadline = BootTime::now() + session_timeout;
    let Ok((emitter, events)) = event::channel() else {
        return;
    };
    let settings = Settings { hosts, session_timeout, deadline: Some(deadline) };
    let Ok(session) = Session::open(SessionKey(0), settings, emitter) else {
        return;
    };
    // Whatever goes wrong, the nodes go with their session: there is nobody to tell, and nothing to retry.
    let _ = delete(&session, &events, nodes, deadline);
    session.release(vec![]);
    while let Ok(Some(event)) = events.next(Some(deadline)) {
        if matches!(event, Event::Session(_, SessionChange::Closed | SessionChange::Lost(_))) {
            return;
        }
    }
}

fn delete(
    session: &Session,
    events: &Events,
    nodes: &[GuardedNode],
    deadline: BootTime,
) -> std::io::Result<()> {
    let mut left = nodes.len();
    while left > 0 {
        match events.next(Some(deadline))? {
            Some(Event::Session(_, SessionChange::Connected { .. })) => {
                for (index, node) in nodes.iter().enumerate() {
                    session.ask(index, Request::Watch(node.path.clone()));
                }
            }
            Some(Event::Reply(_, index, Reply::Read(path, Ok(found)))) => {
                // A node of the same name that was created by another transaction isn't ours.
                if nodes.get(index).is_some_and(|node| node.czxid == found.czxid) {
                    session.ask(index, Request::Delete(path));
                } else {
                    left -= 1;
                }
            }
            Some(Event::Reply(_, _, Reply::Read(_, Err(_)) | Reply::Deleted(_))) => left -= 1,
            None | Some(Event::Session(_, SessionChange::Lost(_) | SessionChange::Unreachable(_))) => {
                return Ok(());
            }
            Some(_) => {}
        }
    }
    Ok(())
}
