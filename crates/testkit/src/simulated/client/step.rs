//! Translates the calls of a request into operations of the simulated servers, and their answers back.

use super::message::{
    Call, CallAnswer, CallError, LockNode, Node, NodeKind, Refusal, RequestError, ServerTime, Step,
};
use crate::simulated::ensemble::wire::{Answer, Code, Mode, Op, Stat, WireError};

/// The purpose of an operation that is under way.
#[derive(Debug, Clone)]
pub(super) enum Work {
    Step(Step),
    Close,
    /// The answer is ignored.
    Ignored,
}

impl Work {
    /// Whether a second operation was sent along, whose answer counts only if the first one's answer says so.
    pub(super) fn is_pair(&self) -> bool {
        matches!(self, Self::Step(step) if step.second().is_some())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Children,
}

/// The watch that a call sets: the node that the server watches, and for what.
pub(super) fn watch(call: Call<'_>) -> Option<(String, Kind)> {
    match call {
        Call::GetData { path, watch: true } => Some((path.to_owned(), Kind::Data)),
        Call::GetChildren { path, watch: true } => Some((path.to_owned(), Kind::Children)),
        _ => None,
    }
}

/// The operation of a call.
pub(super) fn op(call: Call<'_>) -> Op {
    let any = |path: &str| Op::Check { path: path.to_owned(), version: -1 };
    match call {
        Call::Create { path, data, kind } => {
            let mode = match kind {
                NodeKind::EphemeralSequential => Mode::EphemeralSequential,
                NodeKind::Container => Mode::Container,
                NodeKind::Persistent => Mode::Persistent,
            };
            Op::Create { path: path.to_owned(), data: data.to_vec(), mode }
        }
        Call::GetData { path, watch } => Op::GetData { path: path.to_owned(), watch },
        Call::GetChildren { path, watch } => Op::GetChildren { path: path.to_owned(), watch },
        Call::Exists { path } => Op::Exists { path: path.to_owned() },
        Call::Sync { .. } => Op::Sync,
        Call::SetData { path, data, version } => {
            Op::SetData { path: path.to_owned(), data: data.to_vec(), version }
        }
        Call::Delete { path, version } => {
            Op::Delete { path: path.to_owned(), version: version.unwrap_or(-1) }
        }
        Call::Record { record, data, exists, node } => {
            let (path, data) = (record.to_owned(), data.to_vec());
            let write = if exists {
                Op::SetData { path, data, version: -1 }
            } else {
                Op::Create { path, data, mode: Mode::Persistent }
            };
            Op::Multi(vec![write, Op::Delete { path: node.to_owned(), version: -1 }])
        }
        Call::Check { paths } => Op::Multi(paths.iter().map(|path| any(path.as_str())).collect()),
        Call::Try { nodes, data, .. } => {
            let paths = || nodes.iter().map(|node| node.as_str().to_owned());
            let mode = Mode::Ephemeral;
            let creates = paths().map(|path| Op::Create { path, data: data.to_vec(), mode });
            let deletes = paths().rev().map(|path| Op::Delete { path, version: -1 });
            Op::Multi(creates.chain(deletes).collect())
        }
    }
}

/// The answer of a server, as the session gets it from the client library.
pub(super) fn answer(result: Result<Answer, WireError>) -> Result<CallAnswer, CallError> {
    match result {
        Ok(Answer::Done | Answer::Multi(_)) => Ok(CallAnswer::Done),
        Ok(Answer::Created(path, stat)) => {
            Ok(CallAnswer::Created(LockNode { path: (*path).into(), czxid: stat.czxid }))
        }
        Ok(Answer::Stat(stat)) => Ok(CallAnswer::Node(node(&[], stat))),
        Ok(Answer::Data(data, stat)) => Ok(CallAnswer::Node(node(&data, stat))),
        Ok(Answer::Children(names, _)) => {
            Ok(CallAnswer::Children(names.iter().map(|name| (**name).to_owned()).collect()))
        }
        Err(WireError { code, index }) => {
            let refusal = match code {
                _ if index > 0 => Refusal::Later,
                Code::NodeExists => Refusal::NodeExists,
                _ => Refusal::Other,
            };
            Err(CallError { refusal, why: failure(code) })
        }
    }
}

fn failure(code: Code) -> RequestError {
    match code {
        Code::NoNode => RequestError::NoNode,
        Code::BadVersion => RequestError::Changed,
        Code::NoChildrenForEphemerals => RequestError::EphemeralParent,
        Code::SessionExpired => RequestError::Expired,
        Code::SessionMoved => RequestError::ConnectionLost,
        other => RequestError::Other(format!("{other:?}")),
    }
}

fn node(data: &[u8], stat: Stat) -> Node {
    Node {
        data: data.to_vec(),
        owner: stat.owner,
        czxid: stat.czxid,
        version: stat.version,
        created: ServerTime(stat.ctime),
        modified: ServerTime(stat.mtime),
    }
}
