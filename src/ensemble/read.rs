//! Requests that change nothing: lists, reads and watches.

use zookeeper_client::{AddWatchMode, Client, Error, Stat};

use super::failure::request_error;
use super::requests::{LocalFuture, WatchedReply, pause, retry_throttled};
use super::watches::Watcher;
use super::{Node, NodePath, ReadNode, Reply, RequestError, ServerTime};

pub(super) fn list<'a>(
    client: &'a Client,
    path: &NodePath,
) -> LocalFuture<'a, Result<Vec<String>, RequestError>> {
    let path = path.clone();
    let list = retry_throttled(move || client.list_children(path.as_str()));
    Box::pin(async move { list.await.map_err(request_error) })
}

/// Lets the server catch up with the leader (`sync`), and then lists. Both are sent together, and both are sent again
/// if the sync is throttled, because a listing from before the sync proves nothing.
pub(super) fn catch_up_and_list(
    client: &Client,
    path: NodePath,
) -> LocalFuture<'_, Result<Vec<String>, RequestError>> {
    let (mut sync, mut listed) = (sync(client, &path), list(client, &path));
    Box::pin(async move {
        loop {
            match sync.await {
                // Without the lock path there is nothing to catch up with; the listing fails the same way.
                Ok(()) | Err(Error::NoNode) => break listed.await,
                Err(Error::Throttled) => pause().await,
                Err(error) => break Err(request_error(error)),
            }
            (sync, listed) = (self::sync(client, &path), list(client, &path));
        }
    })
}

pub(super) fn sync<'a>(client: &'a Client, path: &NodePath) -> LocalFuture<'a, Result<(), Error>> {
    Box::pin(client.sync(path.as_str()))
}

/// Reads a node and watches it, by `getData` and not by `exists`, which would leave a watch on a missing node that is
/// never freed.
///
/// A server reveals nothing about a node that zklock may not read, not even to a watch set by `exists` (since
/// CVE-2024-23944). In that case the children of the lock path are watched instead, which wakes zklock more often than
/// necessary.
pub(super) fn watch(client: &Client, path: NodePath) -> LocalFuture<'_, WatchedReply> {
    let wanted = path.clone();
    let read = retry_throttled(move || client.get_and_watch_data(wanted.as_str()));
    Box::pin(async move {
        let (node, watch) = match read.await {
            Ok((data, stat, watcher)) => (Ok(node(data, &stat)), Some((path.clone(), watcher.into()))),
            Err(Error::NoAuth) => watch_from_above(client, &path).await,
            Err(error) => (Err(request_error(error)), None),
        };
        WatchedReply { reply: Reply::Read(path, node), watch }
    })
}

async fn watch_from_above(
    client: &Client,
    path: &NodePath,
) -> (Result<ReadNode, RequestError>, Option<(NodePath, Watcher)>) {
    let (parent, name) = path.split();
    match retry_throttled(|| client.list_and_watch_children(parent)).await {
        Ok((children, watcher)) if children.iter().any(|child| child == name) => {
            (Ok(ReadNode::Hidden), Some((path.clone(), watcher.into())))
        }
        Ok(_) => (Err(RequestError::NoNode), None),
        Err(error) => (Err(request_error(error)), None),
    }
}

/// Reads a node. Without READ, only its stat is returned, or since ZooKeeper 3.9 only its existence, because `exists`
/// requires READ as well.
pub(super) fn get(client: &Client, path: NodePath) -> LocalFuture<'_, Result<ReadNode, RequestError>> {
    let wanted = path.clone();
    let read = retry_throttled(move || client.get_data(wanted.as_str()));
    Box::pin(async move {
        match read.await {
            Ok((data, stat)) => Ok(node(data, &stat)),
            Err(Error::NoAuth) => match retry_throttled(|| client.check_stat(path.as_str())).await {
                Ok(Some(stat)) => Ok(node(vec![], &stat)),
                Ok(None) => Err(RequestError::NoNode),
                Err(Error::NoAuth) => Ok(ReadNode::Hidden),
                Err(error) => Err(request_error(error)),
            },
            Err(error) => Err(request_error(error)),
        }
    })
}

/// Watches a whole subtree by a persistent recursive watch, which the server keeps after it has fired.
///
/// A second watch, on the list of children, reports children that can't be read, which servers hide from the first one
/// (CVE-2024-23944). It is set first: up to ZooKeeper 3.8 a path has only one such watch, and a later one replaces it.
pub(super) fn watch_below(client: &Client, path: NodePath) -> LocalFuture<'_, WatchedReply> {
    Box::pin(async move {
        let target = path.as_str();
        let watch = |mode| retry_throttled(move || client.watch(target, mode));
        let set = match watch(AddWatchMode::Persistent).await {
            Ok(children) => watch(AddWatchMode::PersistentRecursive).await.map(|below| [children, below]),
            Err(error) => Err(error),
        };
        match set {
            Ok(watchers) => WatchedReply {
                reply: Reply::Watching(Ok(())),
                watch: Some((path, Watcher::Persistent(Box::new(watchers)))),
            },
            Err(error) => Reply::Watching(Err(request_error(error))).into(),
        }
    })
}

fn node(data: Vec<u8>, stat: &Stat) -> ReadNode {
    ReadNode::Seen(Node {
        data,
        owner: stat.ephemeral_owner,
        czxid: stat.czxid,
        version: stat.version,
        created: ServerTime(stat.ctime),
        modified: ServerTime(stat.mtime),
    })
}
