//! Translates requests into operations, and answers into replies.

use super::message::{
    BootTime, Created, Mistake, Node, ReadNode, Reply, Request, RequestError, ServerTime, planted,
};
use crate::ensemble::wire::{Acl, Answer, Code, Mode, Op, Stat, WireError};

/// An operation under way, and its purpose.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Create {
        parent: String,
        prefix: String,
        data: Vec<u8>,
    },
    /// Checks that the ACL lets zklock read the node that it has created.
    See {
        path: String,
        created: Created,
    },
    /// Creates the nodes of a path, here the one that ends at `end`.
    Parents {
        path: String,
        end: usize,
    },
    /// Finds the lowest ancestor that exists, to report where nothing may be created.
    Lowest {
        path: String,
        end: usize,
    },
    List {
        path: String,
    },
    /// Syncs. A list follows immediately.
    CatchUp {
        path: String,
    },
    Watch {
        path: String,
    },
    WatchFromAbove {
        path: String,
    },
    WatchBelow {
        path: String,
    },
    Get {
        path: String,
    },
    /// Reads the part of a node that needs no permission, after reading the node was denied.
    GetStat {
        path: String,
    },
    Write {
        path: String,
        data: Vec<u8>,
        version: i32,
    },
    Delete {
        path: String,
        version: i32,
    },
    RecordSuccess {
        record: String,
        data: Vec<u8>,
        node: String,
        is_there: bool,
    },
    Confirm {
        paths: Vec<String>,
        sent: BootTime,
    },
    Close,
    /// The answer is ignored.
    Ignored,
}

/// The action that follows an answer.
pub(super) enum Next {
    Reply(Reply),
    /// Send a reply, and keep a watch on `on`, which may stand for another path.
    Watching {
        reply: Reply,
        on: String,
        path: String,
        kind: Kind,
    },
    Send(Step),
    /// Send the step again after a pause, because the server throttled it.
    Again(Step),
    /// The list that was sent along will answer, or (`Useless`) its answer must be ignored.
    Listed,
    Useless(Option<Step>, Option<Reply>),
    Closed,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Children,
    Below,
}

fn failure(refusal: WireError) -> RequestError {
    match refusal.code {
        Code::NoNode => RequestError::NoNode,
        Code::NoAuth => RequestError::NoAuth,
        Code::BadVersion => RequestError::Changed,
        Code::NoChildrenForEphemerals => RequestError::EphemeralParent,
        Code::SessionExpired => RequestError::Expired,
        Code::SessionMoved => RequestError::ConnectionLost,
        other => RequestError::Other(format!("{other:?}")),
    }
}

fn node(data: &[u8], stat: Stat) -> ReadNode {
    ReadNode::Seen(Node {
        data: data.to_vec(),
        owner: stat.owner,
        czxid: stat.czxid,
        version: stat.version,
        created: ServerTime(stat.ctime),
        modified: ServerTime(stat.mtime),
    })
}

fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Step {
    /// The first step of a request.
    pub(super) fn first(request: Request, sent: BootTime) -> Self {
        match request {
            Request::Create { parent, prefix, data } => Self::Create { parent: parent.into(), prefix, data },
            // Runs never create lasting nodes, and the kind of node makes no difference here.
            Request::MakeParents(path) | Request::CreatePersistent(path) => {
                Self::Parents { end: path.as_str().len(), path: path.into() }
            }
            Request::List(path) => Self::List { path: path.into() },
            Request::CatchUpAndList(path) => Self::CatchUp { path: path.into() },
            Request::Watch(path) => Self::Watch { path: path.into() },
            Request::WatchBelow(path) => Self::WatchBelow { path: path.into() },
            Request::Get(path) => Self::Get { path: path.into() },
            Request::Write(path, data, version) => Self::Write { path: path.into(), data, version },
            Request::Delete(path) => Self::Delete { path: path.into(), version: -1 },
            Request::DeleteUnchanged(path, version) => Self::Delete { path: path.into(), version },
            Request::RecordSuccess { record, data, node } => {
                Self::RecordSuccess { record: record.into(), data, node: node.into(), is_there: true }
            }
            Request::Confirm(paths) => {
                Self::Confirm { paths: paths.into_iter().map(String::from).collect(), sent }
            }
        }
    }

    /// The operation of a step. Nodes that it creates get this ACL.
    pub(super) fn op(&self, acl: Acl) -> Op {
        match self {
            Self::Create { parent, prefix, data } => Op::Create {
                path: format!("{parent}/{prefix}"),
                data: data.clone(),
                acl,
                mode: Mode::EphemeralSequential,
            },
            Self::Parents { path, end } => {
                Op::Create { path: path[..*end].to_owned(), data: vec![], acl, mode: Mode::Container }
            }
            Self::Lowest { path, end } => Op::Exists { path: path[..*end].to_owned(), watch: false },
            Self::List { path } => Op::GetChildren { path: path.clone(), watch: false },
            Self::CatchUp { .. } => Op::Sync,
            Self::Watch { path } => Op::GetData { path: path.clone(), watch: true },
            Self::WatchFromAbove { path } => Op::GetChildren { path: above(path).to_owned(), watch: true },
            Self::WatchBelow { path } => Op::WatchBelow { path: path.clone() },
            Self::Get { path } | Self::See { path, .. } => Op::GetData { path: path.clone(), watch: false },
            Self::GetStat { path } => Op::Exists { path: path.clone(), watch: false },
            Self::Write { path, data, version } => {
                Op::SetData { path: path.clone(), data: data.clone(), version: *version }
            }
            Self::Delete { path, version } => Op::Delete { path: path.clone(), version: *version },
            Self::RecordSuccess { record, data, node, is_there } => {
                let (path, data) = (record.clone(), data.clone());
                let write = if *is_there {
                    Op::SetData { path, data, version: -1 }
                } else {
                    Op::Create { path, data, acl, mode: Mode::Persistent }
                };
                Op::Multi(vec![write, Op::Delete { path: node.clone(), version: -1 }])
            }
            Self::Confirm { .. } if planted(Mistake::LeaseSync) => Op::Sync,
            Self::Confirm { paths, .. } => {
                Op::Multi(paths.iter().map(|path| Op::Check { path: path.clone(), version: -1 }).collect())
            }
            Self::Close | Self::Ignored => Op::Close,
        }
    }

    /// The reply that reports a failure.
    pub(super) fn failed(self, why: RequestError) -> Option<Reply> {
        match self {
            Self::Create { .. } | Self::See { .. } => Some(Reply::Created(Err(why))),
            Self::Parents { .. } | Self::Lowest { .. } => Some(Reply::ParentsMade(Err(why))),
            Self::List { .. } | Self::CatchUp { .. } => Some(Reply::Listed(Err(why))),
            Self::Watch { path }
            | Self::WatchFromAbove { path }
            | Self::Get { path }
            | Self::GetStat { path } => Some(Reply::Read(path.into(), Err(why))),
            Self::WatchBelow { .. } => Some(Reply::Watching(Err(why))),
            Self::Write { .. } => Some(Reply::Written(Err(why))),
            Self::Delete { .. } => Some(Reply::Deleted(Err(why))),
            Self::RecordSuccess { .. } => Some(Reply::SuccessRecorded(Err(why))),
            Self::Confirm { sent, .. } => Some(Reply::Confirmed(sent, Err(why))),
            Self::Close | Self::Ignored => None,
        }
    }

    /// Whether the step is sent again if the server throttles it.
    fn is_patient(&self) -> bool {
        !matches!(
            self,
            Self::WatchFromAbove { .. }
                | Self::WatchBelow { .. }
                | Self::GetStat { .. }
                | Self::Lowest { .. }
                | Self::Delete { .. }
                | Self::Confirm { .. }
        )
    }

    pub(super) fn answered(self, result: Result<Answer, WireError>, acl: Acl) -> Next {
        let refusal = match result {
            Ok(answer) => return self.succeeded(answer, acl),
            Err(refusal) => refusal,
        };
        let code = refusal.code;
        match self {
            Self::Close => Next::Closed,
            Self::Ignored => Next::Nothing,
            Self::See { .. } if code == Code::NoAuth => {
                Next::Reply(Reply::Created(Err(RequestError::Hidden)))
            }
            Self::See { created, .. } => Next::Reply(Reply::Created(Ok(created))),
            Self::CatchUp { .. } if code == Code::NoNode => Next::Listed,
            Self::CatchUp { path } if code == Code::Throttled => {
                Next::Useless(Some(Self::CatchUp { path }), None)
            }
            Self::CatchUp { .. } => Next::Useless(None, Some(Reply::Listed(Err(failure(refusal))))),
            step if code == Code::Throttled && step.is_patient() => Next::Again(step),
            Self::Parents { path, end } if code == Code::NodeExists => made(path, end),
            Self::Parents { path, end } if code == Code::NoNode && !above(&path[..end]).is_empty() => {
                Next::Send(Self::Parents { end: above(&path[..end]).len(), path })
            }
            Self::Parents { path, .. } if code == Code::NoAuth => lowest(&path, path.len()),
            Self::Lowest { path, end } if code == Code::NoNode => lowest(&path, end),
            Self::Watch { path } if code == Code::NoAuth => Next::Send(Self::WatchFromAbove { path }),
            Self::Get { path } if code == Code::NoAuth => Next::Send(Self::GetStat { path }),
            Self::RecordSuccess { record, data, node, is_there }
                if refusal.index == 0 && code == if is_there { Code::NoNode } else { Code::NodeExists } =>
            {
                Next::Send(Self::RecordSuccess { record, data, node, is_there: !is_there })
            }
            step => step.failed(failure(refusal)).map_or(Next::Nothing, Next::Reply),
        }
    }

    fn succeeded(self, answer: Answer, acl: Acl) -> Next {
        let reply = match (self, answer) {
            (Self::Create { parent, .. }, Answer::Created(path, stat)) => {
                let name = path[parent.len() + 1..].to_owned();
                let created = Created { name, czxid: stat.czxid, created: ServerTime(stat.ctime) };
                // Only an ACL that is an explicit list can exclude its author.
                if acl != Acl::OPEN {
                    return Next::Send(Self::See { path: (*path).to_owned(), created });
                }
                Reply::Created(Ok(created))
            }
            (Self::See { created, .. }, _) => Reply::Created(Ok(created)),
            (Self::Parents { path, end }, _) => return made(path, end),
            (Self::Lowest { path, end }, _) => {
                Reply::ParentsMade(Err(RequestError::NoCreate(path[..end].to_owned())))
            }
            (Self::List { .. }, Answer::Children(names, _)) => {
                Reply::Listed(Ok(names.iter().map(|name| (**name).to_owned()).collect()))
            }
            (Self::CatchUp { .. }, _) => return Next::Listed,
            (Self::Watch { path }, Answer::Data(data, stat)) => {
                let reply = Reply::Read(path.as_str().into(), Ok(node(&data, stat)));
                return Next::Watching { reply, on: path.clone(), path, kind: Kind::Data };
            }
            (Self::WatchFromAbove { path }, Answer::Children(names, _)) => {
                let name = path.rsplit('/').next().unwrap_or("");
                if !names.iter().any(|other| **other == *name) {
                    return Next::Reply(Reply::Read(path.into(), Err(RequestError::NoNode)));
                }
                let reply = Reply::Read(path.as_str().into(), Ok(ReadNode::Hidden));
                return Next::Watching { reply, on: above(&path).to_owned(), path, kind: Kind::Children };
            }
            (Self::WatchBelow { path }, _) => {
                let reply = Reply::Watching(Ok(()));
                return Next::Watching { reply, on: path.clone(), path, kind: Kind::Below };
            }
            (Self::Get { path }, Answer::Data(data, stat)) => Reply::Read(path.into(), Ok(node(&data, stat))),
            (Self::GetStat { path }, Answer::Stat(stat)) => Reply::Read(path.into(), Ok(node(&[], stat))),
            (Self::Write { .. }, Answer::Stat(stat)) => Reply::Written(Ok(ServerTime(stat.mtime))),
            (Self::Delete { .. }, _) => Reply::Deleted(Ok(())),
            (Self::RecordSuccess { .. }, _) => Reply::SuccessRecorded(Ok(())),
            (Self::Confirm { sent, .. }, _) => Reply::Confirmed(sent, Ok(())),
            (Self::Close, _) => return Next::Closed,
            (Self::Ignored, _) => return Next::Nothing,
            (step, answer) => panic!("{step:?} is no question for {answer:?}"),
        };
        Next::Reply(reply)
    }
}

/// Continues with the next node below, since this one exists.
fn made(path: String, end: usize) -> Next {
    if end >= path.len() {
        return Next::Reply(Reply::ParentsMade(Ok(())));
    }
    let end = path[end + 1..].find('/').map_or(path.len(), |slash| end + 1 + slash);
    Next::Send(Step::Parents { path, end })
}

fn lowest(path: &str, end: usize) -> Next {
    match above(&path[..end]).len() {
        0 => Next::Reply(Reply::ParentsMade(Err(RequestError::NoCreate("/".to_owned())))),
        end => Next::Send(Step::Lowest { path: path.to_owned(), end }),
    }
}
