//! Separate sessions for single tasks: to look up the nodes of the surrounding zklocks, and to delete nodes that
//! another session left.
//!
//! Each one has its own thread, so that neither signals nor deadlines wait for it.

use std::io;
use std::thread;

use anyhow::{Context, Result};

use super::event::Emitter;
use super::pair::clean;
use super::zk::{Inquiry, InquiryError, Limit, NodePath, Reply, Request, RequestError, Settings};
use crate::core::leftover_nodes::LeftoverNodes;
use crate::core::run::{Input, LookUp};

/// Starts separate sessions.
#[derive(Debug)]
pub struct SideSessions {
    settings: Settings,
    events: Emitter,
}

impl SideSessions {
    /// Sessions with these settings, whose results are sent to `events`.
    pub fn new(settings: Settings, events: Emitter) -> Self {
        Self { settings, events }
    }

    /// Starts to read these nodes. The result is [`Input::LookedUp`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn look_up(&self, nodes: Vec<NodePath>) -> Result<()> {
        self.start(move |settings| Input::LookedUp(look_up(&nodes, settings)))
    }

    /// Starts to delete these remaining nodes. The result is [`Input::Cleaned`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn clean(&self, leftover: LeftoverNodes) -> Result<()> {
        self.start(move |settings| Input::Cleaned(clean(&settings, &leftover, || false)))
    }

    fn start(&self, task: impl FnOnce(Settings) -> Input + Send + 'static) -> Result<()> {
        let (settings, events) = (self.settings.clone(), self.events.clone());
        let thread = thread::Builder::new().name("inquiry".to_owned());
        let started: io::Result<_> = thread.spawn(move || events.emit(task(settings)));
        started.context("can't start a thread to ask the servers")?;
        Ok(())
    }
}

/// Reads these nodes in one session.
fn look_up(nodes: &[NodePath], settings: Settings) -> LookUp {
    let questions: Vec<_> = nodes.iter().cloned().map(Request::Watch).collect();
    let limit = settings.deadline.map_or(Limit::Each(settings.session_timeout), Limit::Until);
    let Ok(mut inquiry) = Inquiry::open(settings, limit) else { return LookUp::NoAnswer };
    let answers = match inquiry.connect().and_then(|()| inquiry.ask_all(&questions)) {
        Ok(answers) => answers,
        Err(InquiryError::SessionEnded(RequestError::Expired | RequestError::GivenUp)) => {
            return LookUp::SessionLost;
        }
        Err(InquiryError::Unreachable(servers)) => return LookUp::Unreachable(servers),
        Err(_) => return LookUp::NoAnswer,
    };
    inquiry.close();
    let mut seen = vec![];
    for (path, answer) in nodes.iter().zip(answers) {
        match answer {
            Reply::Read(_, Ok(node)) => seen.push(Some(node)),
            Reply::Read(_, Err(RequestError::NoNode)) => seen.push(None),
            Reply::Read(_, Err(failure)) => return LookUp::Refused(path.clone(), failure),
            _ => return LookUp::NoAnswer,
        }
    }
    LookUp::Seen(seen)
}
