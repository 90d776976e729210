//! A session that holds no lock: it sends requests and waits for the answers.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::session::Outlet;
use super::{Asker, Failure, Reply, Request, Session, SessionChange, SessionKey, Settings};
use crate::core::protocol::QuestionIndex;
use crate::core::time::BootTime;
use crate::runtime::clock;

/// The most requests in flight at once, because the ensemble serves other clients too.
const WINDOW: usize = 500;

/// How often to check whether the caller wants to give up.
const LOOK: Duration = Duration::from_millis(100);

/// The longest wait for the end of a session that owns nothing.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long to wait for answers.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// This long for each answer.
    Each(Duration),
    /// Until this time for all answers.
    Until(BootTime),
}

impl Limit {
    fn as_of_now(self) -> BootTime {
        match self {
            Self::Each(patience) => clock::now() + patience,
            Self::Until(deadline) => deadline,
        }
    }
}

/// Why there will be no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// There was no session by the deadline of the settings; each server's reason.
    Unreachable(Vec<String>),
    /// The session has ended.
    Over(Failure),
    /// No answer came in time.
    TooLate,
    /// The caller gave up.
    GivenUp,
}

/// The session.
pub struct Inquiry<'a> {
    session: Session,
    heard: Receiver<Heard>,
    limit: Limit,
    gives_up: Option<Box<dyn FnMut() -> bool + 'a>>,
    /// A watched node may have changed since it was last read.
    changed: bool,
    /// The connection is new and has no watches.
    unwatched: bool,
    /// There is no connection, and nobody has been told.
    away: bool,
    /// What the servers granted.
    timeout: Option<Duration>,
}

/// What ended a wait for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// Something that is watched may have changed.
    Changed,
    /// The connection is lost: what has changed since shows when there is another.
    Away,
}

enum Heard {
    Change(SessionChange),
    Reply(Asker, Reply),
}

impl Outlet for Sender<Heard> {
    fn session(&self, _: SessionKey, change: SessionChange) {
        // An error means that there is no receiver any more.
        let _ = self.send(Heard::Change(change));
    }

    fn reply(&self, _: SessionKey, asker: Asker, reply: Reply) {
        let _ = self.send(Heard::Reply(asker, reply));
    }
}

impl<'a> Inquiry<'a> {
    /// Starts connecting. Requests can be made immediately; they wait for the session, for which the settings have
    /// their own deadline.
    pub fn open(settings: Settings, limit: Limit) -> io::Result<Self> {
        let (sender, heard) = mpsc::channel();
        let session = Session::open(SessionKey(0), settings, sender)?;
        Ok(Self {
            session,
            heard,
            limit,
            gives_up: None,
            changed: false,
            unwatched: true,
            away: false,
            timeout: None,
        })
    }

    /// Gives up when `gives_up` returns `true`. It is called ten times a second.
    #[must_use]
    pub fn unless(mut self, gives_up: impl FnMut() -> bool + 'a) -> Self {
        self.gives_up = Some(Box::new(gives_up));
        self
    }

    /// Waits until there is a session.
    pub fn connect(&mut self) -> Result<(), Unanswered> {
        loop {
            if let Heard::Change(change) = self.hear(None)? {
                if let SessionChange::Connected { timeout, .. } = change {
                    self.timeout = Some(timeout);
                    return Ok(());
                }
                self.session_changed(change)?;
            }
        }
    }

    /// Sends many requests, all in flight together, in an existing session. The answers are in the order of the
    /// requests. A request whose answer was lost is retried, except for a [`Request::Delete`]: its name may belong to
    /// another client's node by then.
    pub fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>, Unanswered> {
        let mut answers: Vec<Option<Reply>> = requests.iter().map(|_| None).collect();
        let mut waiting = requests.iter().cloned().enumerate();
        let mut left = requests.len();
        for (number, request) in waiting.by_ref().take(WINDOW) {
            self.session.ask(question(number), request);
        }
        let mut until = self.limit.as_of_now();
        while left > 0 {
            match self.hear(Some(until))? {
                Heard::Reply(_, Reply::Changed(..)) => self.changed = true,
                Heard::Reply(Asker::Question(QuestionIndex(number)), reply) => {
                    if reply.failure() == Some(&Failure::ConnectionLost)
                        && let Some(request) = requests.get(number)
                        && !matches!(request, Request::Delete(_))
                    {
                        self.session.ask(question(number), request.clone());
                        continue;
                    }
                    // Only an answer shows that a server is answering.
                    until = self.limit.as_of_now();
                    if let Some(answer) = answers.get_mut(number)
                        && answer.replace(reply).is_none()
                    {
                        left -= 1;
                    }
                    if let Some((number, request)) = waiting.next() {
                        self.session.ask(question(number), request);
                    }
                }
                Heard::Reply(..) => {}
                Heard::Change(change) => self.session_changed(change)?,
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Whether the caller must set its watches, for the first time or again.
    pub fn must_watch(&mut self) -> bool {
        std::mem::take(&mut self.unwatched)
    }

    /// Waits until something that is watched may have changed, or the connection is lost, however long that takes.
    pub fn wait_for_change(&mut self) -> Result<Wakeup, Unanswered> {
        while !self.changed {
            if std::mem::take(&mut self.away) {
                return Ok(Wakeup::Away);
            }
            match self.hear(None)? {
                Heard::Reply(_, Reply::Changed(..)) => self.changed = true,
                Heard::Reply(..) => {}
                Heard::Change(change) => self.session_changed(change)?,
            }
        }
        // All changes so far are handled together.
        while let Ok(heard) = self.heard.try_recv() {
            if let Heard::Change(change) = heard {
                self.session_changed(change)?;
            }
        }
        self.changed = false;
        Ok(Wakeup::Changed)
    }

    /// The session timeout that the servers granted, once there is a session.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The same as [`close`](Self::close), also after somebody wanted an end: what the session owns goes with it.
    pub fn close_in_any_case(mut self) {
        self.gives_up = None;
        self.close();
    }

    /// Ends the session, and waits a short time for its end.
    pub fn close(mut self) {
        self.session.release(vec![]);
        let until = clock::now() + FAREWELL;
        while let Ok(heard) = self.hear(Some(until)) {
            if matches!(heard, Heard::Change(SessionChange::Closed | SessionChange::Lost(_))) {
                break;
            }
        }
    }

    /// The next message from the session.
    fn hear(&mut self, until: Option<BootTime>) -> Result<Heard, Unanswered> {
        // A session thread that ends without a message was told to end.
        let over = Unanswered::Over(Failure::GivenUp);
        loop {
            if self.gives_up.as_mut().is_some_and(|gives_up| gives_up()) {
                return Err(Unanswered::GivenUp);
            }
            let left = until.map(|until| clock::now().until(until));
            let nap = self.gives_up.as_ref().map(|_| LOOK);
            let heard = match [left, nap].into_iter().flatten().min() {
                Some(span) => self.heard.recv_timeout(span),
                None => self.heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(heard) => return Ok(heard),
                Err(RecvTimeoutError::Disconnected) => return Err(over),
                Err(RecvTimeoutError::Timeout)
                    if left.is_some_and(|left| nap.is_none_or(|nap| left <= nap)) =>
                {
                    return Err(Unanswered::TooLate);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn session_changed(&mut self, change: SessionChange) -> Result<(), Unanswered> {
        match change {
            SessionChange::Unreachable(servers) => Err(Unanswered::Unreachable(servers)),
            SessionChange::Lost(failure) => Err(Unanswered::Over(failure)),
            SessionChange::Closed => Err(Unanswered::Over(Failure::Expired)),
            SessionChange::Disconnected => {
                self.away = true;
                Ok(())
            }
            SessionChange::Reconnected => {
                self.away = false;
                // The new connection reports no watch for changes made during the gap.
                (self.changed, self.unwatched) = (true, true);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn question(number: usize) -> Asker {
    Asker::Question(QuestionIndex(number))
}
