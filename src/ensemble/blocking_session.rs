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
    Asker, NodePath, ReadNode, Reply, Request, RequestError, Requester, ServerTime, Session, SessionChange,
    SessionEvent, Settings,
};
use crate::process::clock;

/// The most requests in flight at once, because the ensemble serves other clients too.
const MOST_IN_FLIGHT: usize = 500;

/// How often to check whether the caller wants to give up.
const GIVE_UP_INTERVAL: Duration = Duration::from_millis(100);

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
    /// No answer came within this time, or the caller gave up.
    #[error("no answer within {}; check the servers' load", duration::text(*.0))]
    TimedOut(Duration),
}

/// What the server answered.
pub type Answer<T> = Result<T, RequestError>;

/// A session whose requests wait for their answers. A session that is lost is replaced, since it owned nothing.
///
/// Each method returns what the server answered, within why there is no answer.
pub struct BlockingSession<'a> {
    settings: Settings,
    session: Session,
    requester: Requester,
    limit: Limit,
    /// The time that the limit allowed at the start.
    within: Duration,
    /// How many requests were made so far. Each has a number of its own: an answer that comes after its limit answers no
    /// later one.
    asked: usize,
    gives_up: Option<Box<dyn FnMut() -> bool + 'a>>,
    /// Is told of waits for the servers.
    tells: Option<Tells<'a>>,
    /// The present wait for the servers.
    wait: Option<Wait>,
    /// What each server said when it was last asked, while there is no connection.
    servers: Vec<String>,
    /// What is waited for before an answer: nothing but the answer if there is a connection.
    awaited: Awaited,
    /// A session was opened, which hasn't been asked yet.
    is_new: bool,
    /// If the session is lost now, another one can be asked again.
    is_repeatable: bool,
    /// A watched node may have changed.
    has_changed: bool,
    /// The session timeout that the servers granted.
    timeout: Option<Duration>,
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

/// A function that takes what it expects out of a reply.
macro_rules! expect {
    ($expected:pat => $answer:expr) => {
        |reply| if let $expected = reply { Some($answer) } else { None }
    };
}

impl<'a> BlockingSession<'a> {
    /// A session that isn't open yet: [`connect`](Self::connect) opens it.
    pub fn new(settings: Settings, limit: Limit) -> Self {
        let within = match limit {
            Limit::Each(time) => time,
            Limit::Until(until) => until.map_or(Duration::MAX, |until| clock::now().until(until)),
        };
        let (requester, session) = Session::open(settings.clone());
        Self {
            settings,
            session,
            requester,
            limit,
            within,
            asked: 0,
            gives_up: None,
            tells: None,
            wait: None,
            servers: vec![],
            awaited: Awaited::Session,
            is_new: true,
            is_repeatable: true,
            has_changed: false,
            timeout: None,
        }
    }

    /// Makes it give up when `gives_up` returns `true`. It is called ten times a second.
    #[must_use]
    pub fn unless(mut self, gives_up: impl FnMut() -> bool + 'a) -> Self {
        self.gives_up = Some(Box::new(gives_up));
        self
    }

    /// Makes it tell of each wait for the servers, every second, and once that it is over.
    #[must_use]
    pub fn telling(mut self, tells: impl FnMut(Option<&ServerWait>) + 'a) -> Self {
        self.tells = Some(Box::new(tells));
        self
    }

    /// Opens the session, for which the settings have their own deadline. Requests can be made only then.
    pub fn connect(&mut self) -> Result<(), BlockingError> {
        self.begin_to_wait(self.settings.deadline);
        while !self.is_connected() {
            self.next_reply(None)?;
        }
        self.has_changed = false;
        Ok(())
    }

    /// Reads a node.
    pub fn get(&mut self, node: NodePath) -> Result<Answer<ReadNode>, BlockingError> {
        self.one(Request::Get(node), expect!(Reply::Read(_, answer) => answer))
    }

    /// Reads nodes, all in flight together; the answers are in their order, with the paths.
    pub fn get_all(
        &mut self,
        nodes: impl IntoIterator<Item = NodePath>,
    ) -> Result<Vec<(NodePath, Answer<ReadNode>)>, BlockingError> {
        let requests = nodes.into_iter().map(Request::Get);
        self.all(requests, expect!(Reply::Read(path, answer) => (path, answer)))
    }

    /// Reads nodes as [`get_all`](Self::get_all) does, and watches them. Of one without READ, the list of children shows
    /// whether it exists.
    pub fn watch_all(
        &mut self,
        nodes: impl IntoIterator<Item = NodePath>,
    ) -> Result<Vec<(NodePath, Answer<ReadNode>)>, BlockingError> {
        let requests = nodes.into_iter().map(Request::Watch);
        self.all(requests, expect!(Reply::Read(path, answer) => (path, answer)))
    }

    /// Reads a node as [`get`](Self::get) does, and watches it.
    pub fn watch(&mut self, node: NodePath) -> Result<Answer<ReadNode>, BlockingError> {
        self.one(Request::Watch(node), expect!(Reply::Read(_, answer) => answer))
    }

    /// Lists the children of a node.
    pub fn list(&mut self, node: NodePath) -> Result<Answer<Vec<String>>, BlockingError> {
        self.one(Request::List(node), expect!(Reply::Listed(answer) => answer))
    }

    /// Lists the children of a node as they are now: the server catches up with its leader before.
    pub fn catch_up_and_list(&mut self, node: NodePath) -> Result<Answer<Vec<String>>, BlockingError> {
        self.one(Request::CatchUpAndList(node), expect!(Reply::Listed(answer) => answer))
    }

    /// Lists the children of nodes, all in flight together; the answers are in their order.
    pub fn list_all(
        &mut self,
        nodes: impl IntoIterator<Item = NodePath>,
    ) -> Result<Vec<Answer<Vec<String>>>, BlockingError> {
        self.all(nodes.into_iter().map(Request::List), expect!(Reply::Listed(answer) => answer))
    }

    /// Creates nodes, each below the one before, and deletes them in the same transaction. Returns the server's
    /// time, if the ACL lets zklock write its own node.
    pub fn try_nodes(
        &mut self,
        nodes: Vec<NodePath>,
        data: Vec<u8>,
    ) -> Result<Answer<Option<ServerTime>>, BlockingError> {
        self.one(Request::Try(nodes, data), expect!(Reply::Tried(answer) => answer))
    }

    /// Creates a node that stays, and the missing nodes above it.
    pub fn create_persistent(&mut self, node: NodePath) -> Result<Answer<()>, BlockingError> {
        self.one(Request::CreatePersistent(node), expect!(Reply::ParentsMade(answer) => answer))
    }

    /// Replaces a node's data, if it still has this version.
    pub fn write(
        &mut self,
        node: NodePath,
        data: Vec<u8>,
        version: i32,
    ) -> Result<Answer<()>, BlockingError> {
        let write = Request::Write(node, data, version);
        self.one(write, expect!(Reply::Written(answer) => answer.map(drop)))
    }

    /// Deletes a node, whatever version it has.
    pub fn delete(&mut self, node: NodePath) -> Result<Answer<()>, BlockingError> {
        self.one(Request::Delete(node), expect!(Reply::Deleted(answer) => answer))
    }

    /// Deletes a node, if it still has this version.
    pub fn delete_unchanged(&mut self, node: NodePath, version: i32) -> Result<Answer<()>, BlockingError> {
        self.one(Request::DeleteUnchanged(node, version), expect!(Reply::Deleted(answer) => answer))
    }

    /// Makes a quorum write that changes nothing, and returns how long that took. A refusal takes a quorum too.
    pub fn round_trip(&mut self, node: NodePath) -> Result<Duration, BlockingError> {
        let confirm = Request::Confirm(vec![node]);
        self.one(confirm, expect!(Reply::Confirmed(sent, _) => clock::now().since(sent)))
    }

    fn one<T>(&mut self, request: Request, decode: impl Fn(Reply) -> Option<T>) -> Result<T, BlockingError> {
        let mut answers = self.all([request], decode)?;
        answers.pop().ok_or(BlockingError::TimedOut(self.within))
    }

    fn all<T>(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
        decode: impl Fn(Reply) -> Option<T>,
    ) -> Result<Vec<T>, BlockingError> {
        let replies = self.ask_all(&requests.into_iter().collect::<Vec<_>>())?;
        let other =
            || BlockingError::SessionEnded(RequestError::Other("an answer to another question".into()));
        replies.into_iter().map(|reply| decode(reply).ok_or_else(other)).collect()
    }

    /// Sends requests, all in flight together. The answers are in the order of the requests. A request whose answer was
    /// lost is retried, except for those that may have been carried out and would then do something else the second time: a
    /// create would make a second node, and a delete or a write could meet another client's node.
    pub fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>, BlockingError> {
        self.is_repeatable = requests.iter().all(is_repeatable);
        let replies = requests.chunks(MOST_IN_FLIGHT).map(|requests| self.ask_together(requests));
        let replies: Result<Vec<_>, _> = replies.collect();
        self.is_repeatable = true;
        Ok(replies?.concat())
    }

    fn ask_together(&mut self, requests: &[Request]) -> Result<Vec<Reply>, BlockingError> {
        let mut answers: Vec<Option<Reply>> = vec![None; requests.len()];
        let first = self.asked;
        self.asked += requests.len();
        let question = |index| Asker::Question(QuestionIndex(first + index));
        let mut until = self.limit.deadline();
        self.is_new = true;
        while answers.iter().any(Option::is_none) {
            if self.wait.is_none() {
                self.begin_to_wait(until);
            }
            // A session that isn't open yet takes no request.
            if self.awaited != Awaited::Session && std::mem::take(&mut self.is_new) {
                let unanswered = requests.iter().zip(&answers).enumerate();
                for (index, (request, _)) in unanswered.filter(|(_, (_, answer))| answer.is_none()) {
                    self.requester.ask(question(index), request.clone());
                }
            }
            let Some((Asker::Question(QuestionIndex(number)), reply)) = self.next_reply(until)? else {
                continue;
            };
            let Some(index) = number.checked_sub(first) else { continue };
            let (Some(request), Some(answer)) = (requests.get(index), answers.get_mut(index)) else {
                continue;
            };
            if reply.failure() == Some(&RequestError::ConnectionLost) && is_repeatable(request) {
                self.requester.ask(question(index), request.clone());
                continue;
            }
            // Only an answer shows that a server is answering.
            until = self.limit.deadline();
            self.stop_waiting();
            *answer = Some(reply);
        }
        Ok(answers.into_iter().flatten().collect())
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

    /// The session timeout that the servers granted, once there is a session.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Waits until something that is watched may have changed, and returns whether it did before `until`. A new connection
    /// counts as a change: the watches ended with the old one.
    pub fn wait_for_change(&mut self, until: Option<BootTime>) -> Result<bool, BlockingError> {
        while !std::mem::take(&mut self.has_changed) {
            match self.next_reply(until) {
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
        // It isn't replaced any more.
        self.timeout = None;
        self.requester.release(vec![]);
        let until = clock::now() + CLOSE_LIMIT;
        while self.next_reply(Some(until)).is_ok() {}
    }

    /// Handles the next event. Returns the reply if it is one.
    fn next_reply(&mut self, until: Option<BootTime>) -> Result<Option<(Asker, Reply)>, BlockingError> {
        match self.next_event(until)? {
            SessionEvent::Reply(_, Reply::Changed(..)) => self.has_changed = true,
            SessionEvent::Reply(asker, reply) => return Ok(Some((asker, reply))),
            SessionEvent::Change(change) => self.session_changed(change)?,
        }
        Ok(None)
    }

    /// Lets the session go on until something happens.
    fn next_event(&mut self, until: Option<BootTime>) -> Result<SessionEvent, BlockingError> {
        loop {
            let now = clock::now();
            if self.gives_up.as_mut().is_some_and(|gives_up| gives_up()) {
                return Err(BlockingError::TimedOut(self.within));
            }
            // What has come already counts.
            let is_late = until.is_some_and(|until| until <= now);
            if !is_late {
                self.tell_if_due(now);
            }
            let tell_at = self.tells.as_ref().and(self.wait).map(|wait| wait.tell_at);
            let ask_at = self.gives_up.as_ref().map(|_| now + GIVE_UP_INTERVAL);
            let wake_at = [until, tell_at, ask_at].into_iter().flatten().min();
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
        let wait = self.wait.take();
        if wait.is_some_and(|wait| wait.tell_at > wait.since + NOTICEABLE)
            && let Some(tells) = &mut self.tells
        {
            tells(None);
        }
    }

    /// Tells of a wait that has lasted for a second or another one.
    fn tell_if_due(&mut self, now: BootTime) {
        let Some(wait) = self.wait.as_mut().filter(|wait| wait.tell_at <= now) else { return };
        wait.tell_at = wait.tell_at + NOTICEABLE;
        let Some(tells) = &mut self.tells else { return };
        tells(Some(&ServerWait {
            awaited: self.awaited,
            waited: now.since(wait.since),
            left: wait.until.map(|until| now.until(until)),
            holds: false,
            hosts: self.settings.hosts.to_string(),
            servers: if self.awaited == Awaited::Answer { vec![] } else { self.servers.clone() },
        }));
    }

    fn session_changed(&mut self, change: SessionChange) -> Result<(), BlockingError> {
        match change {
            SessionChange::Connected { timeout, .. } => {
                // The watches of an earlier session are gone.
                (self.is_new, self.has_changed) = (true, true);
                (self.timeout, self.awaited) = (Some(timeout), Awaited::Answer);
                self.stop_waiting();
            }
            SessionChange::ServersSay(servers) => self.servers = servers,
            SessionChange::Unreachable(servers) => return Err(BlockingError::Unreachable(servers)),
            SessionChange::Lost(RequestError::Expired | RequestError::GivenUp)
                if self.timeout.is_some() && self.is_repeatable =>
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
            SessionChange::Lost(failure) => return Err(BlockingError::SessionEnded(failure)),
            SessionChange::Closed => return Err(BlockingError::SessionEnded(RequestError::Expired)),
            SessionChange::Disconnected => {
                self.awaited = Awaited::Connection;
                let until = self.wait.and_then(|wait| wait.until);
                self.begin_to_wait(until);
            }
            SessionChange::Reconnected => {
                // The new connection reports no watch for changes made during the gap.
                (self.awaited, self.has_changed) = (Awaited::Answer, true);
                self.stop_waiting();
            }
        }
        Ok(())
    }
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
