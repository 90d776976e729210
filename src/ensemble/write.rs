//! Calls that change something: creates, deletes and transactions.

use std::future::Future;

use futures::FutureExt;
use zklock_core::request::{CallAnswer, CallError, NodeKind, Refusal};
use zookeeper_client::{Acl, Acls, Client, CreateMode, Error, MultiWriteError, MultiWriteResult};

use super::failure::request_error;
use super::requests::{CallFuture, LocalFuture, answer, call_error};
use super::{LockNode, NodePath, RequestError, read};

/// Creates a node. The call is made before this returns.
pub(super) fn create<'a>(
    client: &'a Client,
    acl: &'a [Acl],
    path: &str,
    data: &[u8],
    kind: NodeKind,
) -> CallFuture<'a> {
    let (path, data) = (path.to_owned(), data.to_owned());
    let mode = match kind {
        NodeKind::EphemeralSequential => CreateMode::EphemeralSequential,
        NodeKind::Container => CreateMode::Container,
        NodeKind::Persistent => CreateMode::Persistent,
    };
    // The path is borrowed by the future of the call, so both live in one block; it is polled once at the end of this
    // function, which makes the call.
    let mut future = async move {
        let options = mode.with_acls(Acls::new(acl));
        let (stat, sequence) = client.create(&path, &data, &options).await.map_err(call_error)?;
        let path = if kind == NodeKind::EphemeralSequential { format!("{path}{sequence}") } else { path };
        let created = CallAnswer::Created(LockNode { path: path.into(), czxid: stat.czxid });
        Ok((created, None))
    }
    .boxed_local();
    match (&mut future).now_or_never() {
        Some(answer) => Box::pin(std::future::ready(answer)),
        None => future,
    }
}

/// Deletes a node. The future doesn't borrow the client, so that the session can be closed while it is pending.
pub(super) fn delete(client: &Client, path: &str) -> LocalFuture<'static, Result<(), RequestError>> {
    client.delete(path, None).map(|result| result.map_err(request_error)).boxed_local()
}

pub(super) fn set_data<'a>(client: &'a Client, path: &str, data: &[u8], version: i32) -> CallFuture<'a> {
    answer(client.set_data(path, data, Some(version)), |stat| CallAnswer::Node(read::node(vec![], &stat)))
}

/// Writes the record, which exists or is created, and deletes the node in one transaction.
pub(super) fn record<'a>(
    client: &'a Client,
    acl: &[Acl],
    (record, data, exists): (&str, &[u8], bool),
    node: &str,
) -> CallFuture<'a> {
    let mut multi = client.new_multi_writer();
    let write = if exists {
        multi.add_set_data(record, data, None)
    } else {
        multi.add_create(record, data, &CreateMode::Persistent.with_acls(Acls::new(acl)))
    };
    match write.and_then(|()| multi.add_delete(node, None)) {
        Ok(()) => transaction(multi.commit()),
        Err(error) => failed(error),
    }
}

/// Checks in one transaction that these nodes exist.
pub(super) fn confirm<'a>(client: &'a Client, paths: &[NodePath]) -> CallFuture<'a> {
    let mut multi = client.new_multi_writer();
    match paths.iter().try_for_each(|path| multi.add_check_version(path.as_str(), -1)) {
        Ok(()) => transaction(multi.commit()),
        Err(error) => failed(error),
    }
}

/// Creates these nodes, each below the one before, checks and perhaps writes the last one, and deletes them, in one
/// transaction.
pub(super) fn try_nodes<'a>(
    client: &'a Client,
    acl: &'a [Acl],
    nodes: &[NodePath],
    data: &[u8],
    writes: bool,
) -> CallFuture<'a> {
    let Some((last, above)) = nodes.split_last() else { return failed(Error::NoNode) };
    let mut multi = client.new_multi_writer();
    let mut add = || {
        for node in above {
            multi.add_create(node.as_str(), data, &CreateMode::Persistent.with_acls(Acls::new(acl)))?;
        }
        multi.add_create(last.as_str(), data, &CreateMode::Ephemeral.with_acls(Acls::new(acl)))?;
        multi.add_check_version(last.as_str(), -1)?;
        if writes {
            multi.add_set_data(last.as_str(), data, None)?;
        }
        nodes.iter().rev().try_for_each(|node| multi.add_delete(node.as_str(), None))
    };
    if let Err(error) = add() {
        return failed(error);
    }
    let (commit, check) = (multi.commit(), nodes.len());
    Box::pin(async move {
        match commit.await {
            Ok(results) => {
                let written = results.into_iter().find_map(|result| match result {
                    MultiWriteResult::SetData { stat } => Some(CallAnswer::Node(read::node(vec![], &stat))),
                    _ => None,
                });
                Ok((written.unwrap_or(CallAnswer::Done), None))
            }
            Err(MultiWriteError::OperationFailed { index: index @ 1.., source: Error::NoAuth }) => {
                let why = match index.checked_sub(check) {
                    None | Some(0) => RequestError::Hidden,
                    Some(1) if writes => RequestError::NoAuth,
                    Some(_) => RequestError::NoDelete,
                };
                Err(CallError { refusal: Refusal::Later, why })
            }
            // The leader doesn't know a session that its server serves: a local one.
            Err(MultiWriteError::OperationFailed { source: Error::SessionExpired, .. }) => {
                Err(CallError { refusal: Refusal::Other, why: RequestError::LocalSession })
            }
            Err(error) => Err(call_error(error.into())),
        }
    })
}

fn transaction<'a, T>(commit: impl Future<Output = Result<T, MultiWriteError>> + 'a) -> CallFuture<'a> {
    Box::pin(async move {
        match commit.await {
            Ok(_) => Ok((CallAnswer::Done, None)),
            Err(MultiWriteError::OperationFailed { index: 1.., source }) => {
                Err(CallError { refusal: Refusal::Later, why: request_error(source) })
            }
            Err(error) => Err(call_error(error.into())),
        }
    })
}

fn failed<'a>(error: Error) -> CallFuture<'a> {
    Box::pin(std::future::ready(Err(call_error(error))))
}
