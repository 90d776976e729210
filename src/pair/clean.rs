//! Deleting the lock nodes of a worker that can't, or couldn't in time, over a session of its own.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::OwnedNode;
use crate::clock::BootTime;
use crate::event::{self, Event, Events};
use crate::zk::{Failure, Reply, Request, Session, SessionChange, SessionKey, Settings};

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
}

/// How often it is asked whether somebody wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// Deletes what is still ours, and gives up when the session that owns it must be over, or when `gives_up` says so.
/// Whether it is gone for certain.
pub fn clean(settings: &Settings, remains: &Remains, mut gives_up: impl FnMut() -> bool) -> bool {
    if remains.is_empty() {
        return true;
    }
    let session_timeout = remains.session_timeout;
    let deadline = BootTime::now() + session_timeout;
    let Ok((emitter, events)) = event::channel() else {
        return false;
    };
    let settings = Settings { session_timeout, deadline: Some(deadline), ..settings.clone() };
    let Ok(session) = Session::open(SessionKey(0), settings, emitter) else {
        return false;
    };
    // Whatever goes wrong, the nodes go with their session.
    let gone = Cleaning { session: &session, remains, left: BTreeSet::new() }
        .run(&events, deadline, &mut gives_up)
        .ok()
        .flatten();
    if gone.is_some() {
        session.release(vec![]);
        let mut next = || next(&events, deadline, &mut gives_up);
        while let Ok(Some(event)) = next() {
            if matches!(event, Event::Session(_, SessionChange::Closed | SessionChange::Lost(_))) {
                break;
            }
        }
    }
    gone.unwrap_or(false)
}

/// The next event; none when it is too late, or somebody wants an end.
fn next(
    events: &Events,
    deadline: BootTime,
    gives_up: &mut impl FnMut() -> bool,
) -> io::Result<Option<Event>> {
    while BootTime::now() < deadline && !gives_up() {
        let event = events.next(Some(deadline.min(BootTime::now() + LOOK)))?;
        if event.is_some() {
            return Ok(event);
        }
    }
    Ok(None)
}

struct Cleaning<'a> {
    session: &'a Session,
    remains: &'a Remains,
    /// Indices of nodes that may be there still; the one behind the last stands for the one that was being created.
    left: BTreeSet<usize>,
}

impl Cleaning<'_> {
    /// Whether all is gone for certain. `None`: there is no session to do it with, or no time.
    fn run(
        mut self,
        events: &Events,
        deadline: BootTime,
        gives_up: &mut impl FnMut() -> bool,
    ) -> io::Result<Option<bool>> {
        let entering = self.remains.nodes.len();
        self.left = (0..entering + usize::from(self.remains.entering.is_some())).collect();
        let mut certain = true;
        while !self.left.is_empty() {
            match next(events, deadline, gives_up)? {
                Some(Event::Session(_, SessionChange::Connected { .. } | SessionChange::Reconnected)) => {
                    self.left.iter().for_each(|&index| self.look_for(index));
                }
                // Asked again with the next connection.
                Some(Event::Reply(_, _, reply)) if reply.failure() == Some(&Failure::ConnectionLost) => {}
                // A node of the same name that was created by another transaction isn't ours.
                Some(Event::Reply(_, index, Reply::Read(path, Ok(found))))
                    if self.remains.nodes.get(index).is_some_and(|node| node.czxid == found.czxid) =>
                {
                    self.session.ask(index, Request::Delete(path));
                }
                // A name with our uuid is nobody else's.
                Some(Event::Reply(_, index, Reply::Listed(Ok(children)))) if index == entering => {
                    let path = self.remains.entering.as_deref().and_then(|entering| {
                        let (parent, prefix) = entering.rsplit_once('/')?;
                        let name = children.iter().find(|name| name.starts_with(prefix))?;
                        Some(format!("{parent}/{name}"))
                    });
                    match path {
                        Some(path) => self.session.ask(index, Request::Delete(path)),
                        None => drop(self.left.remove(&index)),
                    }
                }
                Some(Event::Reply(
                    _,
                    index,
                    reply @ (Reply::Read(..) | Reply::Deleted(_) | Reply::Listed(_)),
                )) => {
                    certain &= reply.failure().is_none_or(|failure| *failure == Failure::NoNode);
                    self.left.remove(&index);
                }
                None | Some(Event::Session(_, SessionChange::Lost(_) | SessionChange::Unreachable(_))) => {
                    return Ok(None);
                }
                Some(_) => {}
            }
        }
        Ok(Some(certain))
    }

    fn look_for(&self, index: usize) {
        let parent = || Some(self.remains.entering.as_deref()?.rsplit_once('/')?.0.to_owned());
        let request = match self.remains.nodes.get(index) {
            Some(node) => Some(Request::Watch(node.path.clone())),
            None => parent().map(Request::CatchUpAndList),
        };
        if let Some(request) = request {
            self.session.ask(index, request);
        }
    }
}
