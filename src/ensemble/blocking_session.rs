//! A session for synchronous use, without a lock: it sends requests and waits for the answers.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use thiserror::Error;
use zklock_core::duration;
use zklock_core::message::Message;
use zklock_core::protocol::QuestionIndex;
use zklock_core::server_wait::{Awaited, NOTICEABLE, ServerWait};
use zklock_core::time::BootTime;

use super::session::EventSink;
use super::{
    Asker, Created, NodePath, ReadNode, Reply, Request, RequestError, Requester, Session, SessionChange,
    SessionKey, Settings,
};
use crate::process::clock;

/// The most requests in flight at once, because the ensemble serves other clients too.
const MOST_IN_FLIGHT: usize = 500;

/// How many answers to one request may be lost with the connection: the server may close it because of the request.
const MOST_LOST: usize = 8;

/// How often to check whether the caller wants to give up.
const GIVE_UP_INTERVAL: Duration = Duration::from_millis(100);

/// The longest wait for the end of a session that owns nothing.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// How long to wait for answers.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// This long for each answer.
    Each(Duration),
    /// Until this time for all answers.
    Until(BootTime),
    /// As long as the connection lasts ([`BlockingError::Disconnected`]), but at most until this time.
    Connection(Option<BootTime>),
}

impl Limit {
    /// The deadline for the next answer.
    fn deadline(self) -> Option<BootTime> {
        match self {
            Self::Each(time) => Some(clock::now() + time),
            Self::Until(deadline) => Some(deadline),
            Self::Connection(deadline) => deadline,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum BlockingError {
    /// No session was opened by the deadline of the settings. Has the limit, and each server's diagnosis.
    #[error("{}", unreachable(*.0, .1))]
    Unreachable(Duration, Vec<String>),
    /// The servers refuse the credentials, or demand some. Has the servers, and whether credentials were given.
    #[error("{}", credentials_refused(.0, *.1))]
    CredentialsRefused(String, bool),
    /// The session has ended.
    #[error(transparent)]
    SessionEnded(RequestError),
    /// The connection was lost, and with it the answers. The session may still be alive.
    #[error("{}", RequestError::ConnectionLost)]
    Disconnected,
    /// No answer came within this time, or the caller gave up.
    #[error("no answer within {}; check the servers' load", duration::text(*.0))]
    TimedOut(Duration),
}

fn unreachable(within: Duration, servers: &[String]) -> Message {
    Message::Unreachable { within: Some((within, "--connect-timeout")), servers: servers.to_vec() }
}

fn credentials_refused(hosts: &str, given: bool) -> Message {
    Message::CredentialsRefused { hosts: hosts.to_owned(), given }
}

/// What the server answered.
pub type Answer<T> = Result<T, RequestError>;

/// A session whose requests wait for their answers.
///
/// Each method returns what the server answered, within why there is no answer.
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub struct BlockingSession<'a> {
    session: Requester,
    messages: Receiver<SessionMessage>,
    limit: Limit,
    /// How many requests were made so far. Each has a number of its own: a request that was made just as the connection
    /// was lost is carried out over the next one, and answers nobody any more.
    asked: usize,
    /// The time that the limit allowed when the session was opened.
    within: Duration,
    has_chroot: bool,
    /// For messages.
    hosts: String,
    has_credentials: bool,
    /// When the first attempt to connect ends.
    connect_by: Option<BootTime>,
    gives_up: Option<Box<dyn FnMut() -> bool + 'a>>,
    /// Is told of waits for the servers.
    tells: Option<Tells<'a>>,
    /// The present wait for the servers.
    wait: Option<Wait>,
    /// What each server said when it was last asked, while there is no connection.
    servers: Vec<String>,
    /// A watched node may have changed since it was last read.
    changed: bool,
    /// The connection is new and has no watches.
    unwatched: bool,
    /// The connection is lost, which the caller hasn't been told yet.
    disconnected: bool,
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

/// The reason why a wait for a change has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// Something that is watched may have changed.
    Changed,
    /// The connection is lost. Changes since then are noticed after a reconnection.
    Disconnected,
    /// The time is over.
    TimedOut,
}

enum SessionMessage {
    Change(SessionChange),
    Reply(Asker, Reply),
}

impl EventSink for Sender<SessionMessage> {
    fn session(&self, _: SessionKey, change: SessionChange) {
        // An error means that there is no receiver any more.
        let _ = self.send(SessionMessage::Change(change));
    }

    fn reply(&self, _: SessionKey, asker: Asker, reply: Reply) {
        let _ = self.send(SessionMessage::Reply(asker, reply));
    }
}

/// A function that takes what it expects out of a reply, and returns any other reply.
macro_rules! expect {
    ($expected:pat => $answer:expr) => {
        |reply| match reply {
            $expected => Ok($answer),
            other => Err(other),
        }
    };
}

impl<'a> BlockingSession<'a> {
    /// Starts connecting, for which the settings have their own deadline. [`connect`](Self::connect) waits for the
    /// session; requests can be made only then.
    pub fn open(settings: Settings, limit: Limit) -> io::Result<Self> {
        let (sender, messages) = mpsc::channel();
        let within = match limit {
            Limit::Each(time) => time,
            Limit::Until(_) | Limit::Connection(_) => {
                limit.deadline().map_or(Duration::MAX, |deadline| deadline.since(clock::now()))
            }
        };
        let (has_chroot, connect_by) = (settings.hosts.chroot.is_some(), settings.deadline);
        let (hosts, has_credentials) =
            (settings.hosts.to_string(), !settings.security.credentials.is_empty());
        let session = Session::open_apart(SessionKey(0), settings, sender)?;
        Ok(Self {
            session,
            messages,
            limit,
            asked: 0,
            within,
            has_chroot,
            hosts,
            has_credentials,
            connect_by,
            gives_up: None,
            tells: None,
            wait: None,
            servers: vec![],
            changed: false,
            unwatched: true,
            disconnected: false,
            timeout: None,
        })
    }

    /// Makes it give up when `gives_up` returns `true`. It is called ten times a second.
    #[must_use]
    pub fn unless(mut self, gives_up: impl FnMut() -> bool + 'a) -> Self {
        self.gives_up = Some(Box::new(gives_up));
        self
    }

    /// Makes it tell of each wait for the servers, once a second after the first, and once that it is over.
    #[must_use]
    pub fn telling(mut self, tells: impl FnMut(Option<&ServerWait>) + 'a) -> Self {
        self.tells = Some(Box::new(tells));
        self
    }

    /// Waits until there is a session.
    pub fn connect(&mut self) -> Result<(), BlockingError> {
        self.begin_to_wait(self.connect_by);
        let connected = self.wait_for_the_session();
        self.stop_waiting();
        connected
    }

    fn wait_for_the_session(&mut self) -> Result<(), BlockingError> {
        loop {
            match self.next_message(None)? {
                SessionMessage::Change(SessionChange::Connected { timeout, .. }) => {
                    self.timeout = Some(timeout);
                    return Ok(());
                }
                SessionMessage::Change(change) => self.session_changed(change)?,
                SessionMessage::Reply(..) => {}
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
    fn tell_if_due(&mut self) {
        let now = clock::now();
        let awaited = match (self.timeout, self.disconnected) {
            (None, _) => Awaited::Session,
            (Some(_), true) => Awaited::Connection,
            (Some(_), false) => Awaited::Answer,
        };
        let Some(wait) = self.wait.as_mut().filter(|wait| wait.tell_at <= now) else { return };
        wait.tell_at = wait.tell_at + NOTICEABLE;
        let Some(tells) = &mut self.tells else { return };
        tells(Some(&ServerWait {
            awaited,
            waited: now.since(wait.since),
            left: wait.until.map(|until| now.until(until)),
            holds: false,
            hosts: self.hosts.clone(),
            servers: if awaited == Awaited::Answer { vec![] } else { self.servers.clone() },
        }));
    }

    /// Makes a request again if its answer was lost with the connection, but not for ever. The request is told how many of
    /// its answers were lost before: it may have been carried out then.
    pub fn ask_again<T>(
        &mut self,
        mut request: impl FnMut(&mut Self, usize) -> Result<Answer<T>, BlockingError>,
    ) -> Result<Answer<T>, BlockingError> {
        for lost in 0..MOST_LOST {
            match request(self, lost)? {
                Err(RequestError::ConnectionLost) => {}
                answer => return Ok(answer),
            }
        }
        Ok(Err(RequestError::ConnectionLost))
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

    /// Reads nodes as [`get_all`](Self::get_all) does. Of one without READ, the list of children shows whether it
    /// exists.
    pub fn watch_all(
        &mut self,
        nodes: impl IntoIterator<Item = NodePath>,
    ) -> Result<Vec<(NodePath, Answer<ReadNode>)>, BlockingError> {
        let requests = nodes.into_iter().map(Request::Watch);
        self.all(requests, expect!(Reply::Read(path, answer) => (path, answer)))
    }

    /// Lists the children of a node.
    pub fn list(&mut self, node: NodePath) -> Result<Answer<Vec<String>>, BlockingError> {
        self.one(Request::List(node), expect!(Reply::Listed(answer) => answer))
    }

    /// Lists the children of nodes, all in flight together; the answers are in their order.
    pub fn list_all(
        &mut self,
        nodes: impl IntoIterator<Item = NodePath>,
    ) -> Result<Vec<Answer<Vec<String>>>, BlockingError> {
        self.all(nodes.into_iter().map(Request::List), expect!(Reply::Listed(answer) => answer))
    }

    /// Watches these paths and everything below them; the answers are in their order.
    pub fn watch_below(
        &mut self,
        nodes: impl IntoIterator<Item = NodePath>,
    ) -> Result<Vec<Answer<()>>, BlockingError> {
        self.all(nodes.into_iter().map(Request::WatchBelow), expect!(Reply::Watching(answer) => answer))
    }

    /// Creates an ephemeral sequential node.
    pub fn create(
        &mut self,
        parent: NodePath,
        prefix: String,
        data: Vec<u8>,
    ) -> Result<Answer<Created>, BlockingError> {
        let create = Request::Create { parent, prefix, data };
        self.one(create, expect!(Reply::Created(answer) => answer))
    }

    /// Creates a node as a container where the server supports it, and the missing nodes above it.
    pub fn make_parents(&mut self, node: NodePath) -> Result<Answer<()>, BlockingError> {
        self.one(Request::MakeParents(node), expect!(Reply::ParentsMade(answer) => answer))
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

    fn one<T>(
        &mut self,
        request: Request,
        decode: impl Fn(Reply) -> Result<T, Reply>,
    ) -> Result<T, BlockingError> {
        let mut answers = self.all([request], decode)?;
        answers.pop().ok_or(BlockingError::TimedOut(self.within))
    }

    fn all<T>(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
        decode: impl Fn(Reply) -> Result<T, Reply>,
    ) -> Result<Vec<T>, BlockingError> {
        let replies = self.ask_all(&requests.into_iter().collect::<Vec<_>>())?;
        let other = |reply| RequestError::Other(format!("an answer to another question: {reply:?}"));
        let decode = |reply| decode(reply).map_err(|reply| BlockingError::SessionEnded(other(reply)));
        replies.into_iter().map(decode).collect()
    }

    /// Lets each of the following requests wait for its answer as long as the connection lasts. If the connection is lost,
    /// [`wait_for_change`](Self::wait_for_change) must be called before the next request.
    pub fn wait_as_long_as_connected(&mut self) {
        self.limit = Limit::Connection(None);
    }

    /// Sends requests that the core has made, all in flight together, in an existing session. The answers are in the order of the
    /// requests. A request whose answer was lost is retried, except for those that may have been carried out and would
    /// then do something else the second time: a create would make a second node, and a delete or a write could meet
    /// another client's node.
    pub fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>, BlockingError> {
        let replies = self.replies(requests);
        self.stop_waiting();
        replies
    }

    fn replies(&mut self, requests: &[Request]) -> Result<Vec<Reply>, BlockingError> {
        self.check_connection()?;
        let mut answers: Vec<Option<Reply>> = requests.iter().map(|_| None).collect();
        let first = self.asked;
        self.asked += requests.len();
        let question = |index| Asker::Question(QuestionIndex(first + index));
        let mut waiting = requests.iter().cloned().enumerate();
        let mut left = requests.len();
        for (index, request) in waiting.by_ref().take(MOST_IN_FLIGHT) {
            self.session.ask(question(index), request);
        }
        let mut until = self.limit.deadline();
        self.begin_to_wait(until);
        while left > 0 {
            match self.next_message(until)? {
                SessionMessage::Reply(_, Reply::Changed(..)) => self.changed = true,
                SessionMessage::Reply(Asker::Question(QuestionIndex(number)), reply) => {
                    let Some(index) = number.checked_sub(first) else { continue };
                    if reply.failure() == Some(&RequestError::ConnectionLost)
                        && let Some(request) = requests.get(index)
                        && !counts_each_time(request)
                    {
                        self.session.ask(question(index), request.clone());
                        continue;
                    }
                    // Only an answer shows that a server is answering.
                    until = self.limit.deadline();
                    self.begin_to_wait(until);
                    if let Some(answer) = answers.get_mut(index)
                        && answer.replace(reply).is_none()
                    {
                        left -= 1;
                    }
                    if let Some((index, request)) = waiting.next() {
                        self.session.ask(question(index), request);
                    }
                }
                SessionMessage::Reply(..) => {}
                SessionMessage::Change(change) => {
                    self.session_changed(change)?;
                    self.check_connection()?;
                }
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Fails if the wait for answers is over because the connection is lost.
    fn check_connection(&self) -> Result<(), BlockingError> {
        match self.limit {
            Limit::Connection(_) if self.disconnected => Err(BlockingError::Disconnected),
            _ => Ok(()),
        }
    }

    /// Whether the connect string has a chroot, below which all paths are.
    pub fn has_chroot(&self) -> bool {
        self.has_chroot
    }

    /// Whether the caller must set its watches, for the first time or again.
    pub fn must_watch(&mut self) -> bool {
        std::mem::take(&mut self.unwatched)
    }

    /// Waits until something that is watched may have changed, or the connection is lost, or `until` is over.
    pub fn wait_for_change(&mut self, until: Option<BootTime>) -> Result<Wakeup, BlockingError> {
        while !self.changed {
            if std::mem::take(&mut self.disconnected) {
                return Ok(Wakeup::Disconnected);
            }
            let message = match self.next_message(until) {
                Err(BlockingError::TimedOut(_)) if until.is_some_and(|until| until <= clock::now()) => {
                    return Ok(Wakeup::TimedOut);
                }
                message => message?,
            };
            match message {
                SessionMessage::Reply(_, Reply::Changed(..)) => self.changed = true,
                SessionMessage::Reply(..) => {}
                SessionMessage::Change(change) => self.session_changed(change)?,
            }
        }
        // All changes so far are handled together.
        while let Ok(message) = self.messages.try_recv() {
            if let SessionMessage::Change(change) = message {
                self.session_changed(change)?;
            }
        }
        self.changed = false;
        Ok(Wakeup::Changed)
    }

    /// Waits until there is a connection again. The caller must look at what is watched, which may have changed.
    pub fn reconnect(&mut self, until: Option<BootTime>) -> Result<(), BlockingError> {
        self.disconnected = true;
        self.begin_to_wait(until);
        let connected = self.wait_for_the_connection(until);
        self.stop_waiting();
        connected
    }

    fn wait_for_the_connection(&mut self, until: Option<BootTime>) -> Result<(), BlockingError> {
        while self.disconnected {
            if let SessionMessage::Change(change) = self.next_message(until)? {
                self.session_changed(change)?;
            }
        }
        self.changed = false;
        Ok(())
    }

    /// The session timeout that the servers granted, once there is a session.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Like [`close`](Self::close), even if the caller has given up: the session's nodes are deleted with it.
    pub fn close_in_any_case(mut self) {
        self.gives_up = None;
        self.close();
    }

    /// Ends the session, and waits a short time for its end.
    pub fn close(mut self) {
        self.session.release(vec![]);
        let until = clock::now() + CLOSE_LIMIT;
        while let Ok(message) = self.next_message(Some(until)) {
            if matches!(message, SessionMessage::Change(SessionChange::Closed | SessionChange::Lost(_))) {
                break;
            }
        }
    }

    /// The next message from the session.
    fn next_message(&mut self, until: Option<BootTime>) -> Result<SessionMessage, BlockingError> {
        // A session thread that ends without a message was told to end.
        let ended = BlockingError::SessionEnded(RequestError::GivenUp);
        loop {
            if self.gives_up.as_mut().is_some_and(|gives_up| gives_up()) {
                return Err(BlockingError::TimedOut(self.within));
            }
            let left = until.map(|until| clock::now().until(until));
            let interval = self.gives_up.as_ref().map(|_| GIVE_UP_INTERVAL);
            let tell_in = self.tells.as_ref().and(self.wait).map(|wait| clock::now().until(wait.tell_at));
            let message = match [left, interval, tell_in].into_iter().flatten().min() {
                Some(span) => self.messages.recv_timeout(span),
                None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Disconnected) => return Err(ended),
                Err(RecvTimeoutError::Timeout) if until.is_some_and(|until| until <= clock::now()) => {
                    return Err(BlockingError::TimedOut(self.within));
                }
                Err(RecvTimeoutError::Timeout) => self.tell_if_due(),
            }
        }
    }

    fn session_changed(&mut self, change: SessionChange) -> Result<(), BlockingError> {
        match change {
            SessionChange::ServersSay(servers) => {
                self.servers = servers;
                Ok(())
            }
            SessionChange::Unreachable(servers) => Err(BlockingError::Unreachable(self.within, servers)),
            SessionChange::Lost(RequestError::AuthFailed) => {
                Err(BlockingError::CredentialsRefused(self.hosts.clone(), self.has_credentials))
            }
            SessionChange::Lost(failure) => Err(BlockingError::SessionEnded(failure)),
            SessionChange::Closed => Err(BlockingError::SessionEnded(RequestError::Expired)),
            SessionChange::Disconnected => {
                // A reconnection counts as a change.
                (self.disconnected, self.changed) = (true, false);
                Ok(())
            }
            SessionChange::Reconnected => {
                self.disconnected = false;
                // The new connection reports no watch for changes made during the gap.
                (self.changed, self.unwatched) = (true, true);
                Ok(())
            }
            SessionChange::Connected { .. } => Ok(()),
        }
    }
}

impl Drop for BlockingSession<'_> {
    /// Closes the session on every other way out too: it holds no lock that protects a process.
    fn drop(&mut self) {
        self.session.release(vec![]);
    }
}

/// Whether the caller must know that an answer was lost.
fn counts_each_time(request: &Request) -> bool {
    match request {
        Request::Create { .. }
        | Request::MakeParents(_)
        | Request::Delete(_)
        | Request::DeleteUnchanged(..)
        | Request::Write(..)
        | Request::RecordSuccess { .. } => true,
        Request::CreatePersistent(_)
        | Request::List(_)
        | Request::CatchUpAndList(_)
        | Request::Watch(_)
        | Request::WatchBelow(_)
        | Request::Get(_)
        | Request::Confirm(_) => false,
    }
}

#[cfg(test)]
mod tests;
