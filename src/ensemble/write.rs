//! Requests that change something: creates, deletes, and the transactions that confirm or record that zklock holds the
//! lock.

use futures::FutureExt;
use zklock_core::planted::{Mistake, planted};
use zklock_core::time::BootTime;
use zookeeper_client::{Acl, Acls, Client, CreateMode, Error, MultiWriteError};

use super::failure::request_error;
use super::requests::{LocalFuture, WatchedReply, pause, retry_throttled};
use super::{Created, NodePath, Reply, RequestError, ServerTime, read};
use crate::process::clock;

/// Creates an ephemeral sequential node, and checks that zklock can read it. The request is sent before this returns.
pub(super) fn create<'a>(
    client: &'a Client,
    acl: &'a [Acl],
    parent: &str,
    prefix: String,
    data: Vec<u8>,
) -> LocalFuture<'a, WatchedReply> {
    let path = format!("{parent}/{prefix}");
    // The path is borrowed by the future of the call, so both live in one block; it is polled once at the end of this
    // function, which makes the call.
    let mut future = async move {
        loop {
            let options = CreateMode::EphemeralSequential.with_acls(Acls::new(acl));
            match client.create(&path, &data, &options).await {
                Ok((stat, sequence)) => {
                    let created = Created {
                        name: format!("{prefix}{sequence}"),
                        czxid: stat.czxid,
                        created: ServerTime(stat.ctime),
                    };
                    let readable = if may_hide(acl) {
                        check_readable(client, &format!("{path}{sequence}")).await
                    } else {
                        Ok(())
                    };
                    break Reply::Created(readable.map(|()| created)).into();
                }
                Err(Error::Throttled) => pause().await,
                // The create that returns the node's stat came with 3.5.
                Err(Error::Unimplemented) => break Reply::Created(Err(RequestError::TooOld)).into(),
                Err(error) => break Reply::Created(Err(request_error(error))).into(),
            }
        }
    }
    .boxed_local();
    match (&mut future).now_or_never() {
        Some(answer) => Box::pin(std::future::ready(answer)),
        None => future,
    }
}

/// Whether nodes with this ACL may be hidden from zklock: only the server knows which entries apply to it.
fn may_hide(acl: &[Acl]) -> bool {
    ![Acls::anyone_all(), Acls::creator_all()].iter().any(|known| **known == *acl)
}

/// Checks that zklock can read its own node. Otherwise it could hold the lock and never confirm that.
async fn check_readable(client: &Client, path: &str) -> Result<(), RequestError> {
    match retry_throttled(|| client.get_data(path)).await {
        Err(Error::NoAuth) => Err(RequestError::Hidden),
        Err(Error::ConnectionLoss | Error::Custom(_)) => Err(RequestError::ConnectionLost),
        _ => Ok(()),
    }
}

/// Creates `path` and its ancestors as containers, which the server removes once they are empty, or as persistent nodes
/// if the server doesn't support containers.
pub(super) async fn make_parents(client: &Client, acl: &[Acl], path: &str) -> Result<(), RequestError> {
    if may_hide(acl) {
        return match make_admitting(client, acl, path, CreateMode::Container).await {
            Err(RequestError::Unsupported) => make_admitting(client, acl, path, CreateMode::Persistent).await,
            result => result,
        };
    }
    match make(client, acl, path, CreateMode::Container).await {
        Err(RequestError::Unsupported) => create_persistent(client, acl, path).await,
        result => result,
    }
}

/// The same, except that a node from which its ACL excludes zklock is deleted again. Later, zklock may not be able to delete
/// it.
async fn make_admitting(
    client: &Client,
    acl: &[Acl],
    path: &str,
    mode: CreateMode,
) -> Result<(), RequestError> {
    let options = mode.with_acls(Acls::new(acl));
    let mut missing = vec![path];
    while let Some(&node) = missing.last() {
        match retry_throttled(|| client.create(node, &[], &options)).await {
            Ok(_) => {
                if !admits(client, node).await? {
                    // Another client may have created a child meanwhile.
                    let _ = retry_throttled(|| client.delete(node, None)).await;
                    return Err(RequestError::Excluded);
                }
                missing.pop();
            }
            Err(Error::NodeExists) => drop(missing.pop()),
            Err(Error::NoNode) => match node.rsplit_once('/') {
                Some((parent, _)) if !parent.is_empty() => missing.push(parent),
                _ => return Err(RequestError::NoNode),
            },
            Err(Error::NoAuth) => return Err(RequestError::NoCreate(lowest_existing(client, path).await?)),
            Err(error) => return Err(request_error(error)),
        }
    }
    Ok(())
}

/// Whether the ACL of a node lets zklock read it and create children. Nothing is created: the last operation of the
/// transaction fails in any case, and no node has this version.
async fn admits(client: &Client, node: &str) -> Result<bool, RequestError> {
    if let Err(failure) = check_readable(client, node).await {
        return if failure == RequestError::Hidden { Ok(false) } else { Err(failure) };
    }
    let mut multi = client.new_multi_writer();
    let options = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    multi.add_create(&format!("{node}/child"), &[], &options).map_err(request_error)?;
    multi.add_check_version(node, i32::MAX).map_err(request_error)?;
    match multi.commit().await {
        Err(MultiWriteError::OperationFailed { index: 0, source: Error::NoAuth }) => Ok(false),
        Err(MultiWriteError::RequestFailed { source: Error::ConnectionLoss | Error::Custom(_) }) => {
            Err(RequestError::ConnectionLost)
        }
        _ => Ok(true),
    }
}

/// Creates `path` and its ancestors as persistent nodes.
pub(super) async fn create_persistent(client: &Client, acl: &[Acl], path: &str) -> Result<(), RequestError> {
    make(client, acl, path, CreateMode::Persistent).await
}

async fn make(client: &Client, acl: &[Acl], path: &str, mode: CreateMode) -> Result<(), RequestError> {
    let options = mode.with_acls(Acls::new(acl));
    loop {
        match client.mkdir(path, &options).await {
            Err(Error::Throttled) => pause().await,
            Err(Error::NoAuth) => return Err(RequestError::NoCreate(lowest_existing(client, path).await?)),
            result => return result.map_err(request_error),
        }
    }
}

/// The nearest ancestor of `path` that exists. A denied read counts as existing, because since ZooKeeper 3.9 `exists`
/// requires READ.
async fn lowest_existing(client: &Client, path: &str) -> Result<String, RequestError> {
    let mut above = path;
    while let Some((parent, _)) = above.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
        match retry_throttled(|| client.check_stat(parent)).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(Error::NoAuth) => return Ok(parent.to_owned()),
            Err(error) => return Err(request_error(error)),
        }
        above = parent;
    }
    Ok("/".to_owned())
}

/// Deletes a node. The future doesn't borrow the client, so that the session can be closed while it is pending.
pub(super) fn delete(
    client: &Client,
    path: &str,
    version: Option<i32>,
) -> LocalFuture<'static, Result<(), RequestError>> {
    let delete = client.delete(path, version);
    delete.map(|result| result.map_err(request_error)).boxed_local()
}

/// Replaces a node's data, and returns the server's time of the write.
pub(super) fn replace(
    client: &Client,
    path: NodePath,
    data: Vec<u8>,
    version: i32,
) -> LocalFuture<'_, Result<ServerTime, RequestError>> {
    let write = retry_throttled(move || client.set_data(path.as_str(), &data, Some(version)));
    Box::pin(async move { Ok(ServerTime(write.await.map_err(request_error)?.mtime)) })
}

/// Writes the record and deletes the node in one transaction. The record is created if it doesn't exist. If another
/// client creates or deletes it at the same time, the transaction is retried.
pub(super) async fn record_success(
    client: &Client,
    acl: &[Acl],
    record: &str,
    data: &[u8],
    node: &str,
) -> Result<(), RequestError> {
    let mut exists = true;
    loop {
        let mut multi = client.new_multi_writer();
        if exists {
            multi.add_set_data(record, data, None).map_err(request_error)?;
        } else {
            multi
                .add_create(record, data, &CreateMode::Persistent.with_acls(Acls::new(acl)))
                .map_err(request_error)?;
        }
        multi.add_delete(node, None).map_err(request_error)?;
        match multi.commit().await {
            Err(MultiWriteError::OperationFailed { index: 0, source: Error::NoNode }) if exists => {
                exists = false;
            }
            Err(MultiWriteError::OperationFailed { index: 0, source: Error::NodeExists }) => exists = true,
            Err(MultiWriteError::RequestFailed { source: Error::Throttled }) => pause().await,
            Err(error) => return Err(request_error(error.into())),
            Ok(_) => return Ok(()),
        }
    }
}

/// Confirms that these nodes exist by a `multi` of checks only, which the quorum commits like any write and which wakes
/// no waiters. Reads and pings would be answered even by a partitioned follower, and `sync` by an isolated leader.
///
/// Also returns the time just before it was sent.
pub(super) fn confirm<'a>(
    client: &'a Client,
    paths: &[NodePath],
) -> (BootTime, LocalFuture<'a, Result<(), RequestError>>) {
    let sent = clock::now();
    if let (true, Some(path)) = (planted(Mistake::LeaseSync), paths.first()) {
        let sync = read::sync(client, path);
        return (sent, Box::pin(async move { sync.await.map_err(request_error) }));
    }
    let mut multi = client.new_multi_writer();
    for path in paths {
        if let Err(error) = multi.add_check_version(path.as_str(), -1) {
            return (sent, Box::pin(std::future::ready(Err(request_error(error)))));
        }
    }
    let commit = multi.commit();
    (sent, Box::pin(async move { commit.await.map(drop).map_err(|error| request_error(error.into())) }))
}
