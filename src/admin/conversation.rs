//! Questions and answers with the ensemble, one after the other: what a verb needs, which holds nothing.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::cli::Options;
use crate::clock::BootTime;
use crate::event::{self, Event, Events};
use crate::ui;
use crate::zk::{Failure, Reply, Request, Session, SessionChange, SessionKey};

/// More than this are never under way at once: an ensemble has others to serve.
const WINDOW: usize = 500;

/// Longer than this nobody waits for the end of a session that owns nothing.
const FAREWELL: Duration = Duration::from_secs(1);

/// A session to ask and to watch with.
#[derive(Debug)]
pub(super) struct Conversation {
    session: Session,
    events: Events,
    patience: Duration,
    has_chroot: bool,
    /// Something that is watched may have changed since it was last asked.
    changed: bool,
    /// The connection is another. The client library sets watches that last only once.
    unwatched: bool,
}

impl Conversation {
    /// Connects, within the time for that.
    pub(super) fn open(options: &Options) -> Result<Self> {
        let (emitter, events) = event::channel()?;
        let patience = options.ensemble.connect_timeout;
        let settings = options.settings(BootTime::now() + patience)?;
        let session = Session::open(SessionKey(0), settings, emitter)?;
        loop {
            match events.next(None)? {
                Some(Event::Session(_, SessionChange::Connected { .. })) => break,
                Some(Event::Session(_, SessionChange::Unreachable(diagnoses))) => {
                    bail!(ui::unreachable(&diagnoses, patience))
                }
                Some(Event::Session(_, SessionChange::Lost(failure))) => bail!(failure),
                _ => {}
            }
        }
        let has_chroot = !options.ensemble.zookeeper.chroot_text().is_empty();
        Ok(Self { session, events, patience, has_chroot, changed: false, unwatched: true })
    }

    /// Whether all that is seen is below a chroot.
    pub(super) fn has_chroot(&self) -> bool {
        self.has_chroot
    }

    /// Whether watches have to be set, for the first time or again. Whoever asks sets them.
    pub(super) fn must_watch(&mut self) -> bool {
        std::mem::take(&mut self.unwatched)
    }

    /// Asks one thing.
    pub(super) fn ask(&mut self, request: Request) -> Result<Reply> {
        match self.ask_all(&[request])?.pop() {
            Some(reply) => Ok(reply),
            None => bail!("no answer"),
        }
    }

    /// Asks many things, all on their way at once. The answers are in the order of the questions. A question
    /// whose answer was lost is asked again.
    pub(super) fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>> {
        let mut answers: Vec<Option<Reply>> = requests.iter().map(|_| None).collect();
        let mut waiting = requests.iter().cloned().enumerate();
        let mut left = requests.len();
        for (index, request) in waiting.by_ref().take(WINDOW) {
            self.session.ask(index, request);
        }
        let mut until = BootTime::now() + self.patience;
        while left > 0 {
            match self.events.next(Some(until))? {
                None => bail!("no answer within {}; is the ensemble overloaded?", ui::time(self.patience)),
                Some(Event::Reply(_, _, Reply::Changed(..))) => self.changed = true,
                Some(Event::Reply(_, index, reply)) => {
                    until = BootTime::now() + self.patience;
                    if reply.failure() == Some(&Failure::ConnectionLost) {
                        if let Some(request) = requests.get(index) {
                            self.session.ask(index, request.clone());
                        }
                        continue;
                    }
                    if let Some(answer) = answers.get_mut(index)
                        && answer.replace(reply).is_none()
                    {
                        left -= 1;
                    }
                    if let Some((index, request)) = waiting.next() {
                        self.session.ask(index, request);
                    }
                }
                Some(Event::Session(_, change)) => self.session_changed(change)?,
                Some(_) => {}
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Waits until something that is watched may have changed.
    pub(super) fn wait_for_change(&mut self) -> Result<()> {
        while !self.changed {
            match self.events.next(None)? {
                Some(Event::Reply(_, _, Reply::Changed(..))) => self.changed = true,
                Some(Event::Session(_, change)) => self.session_changed(change)?,
                _ => {}
            }
        }
        // Whatever has happened up to now is looked at together.
        while let Some(event) = self.events.pending() {
            if let Event::Session(_, change) = event {
                self.session_changed(change)?;
            }
        }
        self.changed = false;
        Ok(())
    }

    fn session_changed(&mut self, change: SessionChange) -> Result<()> {
        match change {
            SessionChange::Lost(failure) => bail!(failure),
            SessionChange::Closed => bail!(Failure::Expired),
            // What happened in between, no watch tells.
            SessionChange::Reconnected => (self.changed, self.unwatched) = (true, true),
            _ => {}
        }
        Ok(())
    }

    /// Ends the session.
    pub(super) fn close(self) -> Result<()> {
        self.session.release(vec![]);
        let until = BootTime::now() + FAREWELL;
        while let Some(event) = self.events.next(Some(until))? {
            if matches!(event, Event::Session(_, SessionChange::Closed | SessionChange::Lost(_))) {
                break;
            }
        }
        Ok(())
    }
}
