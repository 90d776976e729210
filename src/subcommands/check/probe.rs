//! Tries a contender's requests with a node that isn't a contender: creates it, confirms it and deletes it.

use std::time::Duration;

use uuid::Uuid;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::name::sequence;

use super::super::host_time;
use super::facts::{Facts, Probe};
use crate::ensemble::{Answer, BlockingError, BlockingSession, Created, RequestError, ServerTime};
use crate::process::clock;

/// How many quorum writes are timed.
const TRIPS: usize = 5;

/// The prefix of the node's name. No recipe takes it for a contender, because it doesn't contain a lock's marker.
const PREFIX: &str = "zk-check-";

/// As much data as a contender's node has: a server may limit the size of a request.
const DATA: [u8; 400] = [b' '; 400];

/// Tries the requests at the lock path, or at its nearest ancestor that exists, and adds the results to the facts.
pub(super) fn probe(
    facts: &mut Facts,
    session: &mut BlockingSession<'_>,
    connect_timeout: Duration,
) -> Result<(), BlockingError> {
    let chroot = facts.chroot.as_ref().map(|chroot| chroot.path.clone()).unwrap_or_default();
    let path = facts.path.clone().unwrap_or_default();
    let mut parent = path.as_str();
    let (answer, before) = loop {
        let before = host_time();
        match (create(session, &format!("{chroot}{parent}"))?, parent.rsplit_once('/')) {
            (Err(RequestError::NoNode), Some((above, _))) => parent = above,
            (answer, _) => break (answer, before),
        }
    };
    let (create, number, node) = match answer {
        Ok(created) => {
            let ahead = ahead(created.created, before, host_time());
            (Ok(ahead), sequence(&created.name), Some(format!("{chroot}{parent}/{}", created.name)))
        }
        Err(failure) => (Err(failure), None, None),
    };
    let made = match &create {
        Ok(_) if parent != path => try_parent(session, &format!("{chroot}{parent}"))?,
        _ => Ok(()),
    };
    let create = create.and_then(|ahead| made.map(|()| ahead));
    let parent_path = if parent.is_empty() { "/" } else { parent };
    facts.probe = Some(Probe { parent: parent_path.to_owned(), create, number, read: None, delete: None });
    let read = match (&facts.path, parent == path) {
        (Some(_), true) => Some(session.list(format!("{chroot}{path}").into())?.map(drop)),
        _ => None,
    };
    let timed = node.as_deref().unwrap_or("/");
    facts.trips = round_trips(session, timed, connect_timeout)?;
    let delete = match node {
        Some(node) => Some(delete(session, node)?),
        None => None,
    };
    if let Some(probe) = &mut facts.probe {
        (probe.read, probe.delete) = (read, delete);
    }
    Ok(())
}

/// How far the servers' clock is ahead at least, in milliseconds: the server's time `at` was taken at an unknown moment
/// between `before` and `after` on this host's clock.
fn ahead(at: ServerTime, before: ServerTime, after: ServerTime) -> i64 {
    at.0 - at.0.clamp(before.0.min(after.0), after.0.max(before.0))
}

/// Creates a probe node as a contender creates its lock node.
fn create(session: &mut BlockingSession<'_>, parent: &str) -> Result<Answer<Created>, BlockingError> {
    let answer = session.ask_again(|session, _| {
        let prefix = format!("{PREFIX}{}-", Uuid::new_v4());
        let answer = session.create(parent.into(), prefix.clone(), DATA.to_vec())?;
        if !matches!(answer, Err(RequestError::ConnectionLost)) {
            return Ok(answer);
        }
        // It may exist, and a second one would stay until the session ends.
        Ok(find(session, parent, &prefix)?.unwrap_or(answer))
    })?;
    Ok(named("create its lock node", answer))
}

/// The probe node whose name begins with this, if there is one.
fn find(
    session: &mut BlockingSession<'_>,
    parent: &str,
    prefix: &str,
) -> Result<Option<Answer<Created>>, BlockingError> {
    let children = session.list(parent.into())?.unwrap_or_default();
    let Some(name) = children.into_iter().find(|name| name.starts_with(prefix)) else { return Ok(None) };
    let node = session.get(format!("{parent}/{name}").into())?;
    let node = node.and_then(|node| node.into_seen().ok_or(RequestError::Hidden));
    Ok(Some(node.map(|node| Created { name, czxid: node.czxid, created: node.created })))
}

/// Creates a node as a contender creates a missing lock path, with a node in it, and deletes both. If that is denied, the
/// server removes the empty container.
fn try_parent(session: &mut BlockingSession<'_>, ancestor: &str) -> Result<Answer<()>, BlockingError> {
    let container = format!("{ancestor}/{PREFIX}{}", Uuid::new_v4());
    let made = session.ask_again(|session, _| session.make_parents(container.clone().into()))?;
    let made = named("create the lock path", made);
    if made.is_err() {
        return Ok(made);
    }
    let created = create(session, &container)?;
    if let Ok(created) = &created {
        delete(session, format!("{container}/{}", created.name))?.ok();
    }
    delete(session, container)?.ok();
    Ok(created.map(drop))
}

/// The answer to the last attempt at an action. If it was lost, too, the server closes the connection because of it.
fn named<T>(action: &'static str, answer: Answer<T>) -> Answer<T> {
    answer.map_err(|failure| match failure {
        RequestError::ConnectionLost => RequestError::Other(ContentionError::Closed(action).to_string()),
        failure => failure,
    })
}

fn delete(session: &mut BlockingSession<'_>, node: String) -> Result<Answer<()>, BlockingError> {
    Ok(match session.delete(node.into())? {
        // It is deleted, or will be with the session.
        Err(RequestError::NoNode | RequestError::ConnectionLost) => Ok(()),
        answer => answer,
    })
}

/// The round-trip times of quorum writes, one after the other. A refused write counts too, because it also takes a
/// quorum.
pub(super) fn round_trips(
    session: &mut BlockingSession<'_>,
    node: &str,
    connect_timeout: Duration,
) -> Result<Vec<Duration>, BlockingError> {
    let until = clock::now() + connect_timeout / 2;
    let mut trips = vec![];
    while trips.is_empty() || (trips.len() < TRIPS && clock::now() < until) {
        trips.push(session.round_trip(node.into())?);
    }
    Ok(trips)
}

#[cfg(test)]
mod tests {
    use zklock_core::queue::name::Name;
    use zklock_core::queue::other_recipes;

    use super::*;

    #[test]
    fn a_probe_is_neither_a_contender_nor_a_neighbour() {
        let name = format!("{PREFIX}{}-0000000001", Uuid::new_v4());
        assert!(Name::parse(&name).is_none() && other_recipes::of_child(&name).is_none());
    }

    #[test]
    fn a_clock_is_off_only_by_more_than_the_round_trip_explains() {
        let ahead_of = |at| ahead(ServerTime(at), ServerTime(1_000), ServerTime(3_000));
        assert_eq!([900, 1_000, 2_000, 3_000, 3_001].map(ahead_of), [-100, 0, 0, 0, 1]);
    }
}
