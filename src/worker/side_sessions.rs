//! Separate sessions for single tasks: to look up the nodes of the surrounding zklocks, and to delete nodes that
//! another session left.
//!
//! Each one has its own thread, so that neither signals nor deadlines wait for it.

use std::io;

use anyhow::{Context, Result};
use zklock_core::leftover_nodes::LeftoverNodes;
use zklock_core::run::{Input, LookUp};
use zklock_core::server_wait::{Awaited, ServerWait};

use crate::ensemble::{
    BlockingError, BlockingSession, Limit, NodePath, RequestError, SessionChange, SessionKey, Settings,
};
use crate::link::clean;
use crate::process::thread;
use crate::worker::inbox::Emitter;

/// Starts separate sessions.
#[derive(Debug)]
pub(super) struct SideSessions {
    settings: Settings,
    events: Emitter,
}

impl SideSessions {
    /// Sessions with these settings, whose results are sent to `events`.
    pub(super) fn new(settings: Settings, events: Emitter) -> Self {
        Self { settings, events }
    }

    /// Starts to read these nodes. The result is [`Input::LookedUp`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn look_up(&self, nodes: Vec<NodePath>) -> Result<()> {
        let events = self.events.clone();
        self.start(move |settings| Input::LookedUp(look_up(nodes, settings, events)))
    }

    /// Starts to delete these remaining nodes. The result is [`Input::Cleaned`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn clean(&self, leftover: LeftoverNodes) -> Result<()> {
        self.start(move |settings| Input::Cleaned(clean(&settings, &leftover, || false, |_| {})))
    }

    fn start(&self, task: impl FnOnce(Settings) -> Input + Send + 'static) -> Result<()> {
        let (settings, events) = (self.settings.clone(), self.events.clone());
        let thread = thread::builder().name("side session".to_owned());
        let started: io::Result<_> = thread.spawn(move || events.emit(task(settings)));
        started.context("can't start a thread to ask the servers")?;
        Ok(())
    }
}

/// Reads these nodes in one session.
fn look_up(nodes: Vec<NodePath>, settings: Settings, events: Emitter) -> LookUp {
    let limit = settings
        .deadline
        .map_or(Limit::Each(settings.session_timeout), |deadline| Limit::Until(Some(deadline)));
    // The run has no session of its own yet.
    let mut session = BlockingSession::new(settings, limit).telling(move |wait| {
        if let Some(ServerWait { awaited: Awaited::Session, servers, .. }) = wait {
            events.emit(Input::Session(SessionKey::default(), SessionChange::ServersSay(servers.clone())));
        }
    });
    let answers = match session.connect().and_then(|()| session.watch_all(nodes)) {
        Ok(answers) => answers,
        Err(BlockingError::SessionEnded(RequestError::Expired | RequestError::GivenUp)) => {
            return LookUp::SessionLost;
        }
        Err(BlockingError::Unreachable(servers)) => return LookUp::Unreachable(servers),
        Err(_) => return LookUp::NoAnswer,
    };
    session.close();
    let mut seen = vec![];
    for (path, answer) in answers {
        match answer {
            Ok(node) => seen.push(Some(node)),
            Err(RequestError::NoNode) => seen.push(None),
            Err(failure) => return LookUp::Refused(path, failure),
        }
    }
    LookUp::Seen(seen)
}
