//! The steps of a request.

use super::call::{Answer, Call, CallError, NodeKind, Refusal};
use super::parents::Parents;
use crate::path::NodePath;
use crate::protocol::{LockNode, ReadNode, Reply, Request, RequestError};
use crate::time::BootTime;

/// A step of a request: what is under way, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Create {
        path: String,
        data: Vec<u8>,
        may_hide: bool,
    },
    /// Checks that the ACL lets zklock read the node that it has created. Otherwise it could hold the lock and never
    /// confirm that.
    See(LockNode),
    Parents(Parents),
    List(NodePath),
    /// Syncs and lists. Both are sent together, and both are sent again if the sync is throttled, because a list from
    /// before the sync proves nothing.
    CatchUpAndList(NodePath),
    /// Reads and watches, and not by `exists`, which would leave a watch on a missing node that is never freed.
    Watch(NodePath),
    /// A server reveals nothing about a node that zklock may not read, not even to a watch set by `exists` (since
    /// CVE-2024-23944). The children of the lock path are watched instead, which wakes zklock more often than necessary.
    WatchFromAbove(NodePath),
    Get(NodePath),
    /// Reads the part of a node that needs no permission; since ZooKeeper 3.9 that is only its existence.
    GetStat(NodePath),
    Write {
        path: NodePath,
        data: Vec<u8>,
        version: i32,
    },
    Delete {
        path: NodePath,
        version: Option<i32>,
    },
    /// If another client creates or deletes the record at the same time, the transaction is tried again.
    RecordSuccess {
        record: NodePath,
        data: Vec<u8>,
        node: NodePath,
        exists: bool,
    },
    /// The quorum commits a transaction of checks like any write, and it wakes no waiter. Reads and pings would be
    /// answered even by a partitioned follower, and `sync` by an isolated leader.
    Confirm {
        paths: Vec<NodePath>,
        sent: BootTime,
    },
    /// The write shows the server's time.
    Try {
        nodes: Vec<NodePath>,
        data: Vec<u8>,
        writes: bool,
    },
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
    /// The answer to the second call of the step decides, as if it were the only call of this one.
    Second(Step),
}

impl Step {
    /// The first step of a request. Nodes are created with an ACL that `may_hide` them from zklock or not; `now` is asked
    /// for just before the calls are sent.
    pub fn first(request: Request, may_hide: bool, now: impl FnOnce() -> BootTime) -> Self {
        match request {
            Request::Create { parent, prefix, data } => {
                Self::Create { path: format!("{parent}/{prefix}"), data, may_hide }
            }
            Request::MakeParents(path) => Self::Parents(Parents::new(path, NodeKind::Container)),
            Request::CreatePersistent(path) => Self::Parents(Parents::new(path, NodeKind::Persistent)),
            Request::List(path) => Self::List(path),
            Request::CatchUpAndList(path) => Self::CatchUpAndList(path),
            Request::Watch(path) => Self::Watch(path),
            Request::Get(path) => Self::Get(path),
            Request::Write(path, data, version) => Self::Write { path, data, version },
            Request::Delete(path) => Self::Delete { path, version: None },
            Request::DeleteUnchanged(path, version) => Self::Delete { path, version: Some(version) },
            Request::RecordSuccess { record, data, node } => {
                Self::RecordSuccess { record, data, node, exists: true }
            }
            Request::Confirm(paths) => Self::Confirm { paths, sent: now() },
            Request::Try(nodes, data) => Self::Try { nodes, data, writes: true },
        }
    }

    /// The call of this step, and the one that is sent with it.
    pub fn calls(&self) -> (Call<'_>, Option<Call<'_>>) {
        let call = match self {
            Self::Create { path, data, .. } => {
                Call::Create { path, data, kind: NodeKind::EphemeralSequential }
            }
            Self::See(created) => Call::GetData { path: created.path.as_str(), watch: false },
            Self::Parents(parents) => parents.call(),
            Self::List(path) => Call::GetChildren { path: path.as_str(), watch: false },
            Self::CatchUpAndList(path) => {
                let path = path.as_str();
                return (Call::Sync { path }, Some(Call::GetChildren { path, watch: false }));
            }
            Self::Watch(path) => Call::GetData { path: path.as_str(), watch: true },
            Self::WatchFromAbove(path) => Call::GetChildren { path: path.split().0, watch: true },
            Self::Get(path) => Call::GetData { path: path.as_str(), watch: false },
            Self::GetStat(path) => Call::Exists { path: path.as_str() },
            Self::Write { path, data, version } => {
                Call::SetData { path: path.as_str(), data, version: *version }
            }
            Self::Delete { path, version } => Call::Delete { path: path.as_str(), version: *version },
            Self::RecordSuccess { record, data, node, exists } => {
                Call::Record { record: record.as_str(), data, exists: *exists, node: node.as_str() }
            }
            Self::Confirm { paths, .. } => Call::Check { paths },
            Self::Try { nodes, data, writes } => Call::Try { nodes, data, writes: *writes },
        };
        (call, None)
    }

    /// What follows from the answer to the step's first call.
    pub fn answered(self, answer: Result<Answer, CallError>) -> FollowUp {
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
        !matches!(self, Self::Delete { .. } | Self::Confirm { .. })
    }

    /// The reply for a request that fails here.
    pub fn failed(self, why: RequestError) -> Reply {
        match self {
            Self::Create { .. } | Self::See(_) => Reply::Created(Err(why)),
            Self::Parents(_) => Reply::ParentsMade(Err(why)),
            Self::List(_) | Self::CatchUpAndList(_) => Reply::Listed(Err(why)),
            Self::Watch(path) | Self::WatchFromAbove(path) | Self::Get(path) | Self::GetStat(path) => {
                Reply::Read(path, Err(why))
            }
            Self::Write { .. } => Reply::Written(Err(why)),
            Self::Delete { .. } => Reply::Deleted(Err(why)),
            Self::RecordSuccess { .. } => Reply::SuccessRecorded(Err(why)),
            Self::Confirm { sent, .. } => Reply::Confirmed(sent, Err(why)),
            Self::Try { .. } => Reply::Tried(Err(why)),
        }
    }

    fn refused(self, refusal: Refusal, why: RequestError) -> FollowUp {
        match (self, refusal, why) {
            (Self::Parents(parents), refusal, why) => parents.refused(refusal, why),
            // The create that returns the node's stat came with 3.5.
            (step @ Self::Create { .. }, _, RequestError::Unsupported) => {
                FollowUp::Reply(step.failed(RequestError::TooOld))
            }
            (step @ Self::See(_), _, RequestError::NoAuth) => {
                FollowUp::Reply(step.failed(RequestError::Hidden))
            }
            (Self::See(created), _, why) if why != RequestError::ConnectionLost => {
                FollowUp::Reply(Reply::Created(Ok(created)))
            }
            // Without the lock path there is nothing to catch up with; the list fails the same way.
            (Self::CatchUpAndList(path), _, RequestError::NoNode) => FollowUp::Second(Self::List(path)),
            (Self::Watch(path), _, RequestError::NoAuth) => FollowUp::Send(Self::WatchFromAbove(path)),
            (Self::Get(path), _, RequestError::NoAuth) => FollowUp::Send(Self::GetStat(path)),
            (Self::GetStat(path), _, RequestError::NoAuth) => {
                FollowUp::Reply(Reply::Read(path, Ok(ReadNode::Hidden)))
            }
            (
                Self::RecordSuccess { record, data, node, exists: true },
                Refusal::Other,
                RequestError::NoNode,
            ) => FollowUp::Send(Self::RecordSuccess { record, data, node, exists: false }),
            (Self::RecordSuccess { record, data, node, exists: false }, Refusal::NodeExists, _) => {
                FollowUp::Send(Self::RecordSuccess { record, data, node, exists: true })
            }
            (Self::Try { nodes, data, writes: true }, Refusal::Later, RequestError::NoAuth) => {
                FollowUp::Send(Self::Try { nodes, data, writes: false })
            }
            (step, _, why) => FollowUp::Reply(step.failed(why)),
        }
    }

    fn succeeded(self, answer: Answer) -> FollowUp {
        FollowUp::Reply(match (self, answer) {
            (Self::Parents(parents), _) => return parents.exists(),
            (Self::Create { may_hide: true, .. }, Answer::Created(created)) => {
                return FollowUp::Send(Self::See(created));
            }
            (Self::Create { .. }, Answer::Created(created)) | (Self::See(created), _) => {
                Reply::Created(Ok(created))
            }
            (Self::List(_), Answer::Children(names)) => Reply::Listed(Ok(names)),
            (Self::CatchUpAndList(path), _) => return FollowUp::Second(Self::List(path)),
            (Self::Watch(path), Answer::Node(node)) => {
                return FollowUp::Watching(Reply::Read(path.clone(), Ok(ReadNode::Seen(node))), path);
            }
            (Self::WatchFromAbove(path), Answer::Children(names)) => {
                if !names.iter().any(|name| name == path.name()) {
                    return FollowUp::Reply(Reply::Read(path, Err(RequestError::NoNode)));
                }
                return FollowUp::Watching(Reply::Read(path.clone(), Ok(ReadNode::Hidden)), path);
            }
            (Self::Get(path) | Self::GetStat(path), Answer::Node(node)) => {
                Reply::Read(path, Ok(ReadNode::Seen(node)))
            }
            (Self::Write { .. }, Answer::Node(node)) => Reply::Written(Ok(node.modified)),
            (Self::Delete { .. }, _) => Reply::Deleted(Ok(())),
            (Self::RecordSuccess { .. }, _) => Reply::SuccessRecorded(Ok(())),
            (Self::Confirm { sent, .. }, _) => Reply::Confirmed(sent, Ok(())),
            (Self::Try { .. }, Answer::Node(node)) => Reply::Tried(Ok(Some(node.modified))),
            (Self::Try { .. }, _) => Reply::Tried(Ok(None)),
            // No server answers a call with what belongs to another.
            (step, answer) => step.failed(RequestError::Other(format!("unexpected answer: {answer:?}"))),
        })
    }
}

impl From<Parents> for Step {
    fn from(parents: Parents) -> Self {
        Self::Parents(parents)
    }
}
