//! Deleting the lock nodes of a zklock that can't, over a session of the guard's own.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::order::GuardedNode;
use crate::clock::BootTime;
use crate::event::{self, Event, Events};
use crate::zk::{Failure, Hosts, Reply, Request, Security, Session, SessionChange, SessionKey, Settings};

/// Deletes what is still ours among the nodes, and gives up when the session that owns them must be over.
pub(super) fn clean(security: &Security, (hosts, session_timeout, nodes): (&str, u64, &[GuardedNode])) {
    let Ok(hosts) = Hosts::parse(hosts) else { return };
    let session_timeout = Duration::from_millis(session_timeout);
    let deadline = BootTime::now() + session_timeout;
    let Ok((emitter, events)) = event::channel() else {
        return;
    };
    let settings = Settings { hosts, session_timeout, deadline: Some(deadline), security: security.clone() };
    let Ok(session) = Session::open(SessionKey(0), settings, emitter) else {
        return;
    };
    // Whatever goes wrong, the nodes go with their session: there is nobody to tell, and nothing to retry.
    if let Ok(true) = delete(&session, &events, nodes, deadline) {
        session.release(vec![]);
        while let Ok(Some(event)) = events.next(Some(deadline)) {
            if matches!(event, Event::Session(_, SessionChange::Closed | SessionChange::Lost(_))) {
                return;
            }
        }
    }
}

/// Deletes the nodes. `false`: there is no session to do it with, or no time.
fn delete(session: &Session, events: &Events, nodes: &[GuardedNode], deadline: BootTime) -> io::Result<bool> {
    let mut left: BTreeSet<usize> = (0..nodes.len()).collect();
    while !left.is_empty() {
        match events.next(Some(deadline))? {
            Some(Event::Session(_, SessionChange::Connected { .. } | SessionChange::Reconnected)) => {
                for (index, node) in nodes.iter().enumerate().filter(|(index, _)| left.contains(index)) {
                    session.ask(index, Request::Watch(node.path.clone()));
                }
            }
            // Asked again with the next connection.
            Some(Event::Reply(
                _,
                _,
                Reply::Read(_, Err(Failure::ConnectionLost)) | Reply::Deleted(Err(Failure::ConnectionLost)),
            )) => {}
            // A node of the same name that was created by another transaction isn't ours.
            Some(Event::Reply(_, index, Reply::Read(path, Ok(found))))
                if nodes.get(index).is_some_and(|node| node.czxid == found.czxid) =>
            {
                session.ask(index, Request::Delete(path));
            }
            Some(Event::Reply(_, index, Reply::Read(..) | Reply::Deleted(_))) => drop(left.remove(&index)),
            None | Some(Event::Session(_, SessionChange::Lost(_) | SessionChange::Unreachable(_))) => {
                return Ok(false);
            }
            Some(_) => {}
        }
    }
    Ok(true)
}
