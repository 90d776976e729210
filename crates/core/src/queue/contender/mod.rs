//! One contender for one lock, as a state machine: replies in, requests and events out. Pure.
//!
//! The recipe is ZooKeeper's own: create an ephemeral sequential node, list the children, watch the predecessor. The
//! rest handles a lost reply, a lost node, and the order of events across a reconnection.

mod ahead;
mod deciding;
mod entering;
mod error;
mod own_node;
mod step;

pub use self::error::ContentionError;
use self::own_node::NodeContent;
pub use self::step::{AttemptIds, ContenderConfig, Step};
use crate::path::{LockPath, NodePath};
use crate::protocol::{LockNode, Node, Reply, Request, RequestError};
use crate::queue::event::Event;
use crate::queue::order::QueueError;

/// How often the parents may vanish between being created and being used: a container that is empty for a moment can be
/// reaped. More often than this isn't chance.
const MOST_PARENTS: u32 = 10;

/// How many creates in a row may lose their answer with a connection that the server closes. In a rolling restart a few do;
/// one that loses more makes the server close the connection.
const MOST_LOST_CREATES: u32 = 8;

/// A contender's state, which decides how it interprets the next reply.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ContenderPhase {
    /// With `nonblock`: the queue is listed first, and nothing is created yet.
    Looking,
    /// With `nonblock` and a queue that stops this contender: reading the node in the way, which is the holder's, or the
    /// cause of the refusal.
    Naming { node: String, refusal: Option<QueueError> },
    /// Create and list are in flight together.
    Entering { created: Option<Result<LockNode, RequestError>> },
    /// The lock path doesn't exist yet.
    MakingParents,
    /// The reply to the create was lost: checking whether the node exists.
    Searching,
    /// A node with this contender's uuid exists: checking whether this session owns it.
    Adopting(String),
    /// Listing again.
    Listing,
    /// Setting the watches on the nodes in the way. `unset` have no watch yet, and `nearest` is the data of the nearest
    /// one.
    Approaching { watch: Vec<String>, unset: Vec<String>, nearest: Option<Node>, ahead: usize },
    /// Asleep until a watch fires. `sole`: once that node is gone, this contender holds the lock.
    Waiting { watch: Vec<String>, ahead: usize, sole: bool },
    /// A node of this same session is ahead: it is deleted first.
    Clearing,
    /// Holds the lock.
    Holding,
    /// Nothing is left to do.
    Ended,
}

/// One contender for one lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Contender {
    config: ContenderConfig,
    session: i64,
    prefix: String,
    own: Option<LockNode>,
    own_watched: bool,
    /// Another client wrote to zklock's node, and zklock hasn't read it yet.
    own_unread: bool,
    own_version: i32,
    content: NodeContent,
    parents_made: u32,
    lost_creates: u32,
    seen_busy: bool,
    phase: ContenderPhase,
}

impl Contender {
    /// A contender of the session with this id. It sends nothing before [`begin`](Self::begin).
    pub fn new(config: ContenderConfig, session: i64) -> Self {
        let phase = ContenderPhase::Ended;
        Self {
            config,
            session,
            prefix: String::new(),
            own: None,
            own_watched: false,
            own_unread: false,
            own_version: 0,
            content: NodeContent::default(),
            parents_made: 0,
            lost_creates: 0,
            seen_busy: false,
            phase,
        }
    }

    /// The lock.
    pub fn path(&self) -> &LockPath {
        &self.config.path
    }

    /// Its own node, once it is known.
    pub fn own(&self) -> Option<&LockNode> {
        self.own.as_ref()
    }

    /// Whether another contender was ahead in any listing.
    pub fn seen_busy(&self) -> bool {
        self.seen_busy
    }

    /// Whether it holds the lock.
    pub fn holds(&self) -> bool {
        matches!(self.phase, ContenderPhase::Holding)
    }

    /// Whether another client wrote to its node, possibly a request to give up the lock, and it hasn't been read yet.
    pub fn is_unread(&self) -> bool {
        self.own_unread
    }

    /// Enters the queue; with `nonblock`, looks at the queue first.
    pub fn begin(&mut self) -> Step {
        if self.config.nonblock { self.go(ContenderPhase::Looking, self.list()) } else { self.enter() }
    }

    /// The connection is lost after a silence: the server didn't close it because of a create.
    pub fn lost_to_silence(&mut self) {
        self.lost_creates = 0;
    }

    /// Handles a reconnection of the session. The watches that were set ended with the old connection; unanswered
    /// requests are retried when their failure arrives.
    pub fn reconnected(&mut self) -> Step {
        let mut step = Step::default();
        if std::mem::take(&mut self.own_watched) {
            step.append(self.watch_own());
        }
        let path = self.config.path.clone();
        let again = |names: &[String]| names.iter().map(|name| Request::Watch(path.child(name))).collect();
        match &mut self.phase {
            ContenderPhase::Waiting { watch, ahead, .. } => {
                let watch = std::mem::take(watch);
                step.requests.extend::<Vec<_>>(again(&watch));
                let unset = watch.clone();
                self.phase = ContenderPhase::Approaching { watch, unset, nearest: None, ahead: *ahead };
            }
            ContenderPhase::Approaching { watch, unset, .. } => {
                let set: Vec<_> = watch.iter().filter(|name| !unset.contains(name)).cloned().collect();
                step.requests.extend::<Vec<_>>(again(&set));
                unset.extend(set);
            }
            _ => {}
        }
        step
    }

    /// Takes in a reply and returns the next step.
    pub fn take(&mut self, reply: Reply) -> Step {
        match reply {
            // The caller learns of the session's end too, and ends this contender.
            Reply::Created(Err(RequestError::Expired | RequestError::AuthFailed))
            | Reply::Listed(Err(RequestError::Expired | RequestError::AuthFailed))
            | Reply::Read(_, Err(RequestError::Expired | RequestError::AuthFailed))
            | Reply::ParentsMade(Err(RequestError::Expired | RequestError::AuthFailed)) => Step::default(),
            Reply::Created(result) => self.created(result),
            Reply::ParentsMade(result) => self.parents_made(result),
            Reply::Listed(result) => self.listed(result),
            Reply::Read(path, result) if self.is_own(&path) => self.own_read(&result),
            Reply::Read(path, result) => self.other_read(&path, result),
            Reply::Changed(path, deleted) if self.is_own(&path) => self.own_changed(deleted),
            Reply::Changed(path, deleted) => self.other_changed(&path, deleted),
            Reply::Deleted(_) if matches!(self.phase, ContenderPhase::Clearing) => self.list_again(),
            Reply::Written(Err(RequestError::ConnectionLost)) => self.write_own(),
            // If its node was deleted or changed by another client, the watch on it reports that too.
            Reply::Written(_)
            | Reply::Deleted(_)
            | Reply::Confirmed(..)
            | Reply::SuccessRecorded(_)
            | Reply::Tried(_) => Step::default(),
        }
    }

    fn fail(&mut self, error: ContentionError) -> Step {
        self.phase = ContenderPhase::Ended;
        Step { requests: vec![], events: vec![Event::Failed(self.path().clone(), error)] }
    }

    fn list_again(&mut self) -> Step {
        self.go(ContenderPhase::Listing, self.list())
    }

    fn list(&self) -> Request {
        Request::List(self.path().node())
    }

    /// After a gap in the connection the server may lag behind what this client has already seen.
    fn catch_up(&self) -> Request {
        Request::CatchUpAndList(self.path().node())
    }

    fn go(&mut self, phase: ContenderPhase, request: Request) -> Step {
        self.phase = phase;
        self.ask(request)
    }

    #[allow(clippy::unused_self, reason = "reads as a sentence where it is called")]
    fn ask(&self, request: Request) -> Step {
        Step { requests: vec![request], events: vec![] }
    }

    fn is_own(&self, path: &NodePath) -> bool {
        self.own.as_ref().is_some_and(|own| own.path == *path)
    }
}

#[cfg(test)]
mod tests;
