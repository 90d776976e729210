//! One contender for one lock, as a state machine: replies in, requests and news out. Pure.
//!
//! The recipe is ZooKeeper's own: create an ephemeral sequential node, list the children, watch the predecessor. The
//! rest handles a lost reply, a lost node, and the order of events across a reconnection.

mod around;
mod error;
mod inspection;
mod step;

use std::time::Duration;

use self::around::Around;
pub use self::error::ContentionError;
use self::error::{cannot_list, trouble};
pub use self::inspection::{Inspection, InspectionResult};
pub use self::step::{Entry, Ids, News, OwnNode, Step};
use super::name::{Family, Mode, Name, prefix};
use super::queue::{self, Decision};
use super::record::{self, Record};
use crate::core::path::{LockPath, NodePath};
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::{Created, Failure, Node, Reply, Request, ServerTime};

/// How often the parents may vanish between being created and being used: a container that is empty for a moment can be
/// reaped. More often than this isn't chance.
const MOST_ENTRIES: u32 = 10;

/// A contender's state, which decides how it interprets the next reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ContenderPhase {
    /// With `nonblock`: the queue is listed first, and nothing is created yet.
    Looking,
    /// With `nonblock` and a busy lock: reading the holder's node.
    Naming(String),
    /// Create and list are in flight together.
    Entering { created: Option<Result<Created, Failure>> },
    /// The lock path doesn't exist yet.
    MakingParents,
    /// The reply to the create was lost: checking whether the node exists.
    Searching,
    /// A node with this contender's uuid exists: checking whether this session owns it.
    Adopting(String),
    /// Listing again.
    Listing,
    /// The listing has names of other recipes: checking whether their owners are alive.
    Inspecting(Inspection),
    /// Setting the watches on the nodes in the way. `unset` have no watch yet, and `nearest` is the data of the nearest
    /// one.
    Approaching {
        watch: Vec<String>,
        unset: Vec<String>,
        nearest: Option<Node>,
        ahead: usize,
        holder: String,
    },
    /// Asleep until a watch fires. `sole`: once that node is gone, this contender holds the lock.
    Waiting { watch: Vec<String>, ahead: usize, holder: String, sole: bool },
    /// A node of this same session is ahead: it is deleted first.
    Clearing,
    /// Holds the lock.
    Holding,
    /// Nothing is left to do.
    Ended,
}

/// One contender for one lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Contender {
    entry: Entry,
    session: i64,
    prefix: String,
    own: Option<OwnNode>,
    own_watched: bool,
    /// Another client wrote to zklock's node, and zklock hasn't read it yet.
    own_unread: bool,
    own_version: i32,
    says: Says,
    entries: u32,
    seen_busy: bool,
    /// Other recipes on the path were checked just before this listing.
    inspected: bool,
    around: Around,
    phase: ContenderPhase,
}

/// The content of zklock's node beyond the data it was created with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Says {
    has_slot: bool,
    stopped: bool,
    /// How long after it was made the lock was ours.
    held_after: Option<Duration>,
    /// The node may not have this content yet.
    unsaid: bool,
}

impl Contender {
    /// A contender of the session with this id. It sends nothing before [`begin`](Self::begin).
    pub fn new(entry: Entry, session: i64) -> Self {
        let phase = ContenderPhase::Ended;
        Self {
            entry,
            session,
            prefix: String::new(),
            own: None,
            own_watched: false,
            own_unread: false,
            own_version: 0,
            says: Says::default(),
            entries: 0,
            seen_busy: false,
            inspected: false,
            around: Around::default(),
            phase,
        }
    }

    /// The lock.
    pub fn path(&self) -> &LockPath {
        &self.entry.path
    }

    /// Its own node, once it is known.
    pub fn own(&self) -> Option<&OwnNode> {
        self.own.as_ref()
    }

    /// The data that its node should have.
    pub fn data(&self) -> Vec<u8> {
        let data = if self.says.has_slot { &self.entry.data_with_slot } else { &self.entry.data };
        let Says { stopped, held_after, .. } = self.says;
        if !stopped && held_after.is_none() {
            return data.clone();
        }
        let held_after_ms = held_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        let with_more = |record| Record { stopped, held_after_ms, ..record }.to_bytes();
        Record::from_bytes(data).map_or_else(|| data.clone(), with_more)
    }

    /// Marks its node as stopped or running again.
    pub fn mark_stopped(&mut self, stopped: bool) -> Step {
        self.says.stopped = stopped;
        self.say()
    }

    /// Has a holder look for programs that came after it and don't wait for it: [`News::Neighbour`].
    pub fn look_around(&mut self) -> Step {
        let requests = if self.holds() { self.around.begin(&self.entry.path) } else { vec![] };
        Step { requests, news: vec![] }
    }

    fn seen_around(&mut self, reply: Reply) -> Step {
        match self.around.take(&self.entry.path, self.entry.family, reply) {
            Ok(requests) => Step { requests, news: vec![] },
            Err(refusal) => Step { requests: vec![], news: vec![News::Neighbour(refusal)] },
        }
    }

    /// Has our node say how long after it was made the lock was ours.
    pub fn tell_held(&mut self, after: Duration) -> Step {
        if planted(Mistake::SlotUntold) && matches!(self.entry.mode, Mode::Slots(2..)) {
            return Step::default();
        }
        self.says.held_after = Some(after);
        self.say()
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
        if self.entry.nonblock { self.go(ContenderPhase::Looking, self.list()) } else { self.enter() }
    }

    /// Handles a reconnection of the session. The watches that were set ended with the old connection; unanswered
    /// requests are retried when their failure arrives.
    pub fn reconnected(&mut self) -> Step {
        let mut step = Step::default();
        if planted(Mistake::DeafAfterGap) {
            return step;
        }
        if std::mem::take(&mut self.own_watched) {
            step.append(self.watch_own());
        }
        let path = self.entry.path.clone();
        let again = |names: &[String]| names.iter().map(|name| Request::Watch(path.child(name))).collect();
        match &mut self.phase {
            ContenderPhase::Waiting { watch, ahead, holder, .. } => {
                let (watch, holder) = (std::mem::take(watch), std::mem::take(holder));
                step.requests.extend::<Vec<_>>(again(&watch));
                let unset = watch.clone();
                self.phase =
                    ContenderPhase::Approaching { watch, unset, nearest: None, ahead: *ahead, holder };
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
            Reply::Created(Err(Failure::Expired | Failure::AuthFailed))
            | Reply::Listed(Err(Failure::Expired | Failure::AuthFailed))
            | Reply::Read(_, Err(Failure::Expired | Failure::AuthFailed))
            | Reply::ParentsMade(Err(Failure::Expired | Failure::AuthFailed)) => Step::default(),
            Reply::Created(result) => self.created(result),
            Reply::ParentsMade(result) => self.parents_made(result),
            Reply::Listed(result) => self.listed(result),
            Reply::Read(path, result) if self.is_own(&path) => self.own_read(&result),
            Reply::Read(path, result) => self.other_read(&path, result),
            Reply::Changed(path, deleted) if self.is_own(&path) => self.own_changed(deleted),
            Reply::Changed(path, deleted) => self.other_changed(&path, deleted),
            Reply::Deleted(_) if matches!(self.phase, ContenderPhase::Clearing) => self.list_again(),
            Reply::Written(Err(Failure::ConnectionLost)) => self.say(),
            // If its node was deleted or changed by another client, the watch on it reports that too.
            Reply::Written(_)
            | Reply::Deleted(_)
            | Reply::Confirmed(..)
            | Reply::Watching(_)
            | Reply::Concluded(_) => Step::default(),
        }
    }

    fn enter(&mut self) -> Step {
        if self.entries == MOST_ENTRIES {
            return self.fail(ContentionError::ParentsVanish);
        }
        self.entries += 1;
        // A new uuid for each attempt, so that a node left by an earlier attempt isn't taken for this one's.
        self.prefix = prefix(self.entry.family, self.entry.mode, self.entry.ids.next());
        let parent = self.path().node();
        let create = Request::Create { parent, prefix: self.prefix.clone(), data: self.entry.data.clone() };
        let list = self.list();
        self.phase = ContenderPhase::Entering { created: None };
        // Requests of a session are served in order, so the listing contains the node.
        Step { requests: vec![create, list], news: vec![] }
    }

    fn created(&mut self, result: Result<Created, Failure>) -> Step {
        if let ContenderPhase::Entering { created } = &mut self.phase {
            *created = Some(result);
        }
        Step::default()
    }

    fn parents_made(&mut self, result: Result<(), Failure>) -> Step {
        match result {
            Ok(()) => self.enter(),
            Err(Failure::ConnectionLost) => self.make_parents(),
            Err(Failure::NoNode) => self.fail(ContentionError::NoChroot),
            Err(failure) => self.fail(trouble(failure, "make the lock path", "CREATE", &self.entry.path)),
        }
    }

    fn make_parents(&mut self) -> Step {
        self.go(ContenderPhase::MakingParents, Request::MakeParents(self.path().node()))
    }

    fn listed(&mut self, result: Result<Vec<String>, Failure>) -> Step {
        match (&mut self.phase, result) {
            (ContenderPhase::Inspecting(_), result) => self.inspect(Reply::Listed(result)),
            (ContenderPhase::Holding, result) => self.seen_around(Reply::Listed(result)),
            (ContenderPhase::Looking, Ok(children)) => {
                if let Some(step) = self.must_inspect(&children) {
                    return step;
                }
                match queue::look(&children, self.entry.family, self.entry.mode) {
                    Decision::Wait { holder, .. } => self.busy(holder),
                    Decision::Refuse(refusal) => self.fail(refusal.into()),
                    Decision::Hold | Decision::Gone => self.enter(),
                }
            }
            (ContenderPhase::Looking | ContenderPhase::Searching, Err(Failure::NoNode)) => self.enter(),
            (ContenderPhase::Entering { created }, result) => match created.take() {
                Some(created) => self.entered(created, result),
                // The create was throttled and sent again, so this listing doesn't contain the node.
                None => self.ask(self.catch_up()),
            },
            (ContenderPhase::Searching, Ok(children)) => {
                match children
                    .iter()
                    .find(|child| Name::parse(child).is_some_and(|name| name.is_from(&self.prefix)))
                {
                    Some(found) => self.go(
                        ContenderPhase::Adopting(found.clone()),
                        Request::Watch(self.path().child(found)),
                    ),
                    None => self.enter(),
                }
            }
            (ContenderPhase::Listing, Ok(children)) => self.decide(&children),
            (
                ContenderPhase::Looking | ContenderPhase::Searching | ContenderPhase::Listing,
                Err(Failure::ConnectionLost),
            ) => self.ask(self.catch_up()),
            (ContenderPhase::Looking | ContenderPhase::Searching | ContenderPhase::Listing, Err(failure)) => {
                self.fail(cannot_list(failure, &self.entry.path))
            }
            _ => Step::default(),
        }
    }

    /// Handles the answers to both create and list.
    fn entered(&mut self, created: Result<Created, Failure>, listed: Result<Vec<String>, Failure>) -> Step {
        let created = match created {
            Ok(created) => created,
            Err(Failure::NoNode) => return self.make_parents(),
            Err(Failure::ConnectionLost) if planted(Mistake::CreateAgain) => return self.enter(),
            Err(Failure::ConnectionLost) => return self.go(ContenderPhase::Searching, self.catch_up()),
            Err(failure) => return self.fail(trouble(failure, "queue", "CREATE", &self.entry.path)),
        };
        let mut step = self.queued(&created.name, created.czxid, created.created);
        step.append(match listed {
            Ok(children) => self.decide(&children),
            Err(Failure::ConnectionLost) => self.go(ContenderPhase::Listing, self.catch_up()),
            Err(failure) => self.fail(cannot_list(failure, &self.entry.path)),
        });
        step
    }

    fn queued(&mut self, name: &str, fencing_token: i64, created: ServerTime) -> Step {
        let own = OwnNode { path: self.path().child(name), fencing_token, created };
        self.own = Some(own.clone());
        Step { requests: vec![], news: vec![News::Queued(own)] }
    }

    /// The step that checks other recipes on the path, if these children show any. The queue is listed again
    /// afterwards, because it may have changed meanwhile.
    fn must_inspect(&mut self, children: &[String]) -> Option<Step> {
        if std::mem::take(&mut self.inspected) {
            return None;
        }
        let mut inspection = Inspection::of(children)?;
        let finding = inspection.begin(&self.entry.path);
        self.phase = ContenderPhase::Inspecting(inspection);
        Some(self.found(finding))
    }

    fn inspect(&mut self, reply: Reply) -> Step {
        let ContenderPhase::Inspecting(inspection) = &mut self.phase else { return Step::default() };
        let finding = inspection.take(&self.entry.path, reply);
        self.found(finding)
    }

    fn found(&mut self, finding: InspectionResult) -> Step {
        match finding {
            InspectionResult::Ask(requests) => Step { requests, news: vec![] },
            InspectionResult::Fail(trouble) => self.fail(trouble),
            InspectionResult::Clean => {
                self.inspected = true;
                self.go(
                    if self.own.is_none() { ContenderPhase::Looking } else { ContenderPhase::Listing },
                    self.list(),
                )
            }
        }
    }

    fn decide(&mut self, children: &[String]) -> Step {
        if let Some(step) = self.must_inspect(children) {
            return step;
        }
        let Some(own) = self.own.as_ref().map(|own| own.path.name()) else {
            debug_assert!(false, "nothing is decided before its own node is known");
            return self.fail(ContentionError::Deleted);
        };
        match queue::decide(children, own) {
            Decision::Hold => {
                // Contenders that entered before this listing may have read the node without a slot, even if this one
                // never waited. Later contenders read what it says now.
                let is_to_be_told = queue::anybody_behind(children, own);
                let told = if is_to_be_told { self.announce_slot() } else { Step::default() };
                let mut step = self.hold();
                step.append(told);
                step
            }
            Decision::Wait { holder, .. } if self.entry.nonblock => self.busy(holder),
            Decision::Wait { watch, ahead, holder } => {
                self.seen_busy = true;
                let mut step = self.watch_own();
                step.requests.extend(watch.iter().map(|name| Request::Watch(self.path().child(name))));
                self.phase =
                    ContenderPhase::Approaching { unset: watch.clone(), watch, nearest: None, ahead, holder };
                step
            }
            Decision::Gone => self.fail(ContentionError::Deleted),
            Decision::Refuse(refusal) => self.fail(refusal.into()),
        }
    }

    fn hold(&mut self) -> Step {
        self.phase = ContenderPhase::Holding;
        let mut step = self.watch_own();
        step.news.push(News::Held);
        step
    }

    /// The contenders behind watch only this node. Its slot makes the next of them the first waiter for another slot.
    fn announce_slot(&mut self) -> Step {
        if !matches!(self.entry.mode, Mode::Slots(2..)) || planted(Mistake::SlotUntold) {
            return Step::default();
        }
        self.says.has_slot = true;
        self.say()
    }

    /// Writes its node's data, unless another client has changed the node since it was read: that would overwrite a
    /// mark that asks zklock to give up the lock. In that case the write is retried after the node has been read.
    fn say(&mut self) -> Step {
        let Some(own) = &self.own else { return Step::default() };
        self.says.unsaid = true;
        self.ask(Request::Write(own.path.clone(), self.data(), self.own_version))
    }

    /// Watches its own node from the start. If another client deletes the node, the waiters behind move up, and an old
    /// listing would let this contender run at the same time as they do.
    fn watch_own(&mut self) -> Step {
        match &self.own {
            Some(own) if !self.own_watched => self.ask(Request::Watch(own.path.clone())),
            _ => Step::default(),
        }
    }

    fn own_read(&mut self, result: &Result<Node, Failure>) -> Step {
        let expected = self.own.as_ref().map(|own| own.fencing_token);
        match result {
            Ok(node) if node.owner == self.session && Some(node.czxid) == expected => {
                (self.own_watched, self.own_unread) = (true, false);
                self.own_version = node.version;
                let revoked = record::revocation(&node.data).filter(|_| !planted(Mistake::RevokeIgnored));
                if let Some(by) = revoked {
                    return Step { requests: vec![], news: vec![News::Revoked(by)] };
                }
                self.says.unsaid &= node.data != self.data();
                if self.says.unsaid { self.say() } else { Step::default() }
            }
            Ok(node) if node.is_hidden() => self.fail(ContentionError::OwnNodeHidden),
            Ok(_) | Err(Failure::NoNode) => self.fail(ContentionError::Deleted),
            Err(Failure::ConnectionLost) => self.watch_own(),
            Err(failure) => {
                self.fail(trouble(failure.clone(), "read its own node", "READ", &self.entry.path))
            }
        }
    }

    fn own_changed(&mut self, deleted: bool) -> Step {
        (self.own_watched, self.own_unread) = (false, true);
        if deleted { self.fail(ContentionError::Deleted) } else { self.watch_own() }
    }

    /// The answer about the predecessor, or about a node that may be its own.
    fn other_read(&mut self, path: &NodePath, result: Result<Node, Failure>) -> Step {
        match &self.phase {
            ContenderPhase::Inspecting(_) => self.inspect(Reply::Read(path.clone(), result)),
            ContenderPhase::Holding => self.seen_around(Reply::Read(path.clone(), result)),
            ContenderPhase::Adopting(name) if self.path().child(name) == *path => match result {
                Ok(node) if node.owner == self.session => {
                    let mut step = self.queued(&name.clone(), node.czxid, node.created);
                    self.own_watched = true;
                    step.append(self.list_again());
                    step
                }
                // zklock can't see whether it owns this node, and a second node would wait for this one.
                Ok(node) if node.is_hidden() => self.fail(ContentionError::OwnNodeHidden),
                // The node of an earlier session, which is about to be deleted. This session never adopts it.
                Ok(_) | Err(Failure::NoNode) => self.enter(),
                Err(Failure::ConnectionLost) => self.go(ContenderPhase::Searching, self.catch_up()),
                Err(failure) => self.fail(trouble(failure, "read its own node", "READ", &self.entry.path)),
            },
            ContenderPhase::Approaching { unset, .. }
                if unset.iter().any(|name| self.path().child(name) == *path) =>
            {
                self.approached(path, result)
            }
            ContenderPhase::Waiting { watch, .. }
                if watch.iter().any(|name| self.path().child(name) == *path) =>
            {
                self.read_again(path, result)
            }
            ContenderPhase::Naming(holder) if self.path().child(holder) == *path => {
                if result.as_ref().is_ok_and(Node::is_permanent) {
                    return self.fail(ContentionError::NotEphemeral(path.to_string()));
                }
                let data = result.map(|node| node.data).unwrap_or_default();
                let news = vec![News::Busy { holder: holder.clone(), data }];
                self.phase = ContenderPhase::Ended;
                Step { requests: vec![], news }
            }
            _ => Step::default(),
        }
    }

    /// The answer about a node in the way.
    fn approached(&mut self, path: &NodePath, result: Result<Node, Failure>) -> Step {
        let node = match result {
            Ok(node) if node.owner == self.session && !planted(Mistake::CreateAgain) => {
                return self.go(ContenderPhase::Clearing, Request::Delete(path.clone()));
            }
            Ok(node) if node.is_hidden() && planted(Mistake::HiddenIsGone) => return self.hold(),
            Ok(node) if node.is_permanent() => {
                return self.fail(ContentionError::NotEphemeral(path.to_string()));
            }
            Ok(node) => node,
            Err(failure) => return self.not_watched(path, failure),
        };
        let parent = self.entry.path.clone();
        let ContenderPhase::Approaching { watch, unset, nearest, ahead, holder } = &mut self.phase else {
            return Step::default();
        };
        unset.retain(|name| parent.child(name) != *path);
        let Some(predecessor) = watch.first().cloned() else {
            debug_assert!(false, "a waiter watches at least one node");
            return self.list_again();
        };
        if parent.child(&predecessor) == *path {
            // It got its slot before the watch was set: the listing that put this contender behind it is older than
            // that.
            if may_get_a_slot(self.entry.mode, watch) && record::has_slot(&node.data) {
                return self.go(ContenderPhase::Listing, self.catch_up());
            }
            *nearest = Some(node);
        }
        if !unset.is_empty() {
            return Step::default();
        }
        let (data, since) = nearest.take().map_or((vec![], ServerTime(0)), |node| (node.data, node.created));
        let news = News::Waiting { predecessor, data, since, ahead: *ahead, holder: holder.clone() };
        // With several slots, a release can let in more than one waiter; and a Curator writer that steps down leaves a
        // reader with its number. Both need another listing.
        let simple = !matches!(self.entry.mode, Mode::Slots(2..)) && self.entry.family != Family::CuratorRw;
        let (watch, holder) = (std::mem::take(watch), std::mem::take(holder));
        self.phase = ContenderPhase::Waiting { watch, ahead: *ahead, holder, sole: *ahead == 1 && simple };
        Step { requests: vec![], news: vec![news] }
    }

    /// The answer about a node in the way that was written to while we waited. It is watched again.
    fn read_again(&mut self, path: &NodePath, result: Result<Node, Failure>) -> Step {
        let node = match result {
            Ok(node) => node,
            Err(failure) => return self.not_watched(path, failure),
        };
        let ContenderPhase::Waiting { watch, ahead, holder, .. } = &self.phase else {
            return Step::default();
        };
        let Some(predecessor) = watch.first().filter(|name| self.path().child(name) == *path) else {
            return Step::default();
        };
        let (predecessor, ahead, holder) = (predecessor.clone(), *ahead, holder.clone());
        let news = News::Waiting { predecessor, data: node.data, since: node.created, ahead, holder };
        Step { requests: vec![], news: vec![news] }
    }

    /// A node in the way could not be read, and isn't watched.
    fn not_watched(&mut self, path: &NodePath, failure: Failure) -> Step {
        match failure {
            Failure::NoNode => self.list_again(),
            Failure::ConnectionLost => self.ask(Request::Watch(path.clone())),
            failure => self.fail(trouble(failure, "watch the contender ahead", "READ", &self.entry.path)),
        }
    }

    fn other_changed(&mut self, path: &NodePath, deleted: bool) -> Step {
        match &self.phase {
            // New data moves nobody in the queue, but for a predecessor that tells of its slot.
            ContenderPhase::Waiting { watch, .. }
                if !deleted
                    && watch.iter().any(|name| self.path().child(name) == *path)
                    && !may_get_a_slot(self.entry.mode, watch) =>
            {
                self.ask(Request::Watch(path.clone()))
            }
            ContenderPhase::Waiting { watch, sole, .. }
                if watch.iter().any(|name| self.path().child(name) == *path) =>
            {
                // Only this node was ahead, and no node can enter in between, so no second listing is needed. That
                // requires that its own node still exists and that events arrive in order.
                let sole = *sole && self.own_watched || planted(Mistake::PredecessorIsAll);
                if deleted && sole { self.hold() } else { self.list_again() }
            }
            // One of several nodes is gone before all watches are set: the listing is out of date.
            ContenderPhase::Approaching { watch, .. }
                if watch.iter().any(|name| self.path().child(name) == *path) =>
            {
                self.list_again()
            }
            _ => Step::default(),
        }
    }

    fn busy(&mut self, holder: String) -> Step {
        self.seen_busy = true;
        let watch = Request::Watch(self.path().child(&holder));
        self.go(ContenderPhase::Naming(holder), watch)
    }

    fn fail(&mut self, trouble: ContentionError) -> Step {
        self.phase = ContenderPhase::Ended;
        Step { requests: vec![], news: vec![News::Failed(trouble)] }
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
        Step { requests: vec![request], news: vec![] }
    }

    fn is_own(&self, path: &NodePath) -> bool {
        self.own.as_ref().is_some_and(|own| own.path == *path)
    }
}

/// Whether the nodes that a waiter watches are those of a predecessor that waits for one of several slots too. A waiter
/// behind the holders of all slots watches each of them.
fn may_get_a_slot(mode: Mode, watch: &[String]) -> bool {
    matches!(mode, Mode::Slots(2..)) && watch.len() == 1
}

#[cfg(test)]
mod tests;
