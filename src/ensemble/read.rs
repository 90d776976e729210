//! Calls that change nothing: reads and watches.

use zklock_core::session::Answer;
use zookeeper_client::{AddWatchMode, Client, Error, Stat};

use super::requests::{CallFuture, call_error};
use super::watches::Watcher;
use super::{Node, ServerTime};

/// Reads a node and watches it.
pub(super) fn watch<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let read = client.get_and_watch_data(path);
    Box::pin(async move {
        let (data, stat, watcher) = read.await.map_err(call_error)?;
        Ok((Answer::Node(node(data, &stat)), Some(watcher.into())))
    })
}

pub(super) fn watch_children<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let list = client.list_and_watch_children(path);
    Box::pin(async move {
        let (children, watcher) = list.await.map_err(call_error)?;
        Ok((Answer::Children(children), Some(watcher.into())))
    })
}

pub(super) fn exists<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let check = client.check_stat(path);
    Box::pin(async move {
        let stat = check.await.and_then(|stat| stat.ok_or(Error::NoNode)).map_err(call_error)?;
        Ok((Answer::Node(node(vec![], &stat)), None))
    })
}

/// Watches a whole subtree by a persistent recursive watch, which the server keeps after it has fired.
///
/// A second watch, on the list of children, reports children that can't be read, which servers hide from the first one
/// (CVE-2024-23944). It is set first: up to ZooKeeper 3.8 a path has only one such watch, and a later one replaces it.
pub(super) fn watch_below<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let path = path.to_owned();
    Box::pin(async move {
        let watch = |mode| client.watch(&path, mode);
        let children = watch(AddWatchMode::Persistent).await.map_err(call_error)?;
        let below = watch(AddWatchMode::PersistentRecursive).await.map_err(call_error)?;
        Ok((Answer::Done, Some(Watcher::Persistent(Box::new([children, below])))))
    })
}

pub(super) fn node(data: Vec<u8>, stat: &Stat) -> Node {
    Node {
        data,
        owner: stat.ephemeral_owner,
        czxid: stat.czxid,
        version: stat.version,
        created: ServerTime(stat.ctime),
        modified: ServerTime(stat.mtime),
    }
}
