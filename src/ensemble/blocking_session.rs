//! A session for synchronous use, without a lock: it sends requests and waits for the answers. It runs on the caller's
//! thread and only during the calls: if the caller makes none for a session timeout, the session ends.

use std::future::poll_fn;
use std::time::Duration;

use async_io::Timer;
use futures::executor::block_on;
use futures::future::{Either, select};
use thiserror::Error;
use zklock_core::duration;
use zklock_core::message::Message;
use zklock_core::protocol::QuestionIndex;
use zklock_core::server_wait::{Awaited, NOTICEABLE, ServerWait};
use zklock_core::time::BootTime;

use super::{
    Asker, ReadNode, Reply, Request, RequestError, Requester, ServerTime, Session, SessionChange,
    SessionEvent, Settings,
};
use crate::process::clock;

/// The most requests in flight at once, because the ensemble serves other clients too.
const MOST_IN_FLIGHT: usize = 500;

/// The longest wait for the end of a session that owns nothing.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// How long to wait for answers.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// This long for each answer.
    Each(Duration),
    /// Until this time for all answers; `None`: as long as it takes.
    Until(Option<BootTime>),
}

impl Limit {
    /// The deadline for the next answer.
    fn deadline(self) -> Option<BootTime> {
        match self {
            Self::Each(time) => Some(clock::now() + time),
            Self::Until(deadline) => deadline,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum BlockingError {
    /// No session was opened by the deadline of the settings. Has each server's diagnosis.
    #[error("no ZooKeeper server could be reached")]
    Unreachable(Vec<String>),
    /// The servers refuse the credentials, or demand some.
    #[error("{0}")]
    CredentialsRefused(String),
    /// The session has ended.
    #[error(transparent)]
    SessionEnded(RequestError),
    /// No answer came within this time.
    #[error("no answer within {}; check the servers' load", duration::text(*.0))]
    TimedOut(Duration),
}

/// What the server answered.
pub type Answer<T> = Result<T, RequestError>;

/// What a server can answer.
pub trait FromReply: Sized {
    /// `None` if it is the reply to another kind of request.
    fn from_reply(reply: Reply) -> Option<Answer<Self>>;
}

macro_rules! from_reply {
    ($($type:ty: $reply:pat => $answer:expr;)*) => {
        $(impl FromReply for $type {
            fn from_reply(reply: Reply) -> Option<Answer<Self>> {
                if let $reply = reply { Some($answer) } else { None }
            }
        })*
    };
}

from_reply! {
    ReadNode: Reply::Read(_, answer) => answer;
    Vec<String>: Reply::Listed(answer) => answer;
    (): Reply::ParentsMade(answer) | Reply::Deleted(answer) => answer;
    ServerTime: Reply::Written(answer) => answer;
    Option<ServerTime>: Reply::Tried(answer) => answer;
    // A refusal takes a quorum too.
    BootTime: Reply::Confirmed(sent, _) => Ok(sent);
}

/// A session whose requests wait for their answers. A session that is lost is replaced, since it owned nothing.
pub struct BlockingSession<'a> {
    settings: Settings,
    session: Session,
    requester: Requester,
    limit: Limit,
    /// The time that the limit allowed at the start.
    within: Duration,
    /// The requests that are made together, with their answers. Those of a call that failed stay, so that a late answer
    /// answers no other one.
    questions: Vec<(Request, Option<Reply>)>,
    tells: Tells<'a>,
    /// The present wait for the servers.
    wait: Option<Wait>,
    /// What each server said when it was last asked, while there is no connection.
    servers: Vec<String>,
    /// What is waited for before an answer: nothing but the answer if there is a connection.
    awaited: Awaited,
    /// A watched node may have changed.
    has_changed: bool,
    /// The session timeout that was asked for, or that the servers granted.
    timeout: Duration,
}

type Tells<'a> = Box<dyn FnMut(Option<&ServerWait>) + 'a>;

/// A wait for the servers.
#[derive(Debug, Clone, Copy)]
struct Wait {
    since: BootTime,
    /// When it ends in any case.
    until: Option<BootTime>,
    /// When to tell of it.
    tell_at: BootTime,
}

impl<'a> BlockingSession<'a> {
    /// A session that isn't open yet: [`connect`](Self::connect) opens it. `tells` is told of each wait for the servers,
    /// every second, and once that it is over.
    pub fn new(settings: Settings, limit: Limit, tells: impl FnMut(Option<&ServerWait>) + 'a) -> Self {
        let (requester, session) = Session::open(settings.clone());
        Self {
            timeout: settings.session_timeout,
            settings,
            session,
            requester,
            limit,
            within: match limit {
                Limit::Each(time) => time,
                Limit::Until(until) => until.map_or(Duration::MAX, |until| clock::now().until(until)),
            },
            questions: vec![],
            tells: Box::new(tells),
            wait: None,
            servers: vec![],
            awaited: Awaited::Session,
            has_changed: false,
        }
    }

    /// Opens the session, for which the settings have their own deadline. Requests can be made only then. Returns the
    /// session timeout that the servers grant.
    pub fn connect(&mut self) -> Result<Duration, BlockingError> {
        self.begin_to_wait(self.settings.deadline);
        while !self.is_connected() {
            self.handle_event(None)?;
        }
        self.has_changed = false;
        Ok(self.timeout)
    }

    /// Sends a request. Returns what the server answered, within why there is no answer.
    pub fn ask<T: FromReply>(&mut self, request: Request) -> Result<Answer<T>, BlockingError> {
        answer(self.replies([request])?.pop())
    }

    /// The same with several requests, all in flight together. The answers are in the order of the requests.
    pub fn ask_all<T: FromReply>(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Vec<Answer<T>>, BlockingError> {
        self.replies(requests)?.into_iter().map(|reply| answer(Some(reply))).collect()
    }

    /// The same with requests of different kinds. A request whose answer was lost is retried, except for those that may have
    /// been carried out and would then do something else the second time: a create would make a second node, and a delete or
    /// a write could meet another client's node.
    pub fn replies(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Vec<Reply>, BlockingError> {
        let requests: Vec<Request> = requests.into_iter().collect();
        let replies = requests.chunks(MOST_IN_FLIGHT).map(|requests| self.ask_together(requests));
        Ok(replies.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn ask_together(&mut self, requests: &[Request]) -> Result<Vec<Reply>, BlockingError> {
        let first = self.questions.len();
        self.questions.extend(requests.iter().map(|request| (request.clone(), None)));
        // A session that isn't open yet takes no request.
        if self.awaited != Awaited::Session {
            self.ask_from(first);
        }
        let mut until = self.limit.deadline();
        while self.questions.iter().skip(first).any(|(_, reply)| reply.is_none()) {
            if self.wait.is_none() {
                self.begin_to_wait(until);
            }
            // Only an answer shows that a server is answering.
            if self.handle_event(until)? {
                until = self.limit.deadline();
                self.stop_waiting();
            }
        }
        Ok(self.questions.split_off(first).into_iter().filter_map(|(_, reply)| reply).collect())
    }

    /// Makes the requests from this one on that have no answer.
    fn ask_from(&self, first: usize) {
        for (index, (request, reply)) in self.questions.iter().enumerate().skip(first) {
            if reply.is_none() {
                self.requester.ask(Asker::Question(QuestionIndex(index)), request.clone());
            }
        }
    }

    /// Whether the connect string has a chroot, below which all paths are.
    pub fn has_chroot(&self) -> bool {
        self.settings.hosts.chroot.is_some()
    }

    /// Lets each of the following requests wait for its answer as long as it takes.
    pub fn wait_without_limit(&mut self) {
        self.limit = Limit::Until(None);
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.awaited == Awaited::Answer
    }

    /// Waits until something that is watched may have changed, and returns whether it did before `until`. A new connection
    /// counts as a change: the watches ended with the old one.
    pub fn wait_for_change(&mut self, until: Option<BootTime>) -> Result<bool, BlockingError> {
        while !std::mem::take(&mut self.has_changed) {
            match self.handle_event(until) {
                Err(BlockingError::TimedOut(_)) if until.is_some_and(|until| until <= clock::now()) => {
                    return Ok(false);
                }
                result => drop(result?),
            }
        }
        Ok(true)
    }

    /// Ends the session, and waits a short time for its end.
    pub fn close(mut self) {
        self.stop_waiting();
        self.requester.release(vec![]);
        let until = clock::now() + CLOSE_LIMIT;
        while self.next_event(Some(until)).is_ok() {}
    }

    /// Lets the session go on until something happens, and handles that. Returns whether it is an answer.
    fn handle_event(&mut self, until: Option<BootTime>) -> Result<bool, BlockingError> {
        match self.next_event(until)? {
            SessionEvent::Change(change) => self.session_changed(change)?,
            SessionEvent::Reply(_, Reply::Changed(..)) => self.has_changed = true,
            SessionEvent::Reply(asker, reply) => {
                let Asker::Question(QuestionIndex(index)) = asker else { return Ok(false) };
                let Some((request, answer)) = self.questions.get_mut(index) else { return Ok(false) };
                let is_lost = reply.failure() == Some(&RequestError::ConnectionLost);
                if !is_lost || !is_repeatable(request) {
                    *answer = Some(reply);
                    return Ok(true);
                }
                self.requester.ask(asker, request.clone());
            }
        }
        Ok(false)
    }

    fn session_changed(&mut self, change: SessionChange) -> Result<(), BlockingError> {
        match change {
            SessionChange::Connected { timeout, .. } => {
                self.timeout = timeout;
                self.connected();
                self.ask_from(0);
            }
            SessionChange::Reconnected => self.connected(),
            SessionChange::Disconnected => {
                self.awaited = Awaited::Connection;
                self.begin_to_wait(self.wait.and_then(|wait| wait.until));
            }
            SessionChange::ServersSay(servers) => self.servers = servers,
            SessionChange::Lost(RequestError::Expired | RequestError::GivenUp)
                if self.questions.iter().all(|(request, _)| is_repeatable(request)) =>
            {
                let settings = Settings { deadline: None, ..self.settings.clone() };
                (self.requester, self.session) = Session::open(settings);
                self.awaited = Awaited::Session;
            }
            SessionChange::Lost(RequestError::AuthFailed) => {
                let hosts = self.settings.hosts.to_string();
                let given = !self.settings.security.credentials.is_empty();
                let message = Message::credentials_refused(&hosts, given);
                return Err(BlockingError::CredentialsRefused(message.to_string()));
            }
            SessionChange::Unreachable(servers) => return Err(BlockingError::Unreachable(servers)),
            SessionChange::Lost(failure) => return Err(BlockingError::SessionEnded(failure)),
            SessionChange::Closed => return Err(BlockingError::SessionEnded(RequestError::Expired)),
        }
        Ok(())
    }

    /// Lets the session go on until something happens.
    fn next_event(&mut self, until: Option<BootTime>) -> Result<SessionEvent, BlockingError> {
        loop {
            let now = clock::now();
            // What has come already counts.
            let is_late = until.is_some_and(|until| until <= now);
            if !is_late {
                self.tell_if_due(now);
            }
            let tell_at = self.wait.map(|wait| wait.tell_at);
            let wake_at = [until, tell_at].into_iter().flatten().min();
            let timer = wake_at.map_or_else(Timer::never, |at| Timer::after(now.until(at)));
            let event = poll_fn(|context| self.session.next_event(context.waker()));
            match block_on(select(event, timer)) {
                Either::Left((event, _)) => {
                    return event.ok_or(BlockingError::SessionEnded(RequestError::GivenUp));
                }
                Either::Right(_) if is_late => return Err(BlockingError::TimedOut(self.within)),
                Either::Right(_) => {}
            }
        }
    }

    /// A wait for the servers begins, or the servers have answered in it.
    fn begin_to_wait(&mut self, until: Option<BootTime>) {
        self.stop_waiting();
        let since = clock::now();
        self.wait = Some(Wait { since, until, tell_at: since + NOTICEABLE });
    }

    fn stop_waiting(&mut self) {
        if self.wait.take().is_some_and(|wait| wait.tell_at > wait.since + NOTICEABLE) {
            (self.tells)(None);
        }
    }

    /// Tells of a wait that has lasted for a second or another one.
    fn tell_if_due(&mut self, now: BootTime) {
        let Some(wait) = self.wait.as_mut().filter(|wait| wait.tell_at <= now) else { return };
        wait.tell_at = wait.tell_at + NOTICEABLE;
        (self.tells)(Some(&ServerWait {
            awaited: self.awaited,
            waited: now.since(wait.since),
            left: wait.until.map(|until| now.until(until)),
            holds: false,
            hosts: self.settings.hosts.to_string(),
            servers: if self.awaited == Awaited::Answer { vec![] } else { self.servers.clone() },
        }));
    }

    /// There is a connection, which reports no watch for changes made before it.
    fn connected(&mut self) {
        (self.awaited, self.has_changed) = (Awaited::Answer, true);
        self.stop_waiting();
    }
}

fn answer<T: FromReply>(reply: Option<Reply>) -> Result<Answer<T>, BlockingError> {
    let other = || BlockingError::SessionEnded(RequestError::Other("an answer to another question".into()));
    reply.and_then(T::from_reply).ok_or_else(other)
}

/// Whether a request does no harm if it is carried out twice.
fn is_repeatable(request: &Request) -> bool {
    match request {
        Request::Create { .. }
        | Request::MakeParents(_)
        | Request::Delete(_)
        | Request::DeleteUnchanged(..)
        | Request::Write(..)
        | Request::RecordSuccess { .. } => false,
        Request::CreatePersistent(_)
        | Request::List(_)
        | Request::CatchUpAndList(_)
        | Request::Watch(_)
        | Request::Get(_)
        | Request::Confirm(_)
        | Request::Try(..) => true,
    }
}
