//! The steps of a request.

use super::call::{Call, CallAnswer, CallError, NodeKind, Refusal};
use crate::path::NodePath;
use crate::protocol::{LockNode, ReadNode, Reply, Request, RequestError};
use crate::time::BootTime;

/// A step of a request: what is under way for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    request: Request,
    doing: Doing,
    /// Whether the ACL of new nodes might hide them from zklock.
    may_hide: bool,
    /// Just before the first call was sent.
    sent: BootTime,
}

/// The call that is under way for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Doing {
    /// The request's own call.
    First,
    /// Checks that the ACL lets zklock read the node that it has created. Otherwise it could hold the lock and never
    /// confirm that.
    See(LockNode),
    /// Creates the node of the path that ends here: of the last node first, and of those above it only if they are
    /// missing.
    Parent(usize),
    /// Lists after a sync. Both are sent together, and both are sent again if the sync is throttled, because a list from
    /// before the sync proves nothing.
    List,
    /// A server reveals nothing about a node that zklock may not read, not even to a watch set by `exists` (since
    /// CVE-2024-23944). The children of the lock path are watched instead, which wakes zklock more often than necessary.
    WatchFromAbove,
    /// Reads the part of a node that needs no permission; since ZooKeeper 3.9 that is only its existence.
    GetStat,
    /// Creates the record that is missing. If another client creates or deletes it at the same time, the transaction is
    /// tried again.
    CreateRecord,
    /// Tries without the write, which shows the server's time.
    TryUnwritten,
}

/// What follows an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowUp {
    Reply(Reply),
    /// The same, and the call has set a watch for this path.
    Watching(Reply, NodePath),
    Send(Step),
    /// Send the step after a pause: the server throttles.
    SendLater(Step),
    /// The answer to the [second](Step::second) step decides, which was sent with this one.
    Second(Step),
}

impl Step {
    /// The first step of a request, which is `sent` now. Nodes are created with an ACL that `may_hide` them from zklock or
    /// not.
    pub fn first(request: Request, may_hide: bool, sent: BootTime) -> Self {
        Self { request, doing: Doing::First, may_hide, sent }
    }

    fn to(&self, doing: Doing) -> Self {
        Self { doing, ..self.clone() }
    }

    fn send(&self, doing: Doing) -> FollowUp {
        FollowUp::Send(self.to(doing))
    }

    /// The step whose call is sent with this one's.
    pub fn second(&self) -> Option<Self> {
        let syncs = matches!((&self.request, &self.doing), (Request::CatchUpAndList(_), Doing::First));
        syncs.then(|| self.to(Doing::List))
    }

    /// The call of this step.
    pub fn call(&self) -> Call<'_> {
        let create = |path, kind| Call::Create { path: self.node(path), data: &[], kind };
        match (&self.request, &self.doing) {
            (_, Doing::See(created)) => Call::GetData { path: created.path.as_str(), watch: false },
            (Request::Create { path, data }, _) => {
                Call::Create { path: path.as_str(), data, kind: NodeKind::EphemeralSequential }
            }
            (Request::MakeParents(path), _) => create(path, NodeKind::Container),
            (Request::CreatePersistent(path), _) => create(path, NodeKind::Persistent),
            (Request::CatchUpAndList(path), Doing::First) => Call::Sync { path: path.as_str() },
            (Request::List(path) | Request::CatchUpAndList(path), _) => {
                Call::GetChildren { path: path.as_str(), watch: false }
            }
            (Request::Watch(path), Doing::WatchFromAbove) => {
                Call::GetChildren { path: path.split().0, watch: true }
            }
            // Not by `exists`, which would leave a watch on a missing node that is never freed.
            (Request::Watch(path), _) => Call::GetData { path: path.as_str(), watch: true },
            (Request::Get(path), Doing::GetStat) => Call::Exists { path: path.as_str() },
            (Request::Get(path), _) => Call::GetData { path: path.as_str(), watch: false },
            (Request::Write(path, data, version), _) => {
                Call::SetData { path: path.as_str(), data, version: *version }
            }
            (Request::Delete(path), _) => Call::Delete { path: path.as_str(), version: None },
            (Request::DeleteUnchanged(path, version), _) => {
                Call::Delete { path: path.as_str(), version: Some(*version) }
            }
            (Request::RecordSuccess { record, data, node }, doing) => {
                let exists = *doing != Doing::CreateRecord;
                Call::Record { record: record.as_str(), data, exists, node: node.as_str() }
            }
            // The quorum commits a transaction of checks like any write, and it wakes no waiter. Reads and pings would be
            // answered even by a partitioned follower, and `sync` by an isolated leader.
            (Request::Confirm(paths), _) => Call::Check { paths },
            (Request::Try(nodes, data), doing) => {
                Call::Try { nodes, data, writes: *doing != Doing::TryUnwritten }
            }
        }
    }

    /// What follows from the answer to the step's call.
    pub fn answered(self, answer: Result<CallAnswer, CallError>) -> FollowUp {
        match answer {
            Ok(answer) => self.succeeded(answer),
            Err(CallError { refusal: Refusal::Throttled, .. }) if self.is_patient() => {
                FollowUp::SendLater(self)
            }
            Err(CallError { refusal, why }) => self.refused(refusal, why),
        }
    }

    /// Whether the step is sent again if the server throttles it. A confirmation would count from too early a time, and a
    /// delete is followed by the close of the session.
    fn is_patient(&self) -> bool {
        !matches!(self.request, Request::Delete(_) | Request::DeleteUnchanged(..) | Request::Confirm(_))
    }

    /// The reply for a request that fails here.
    pub fn failed(&self, why: RequestError) -> Reply {
        match &self.request {
            Request::Create { .. } => Reply::Created(Err(why)),
            Request::MakeParents(_) | Request::CreatePersistent(_) => Reply::ParentsMade(Err(why)),
            Request::List(_) | Request::CatchUpAndList(_) => Reply::Listed(Err(why)),
            Request::Watch(path) | Request::Get(path) => Reply::Read(path.clone(), Err(why)),
            Request::Write(..) => Reply::Written(Err(why)),
            Request::Delete(_) | Request::DeleteUnchanged(..) => Reply::Deleted(Err(why)),
            Request::RecordSuccess { .. } => Reply::SuccessRecorded(Err(why)),
            Request::Confirm(_) => Reply::Confirmed(self.sent, Err(why)),
            Request::Try(..) => Reply::Tried(Err(why)),
        }
    }

    fn refused(&self, refusal: Refusal, why: RequestError) -> FollowUp {
        FollowUp::Reply(match (&self.request, &self.doing, refusal, why) {
            (Request::MakeParents(path) | Request::CreatePersistent(path), _, refusal, why) => {
                return self.not_made(path, refusal, why);
            }
            // The create that returns the node's stat came with 3.5.
            (Request::Create { .. }, Doing::First, _, RequestError::Unsupported) => {
                self.failed(RequestError::TooOld)
            }
            (_, Doing::See(_), _, RequestError::NoAuth) => self.failed(RequestError::Hidden),
            (_, Doing::See(created), _, why) if why != RequestError::ConnectionLost => {
                Reply::Created(Ok(created.clone()))
            }
            // Without the lock path there is nothing to catch up with; the list fails the same way.
            (Request::CatchUpAndList(_), Doing::First, _, RequestError::NoNode) => {
                return FollowUp::Second(self.to(Doing::List));
            }
            (Request::Watch(_), Doing::First, _, RequestError::NoAuth) => {
                return self.send(Doing::WatchFromAbove);
            }
            (Request::Get(_), Doing::First, _, RequestError::NoAuth) => return self.send(Doing::GetStat),
            (Request::Get(path), Doing::GetStat, _, RequestError::NoAuth) => {
                Reply::Read(path.clone(), Ok(ReadNode::Hidden))
            }
            (Request::RecordSuccess { .. }, Doing::First, Refusal::Other, RequestError::NoNode) => {
                return self.send(Doing::CreateRecord);
            }
            (_, Doing::CreateRecord, Refusal::NodeExists, _) => return self.send(Doing::First),
            (Request::Try(..), Doing::First, Refusal::Later, RequestError::NoAuth) => {
                return self.send(Doing::TryUnwritten);
            }
            (.., why) => self.failed(why),
        })
    }

    fn succeeded(&self, answer: CallAnswer) -> FollowUp {
        FollowUp::Reply(match (&self.request, &self.doing, answer) {
            (Request::MakeParents(path) | Request::CreatePersistent(path), ..) => return self.made(path),
            (Request::Create { .. }, Doing::First, CallAnswer::Created(created)) if self.may_hide => {
                return self.send(Doing::See(created));
            }
            (Request::Create { .. }, Doing::First, CallAnswer::Created(created)) => {
                Reply::Created(Ok(created))
            }
            (_, Doing::See(created), _) => Reply::Created(Ok(created.clone())),
            (Request::CatchUpAndList(_), Doing::First, _) => {
                return FollowUp::Second(self.to(Doing::List));
            }
            (Request::List(_) | Request::CatchUpAndList(_), _, CallAnswer::Children(names)) => {
                Reply::Listed(Ok(names))
            }
            (Request::Watch(path), _, CallAnswer::Children(names))
                if !names.iter().any(|name| name == path.name()) =>
            {
                self.failed(RequestError::NoNode)
            }
            (Request::Watch(path), _, CallAnswer::Children(_)) => {
                return FollowUp::Watching(Reply::Read(path.clone(), Ok(ReadNode::Hidden)), path.clone());
            }
            (Request::Watch(path), _, CallAnswer::Node(node)) => {
                return FollowUp::Watching(Reply::Read(path.clone(), Ok(node.into())), path.clone());
            }
            (Request::Get(path), _, CallAnswer::Node(node)) => Reply::Read(path.clone(), Ok(node.into())),
            (Request::Write(..), _, CallAnswer::Node(node)) => Reply::Written(Ok(node.modified)),
            (Request::Delete(_) | Request::DeleteUnchanged(..), ..) => Reply::Deleted(Ok(())),
            (Request::RecordSuccess { .. }, ..) => Reply::SuccessRecorded(Ok(())),
            (Request::Confirm(_), ..) => Reply::Confirmed(self.sent, Ok(())),
            (Request::Try(..), _, CallAnswer::Node(node)) => Reply::Tried(Ok(Some(node.modified))),
            (Request::Try(..), ..) => Reply::Tried(Ok(None)),
            // No server answers a call with what belongs to another.
            (.., answer) => self.failed(RequestError::Other(format!("unexpected answer: {answer:?}"))),
        })
    }

    /// The node of a path that this step creates.
    fn node<'a>(&self, path: &'a NodePath) -> &'a str {
        match self.doing {
            Doing::Parent(end) => &path.as_str()[..end],
            _ => path.as_str(),
        }
    }

    /// The node exists: the next one below it is created, if any.
    fn made(&self, path: &NodePath) -> FollowUp {
        let (path, end) = (path.as_str(), self.node(path).len());
        if end >= path.len() {
            return FollowUp::Reply(Reply::ParentsMade(Ok(())));
        }
        let slash = path[end + 1..].find('/');
        self.send(Doing::Parent(slash.map_or(path.len(), |slash| end + 1 + slash)))
    }

    fn not_made(&self, path: &NodePath, refusal: Refusal, why: RequestError) -> FollowUp {
        let above = self.node(path).rsplit_once('/').map_or("", |(above, _)| above);
        match (refusal, why) {
            (Refusal::NodeExists, _) => self.made(path),
            (_, RequestError::NoNode) if !above.is_empty() => self.send(Doing::Parent(above.len())),
            // A server that denies the create has found the parent.
            (_, RequestError::NoAuth) => {
                let parent = if above.is_empty() { "/" } else { above };
                FollowUp::Reply(self.failed(RequestError::NoCreate(parent.to_owned())))
            }
            // Servers before 3.5 have no containers.
            (_, RequestError::Unsupported) if matches!(self.request, Request::MakeParents(_)) => {
                let request = Request::CreatePersistent(path.clone());
                FollowUp::Send(Self { request, ..self.to(Doing::First) })
            }
            (_, why) => FollowUp::Reply(self.failed(why)),
        }
    }
}
