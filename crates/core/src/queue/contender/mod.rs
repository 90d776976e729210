//! One contender for one lock, as a state machine: replies in, requests and events out. Pure.
//!
//! The recipe is ZooKeeper's own: create an ephemeral sequential node, list the children, watch the predecessor. The
//! rest handles a lost reply, a lost node, and the order of events across a reconnection. [`Contender::take`] is the
//! whole of it as one table of phase and reply.

mod error;
mod own_node;
mod reaction;

use std::time::Duration;

pub use self::error::ContentionError;
use self::own_node::OwnNode;
pub use self::reaction::{AttemptIds, ContenderConfig, Reaction};
use super::event::Event;
use super::name::{Family, Mode, Name, prefix};
use super::order::{self, Decision, QueueError};
use super::record;
use crate::path::{LockPath, NodePath};
use crate::protocol::{LockNode, Node, ReadNode, Reply, Request, RequestError, ServerTime};

/// How often the parents may vanish between being created and being used: a container that is empty for a moment can be
/// reaped. More often than this isn't chance.
const MOST_PARENTS: u32 = 10;

/// How many creates in a row may lose their answer with a connection that the server closes. In a rolling restart a few do;
/// one that loses more makes the server close the connection.
const MOST_LOST_CREATES: u32 = 8;

/// A contender's state, which decides how it interprets the next reply.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
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
    Adopting(NodePath),
    /// Listing again.
    Listing,
    /// Behind other contenders: setting watches, and then asleep until one fires.
    Behind(Ahead),
    /// A node of this same session is ahead: it is deleted first.
    Clearing,
    /// Holds the lock.
    Holding,
    /// Nothing is left to do.
    Ended,
}

/// The contenders ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ahead {
    /// The names of those to watch, the nearest one first.
    watch: Vec<String>,
    /// Those of them that have no watch yet.
    unset: Vec<String>,
    /// The nearest one as it was read last.
    nearest: Option<Node>,
    /// How many are ahead, also of those that aren't watched.
    number: usize,
}

impl Ahead {
    fn watches(&self, name: &str) -> bool {
        self.watch.iter().any(|one| one == name)
    }

    /// Whether it is this node that is being read: to set its watch, or because another client wrote to it.
    fn reads(&self, name: &str) -> bool {
        self.watches(name) && (self.unset.is_empty() || self.unset.iter().any(|one| one == name))
    }

    fn is_nearest(&self, name: &str) -> bool {
        self.watch.first().is_some_and(|nearest| nearest == name)
    }
}

/// One contender for one lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    config: ContenderConfig,
    session: i64,
    /// The name of its node, without the number.
    prefix: String,
    own: Option<OwnNode>,
    parents_made: u32,
    lost_creates: u32,
    seen_busy: bool,
    phase: Phase,
}

impl Contender {
    /// A contender of the session with this id. It sends nothing before [`begin`](Self::begin).
    pub fn new(config: ContenderConfig, session: i64) -> Self {
        Self {
            config,
            session,
            prefix: String::new(),
            own: None,
            parents_made: 0,
            lost_creates: 0,
            seen_busy: false,
            phase: Phase::Ended,
        }
    }

    /// The lock.
    pub fn path(&self) -> &LockPath {
        &self.config.path
    }

    /// Its own node, once it is known.
    pub fn own(&self) -> Option<&LockNode> {
        self.own.as_ref().map(|own| &own.node)
    }

    /// The data that its node should have.
    pub fn data(&self) -> Vec<u8> {
        self.own.as_ref().map_or_else(|| self.config.data.clone(), |own| own.data(&self.config))
    }

    /// Whether another contender was ahead in any listing.
    pub fn seen_busy(&self) -> bool {
        self.seen_busy
    }

    /// Whether another client wrote to its node, possibly a request to give up the lock, and it hasn't been read yet.
    pub fn is_unread(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.unread)
    }

    /// Enters the queue; with `nonblock`, looks at the queue first.
    pub fn begin(&mut self) -> Reaction {
        if self.config.nonblock { self.go(Phase::Looking, self.list()) } else { self.enter() }
    }

    /// The connection is lost after a silence: the server didn't close it because of a create.
    pub fn lost_to_silence(&mut self) {
        self.lost_creates = 0;
    }

    /// Marks its node as stopped or running again.
    pub fn mark_stopped(&mut self, stopped: bool) -> Reaction {
        self.own_does(|own, config| own.mark_stopped(stopped, config))
    }

    /// Makes its node say how long after its creation the lock was acquired.
    pub fn record_held_since(&mut self, after: Duration) -> Reaction {
        self.own_does(|own, config| own.record_held_since(after, config))
    }

    /// Handles a reconnection of the session. The watches that were set ended with the old connection; unanswered
    /// requests are retried when their failure arrives.
    pub fn reconnected(&mut self) -> Reaction {
        let mut reaction = self.own_does(|own, _| own.reconnected());
        if let Phase::Behind(ahead) = &mut self.phase {
            let set = ahead.watch.iter().filter(|name| !ahead.unset.contains(name));
            reaction.requests.extend(set.map(|name| Request::Watch(self.config.path.child(name))));
            ahead.unset.clone_from(&ahead.watch);
        }
        reaction
    }

    /// Takes in a reply and returns the reaction.
    #[allow(clippy::too_many_lines, reason = "one table")]
    pub fn take(&mut self, reply: Reply) -> Reaction {
        // The caller learns of the session's end too, and ends this contender.
        if let Some(RequestError::Expired | RequestError::AuthFailed) = reply.failure() {
            return Reaction::default();
        }
        let own = self.own.as_ref().map(|own| own.node.path.clone());
        match (&mut self.phase, reply) {
            // Its own node, in any phase. If another client deletes or changes it, its watch reports that too.
            (_, Reply::Read(path, result)) if Some(&path) == own.as_ref() => self.own_read(result),
            (_, Reply::Changed(path, deleted)) if Some(&path) == own.as_ref() => {
                let reaction = self.own.as_mut().map_or(Ok(Reaction::default()), |own| own.changed(deleted));
                reaction.unwrap_or_else(|error| self.fail(error))
            }
            (_, Reply::Written(Err(RequestError::ConnectionLost))) => self.own_does(OwnNode::write),

            (_, Reply::Read(path, _) | Reply::Changed(path, _)) if !path.is_child_of(&self.config.path) => {
                Reaction::default()
            }

            (Phase::Looking, Reply::Listed(Ok(children))) => {
                match order::decide_as_next(&children, self.config.family, self.config.mode) {
                    Decision::Wait { holder, .. } => self.name_blocker(holder, None),
                    // Like a waiter, it ignores another kind of contender behind it.
                    Decision::Refuse(QueueError::OtherKind { node, theirs, ours }) => {
                        self.name_blocker(node.clone(), Some(QueueError::OtherKind { node, theirs, ours }))
                    }
                    Decision::Refuse(refusal) => self.fail(refusal.into()),
                    Decision::Hold | Decision::Gone => self.enter(),
                }
            }
            (Phase::Naming { node, refusal }, Reply::Read(path, result)) if node == path.name() => {
                match (result, refusal.take()) {
                    // A waiter would ignore it if it were behind, and only zklock's own number tells whether it is.
                    (Ok(read), _) if read.is_permanent() && own.is_none() => {
                        self.seen_busy = false;
                        self.enter()
                    }
                    (Ok(read), _) if read.is_permanent() => {
                        self.fail(ContentionError::NotEphemeral(path.to_string()))
                    }
                    (_, Some(refusal)) => self.fail(refusal.into()),
                    (result, None) => {
                        let holder = node.clone();
                        self.phase = Phase::Ended;
                        let (data, since) = shown(result.ok().and_then(ReadNode::into_seen));
                        Reaction::tell(Event::Busy { path: self.path().clone(), holder, data, since })
                    }
                }
            }

            (Phase::Entering { created }, Reply::Created(result)) => {
                *created = Some(result);
                Reaction::default()
            }
            (Phase::Entering { created }, Reply::Listed(listed)) => match created.take() {
                Some(Ok(created)) => {
                    let mut reaction = self.queued(created);
                    reaction.append(match listed {
                        Ok(children) => self.decide(&children),
                        Err(RequestError::ConnectionLost) => self.go(Phase::Listing, self.catch_up()),
                        Err(failure) => self.cannot_list(failure),
                    });
                    reaction
                }
                Some(Err(RequestError::NoNode)) => self.make_parents(),
                Some(Err(RequestError::ConnectionLost)) if self.loses_each_create() => {
                    self.fail(ContentionError::Closed("create its lock node"))
                }
                Some(Err(RequestError::ConnectionLost)) => self.go(Phase::Searching, self.catch_up()),
                Some(Err(failure)) => self.fail_of(failure, "queue", "CREATE"),
                // The create was throttled and sent again, so this listing doesn't contain the node.
                None => Reaction::ask(self.catch_up()),
            },
            (Phase::MakingParents, Reply::ParentsMade(result)) => match result {
                Ok(()) => {
                    self.parents_made += 1;
                    if self.parents_made == MOST_PARENTS {
                        return self.fail(ContentionError::ParentsVanish);
                    }
                    self.enter()
                }
                Err(RequestError::ConnectionLost) if self.loses_each_create() => {
                    self.fail(ContentionError::Closed("create the lock path"))
                }
                Err(RequestError::ConnectionLost) => self.make_parents(),
                Err(RequestError::NoNode) => self.fail(ContentionError::NoChroot(String::new())),
                Err(failure) => self.fail_of(failure, "make the lock path", "CREATE"),
            },

            (Phase::Searching, Reply::Listed(Ok(children))) => {
                let is_from =
                    |child: &&String| Name::parse(child).is_some_and(|name| name.is_from(&self.prefix));
                match children.iter().find(is_from).map(|found| self.config.path.child(found)) {
                    Some(found) => self.go(Phase::Adopting(found.clone()), Request::Watch(found)),
                    None => self.enter(),
                }
            }
            (Phase::Adopting(found), Reply::Read(path, result)) if *found == path => match result {
                Ok(ReadNode::Seen(node)) if node.owner == self.session => {
                    let mut reaction = self.queued(LockNode { path, czxid: node.czxid });
                    // Another client may have written to it before it was found.
                    reaction.append(self.own_read(Ok(ReadNode::Seen(node))));
                    reaction.append(self.list_again());
                    reaction
                }
                // zklock can't see whether it owns this node, and a second node would wait for this one.
                Ok(ReadNode::Hidden) => self.fail(ContentionError::OwnNodeHidden),
                // The node of an earlier session, which is about to be deleted. This session never adopts it.
                Ok(ReadNode::Seen(_)) | Err(RequestError::NoNode) => self.enter(),
                Err(RequestError::ConnectionLost) => self.go(Phase::Searching, self.catch_up()),
                Err(failure) => self.fail_of(failure, "read its own node", "READ"),
            },

            (Phase::Listing, Reply::Listed(Ok(children))) => self.decide(&children),
            (Phase::Looking | Phase::Searching, Reply::Listed(Err(RequestError::NoNode))) => self.enter(),
            (Phase::Looking | Phase::Searching | Phase::Listing, Reply::Listed(Err(failure))) => {
                match failure {
                    RequestError::ConnectionLost => Reaction::ask(self.catch_up()),
                    failure => self.cannot_list(failure),
                }
            }

            (Phase::Behind(ahead), Reply::Read(path, result)) if ahead.reads(path.name()) => match result {
                Ok(ReadNode::Seen(node)) if node.owner == self.session => {
                    self.go(Phase::Clearing, Request::Delete(path))
                }
                Ok(node) if node.is_permanent() => self.fail(ContentionError::NotEphemeral(path.to_string())),
                // It got its slot before the watch was set: the listing that put this contender behind it is older than
                // that.
                Ok(node)
                    if ahead.is_nearest(path.name())
                        && may_get_a_slot(self.config.mode, ahead)
                        && record::has_slot(node.data()) =>
                {
                    self.go(Phase::Listing, self.catch_up())
                }
                Ok(node) => self.watched(path.name(), node),
                Err(RequestError::NoNode) => self.list_again(),
                Err(RequestError::ConnectionLost) => Reaction::ask(Request::Watch(path)),
                Err(failure) => self.fail_of(failure, "watch the contender ahead", "READ"),
            },
            // New data doesn't move the queue, except when a predecessor announces its slot.
            (Phase::Behind(ahead), Reply::Changed(path, false))
                if ahead.watches(path.name())
                    && ahead.unset.is_empty()
                    && !may_get_a_slot(self.config.mode, ahead) =>
            {
                Reaction::ask(Request::Watch(path))
            }
            // Only this node was ahead, and no node can enter in between, so no second listing is needed. That requires
            // that its own node still exists and that events arrive in order. With several slots, a release can let in
            // more than one waiter; and a Curator writer that steps down leaves a reader with its number.
            (Phase::Behind(ahead), Reply::Changed(path, true))
                if ahead.watches(path.name())
                    && ahead.unset.is_empty()
                    && ahead.number == 1
                    && !matches!(self.config.mode, Mode::Slots(2..))
                    && self.config.family != Family::CuratorRw
                    && self.own.as_ref().is_some_and(|own| own.watched) =>
            {
                self.hold()
            }
            (Phase::Behind(ahead), Reply::Changed(path, _)) if ahead.watches(path.name()) => {
                self.list_again()
            }

            (Phase::Clearing, Reply::Deleted(_)) => self.list_again(),
            _ => Reaction::default(),
        }
    }

    /// What a listing means that its own node must be in.
    fn decide(&mut self, children: &[String]) -> Reaction {
        let Some(own) = self.own().map(|own| own.path.name()) else {
            debug_assert!(false, "nothing is decided before its own node is known");
            return self.fail(ContentionError::Deleted);
        };
        match order::decide(children, own) {
            Decision::Hold => {
                // Contenders that entered before this listing may have read the node without a slot, even if this one
                // never waited. Later contenders read what it says now.
                let tells =
                    matches!(self.config.mode, Mode::Slots(2..)) && order::anybody_behind(children, own);
                let mut reaction = self.hold();
                if tells {
                    reaction.append(self.own_does(OwnNode::announce_slot));
                }
                reaction
            }
            Decision::Wait { holder, .. } if self.config.nonblock => self.name_blocker(holder, None),
            Decision::Wait { watch, ahead, .. } => {
                self.seen_busy = true;
                let mut reaction = self.own_does(|own, _| own.watch());
                reaction.requests.extend(watch.iter().map(|name| Request::Watch(self.path().child(name))));
                self.phase =
                    Phase::Behind(Ahead { unset: watch.clone(), watch, nearest: None, number: ahead });
                reaction
            }
            Decision::Gone => self.fail(ContentionError::Deleted),
            Decision::Refuse(refusal) => self.fail(refusal.into()),
        }
    }

    /// A node ahead was read, and is watched now. Says who is ahead once all are.
    fn watched(&mut self, name: &str, node: ReadNode) -> Reaction {
        let Phase::Behind(ahead) = &mut self.phase else { return Reaction::default() };
        let had_all = ahead.unset.is_empty();
        ahead.unset.retain(|one| one != name);
        let is_nearest = ahead.is_nearest(name);
        if is_nearest {
            ahead.nearest = node.into_seen();
        }
        let Some(predecessor) = ahead.watch.first().cloned() else { return Reaction::default() };
        if !ahead.unset.is_empty() || (had_all && !is_nearest) {
            return Reaction::default();
        }
        let ((data, since), ahead) = (shown(ahead.nearest.take()), ahead.number);
        Reaction::tell(Event::Waiting { path: self.path().clone(), predecessor, data, since, ahead })
    }

    fn hold(&mut self) -> Reaction {
        self.phase = Phase::Holding;
        let mut reaction = self.own_does(|own, _| own.watch());
        reaction.events.push(Event::Held(self.path().clone()));
        reaction
    }

    fn enter(&mut self) -> Reaction {
        // A new uuid for each attempt, so that a node left by an earlier attempt isn't taken for this one's.
        self.prefix = prefix(self.config.family, self.config.mode, self.config.ids.next());
        let create =
            Request::Create { path: self.path().child(&self.prefix), data: self.config.data.clone() };
        self.phase = Phase::Entering { created: None };
        // Requests of a session are served in order, so the listing contains the node.
        Reaction { requests: vec![create, self.list()], events: vec![] }
    }

    fn queued(&mut self, node: LockNode) -> Reaction {
        self.own = Some(OwnNode::new(node.clone()));
        Reaction::tell(Event::Queued(self.path().clone(), node))
    }

    /// With `nonblock`: reads the node in the way, before the lock counts as busy or the queue as refused.
    fn name_blocker(&mut self, node: String, refusal: Option<QueueError>) -> Reaction {
        self.seen_busy = refusal.is_none();
        let watch = Request::Watch(self.path().child(&node));
        self.go(Phase::Naming { node, refusal }, watch)
    }

    fn make_parents(&mut self) -> Reaction {
        self.go(Phase::MakingParents, Request::MakeParents(self.path().node()))
    }

    /// Counts a create whose answer was lost with the connection. Returns whether there were too many for chance.
    fn loses_each_create(&mut self) -> bool {
        self.lost_creates += 1;
        self.lost_creates == MOST_LOST_CREATES
    }

    fn own_does(&mut self, act: impl FnOnce(&mut OwnNode, &ContenderConfig) -> Reaction) -> Reaction {
        self.own.as_mut().map(|own| act(own, &self.config)).unwrap_or_default()
    }

    fn own_read(&mut self, result: Result<ReadNode, RequestError>) -> Reaction {
        let Some(own) = &mut self.own else { return Reaction::default() };
        own.read(result, self.session, &self.config).unwrap_or_else(|error| self.fail(error))
    }

    fn list_again(&mut self) -> Reaction {
        self.go(Phase::Listing, self.list())
    }

    fn list(&self) -> Request {
        Request::List(self.path().node())
    }

    /// After a gap in the connection the server may lag behind what this client has already seen.
    fn catch_up(&self) -> Request {
        Request::CatchUpAndList(self.path().node())
    }

    fn go(&mut self, phase: Phase, request: Request) -> Reaction {
        self.phase = phase;
        Reaction::ask(request)
    }

    fn fail(&mut self, error: ContentionError) -> Reaction {
        self.phase = Phase::Ended;
        Reaction::tell(Event::Failed(self.path().clone(), error))
    }

    fn fail_of(&mut self, failure: RequestError, action: &'static str, permission: &'static str) -> Reaction {
        self.fail(ContentionError::of(failure, action, permission, &self.config.path))
    }

    fn cannot_list(&mut self, failure: RequestError) -> Reaction {
        match failure {
            RequestError::NoNode => self.fail(ContentionError::Deleted),
            failure => self.fail_of(failure, "see the queue", "READ"),
        }
    }
}

/// What a message shows of a node; no data and no time if it is hidden.
fn shown(node: Option<Node>) -> (Vec<u8>, ServerTime) {
    node.map_or((vec![], ServerTime(0)), |node| (node.data, node.created))
}

/// Whether the watched node is a predecessor that waits for one of several slots too. The first waiter watches the
/// holders of all slots instead.
fn may_get_a_slot(mode: Mode, ahead: &Ahead) -> bool {
    matches!(mode, Mode::Slots(2..)) && ahead.watch.len() == 1
}

#[cfg(test)]
mod tests;
