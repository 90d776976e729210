//! Calls that change nothing: reads and watches.

use zklock_core::request::CallAnswer;
use zookeeper_client::{Client, Error, Stat};

use super::requests::{CallFuture, call_error};
use super::{Node, ServerTime};

/// Reads a node and watches it.
pub(super) fn watch<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let read = client.get_and_watch_data(path);
    Box::pin(async move {
        let (data, stat, watcher) = read.await.map_err(call_error)?;
        Ok((CallAnswer::Node(node(data, &stat)), Some(watcher)))
    })
}

pub(super) fn watch_children<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let list = client.list_and_watch_children(path);
    Box::pin(async move {
        let (children, watcher) = list.await.map_err(call_error)?;
        Ok((CallAnswer::Children(children), Some(watcher)))
    })
}

pub(super) fn exists<'a>(client: &'a Client, path: &str) -> CallFuture<'a> {
    let check = client.check_stat(path);
    Box::pin(async move {
        let stat = check.await.and_then(|stat| stat.ok_or(Error::NoNode)).map_err(call_error)?;
        Ok((CallAnswer::Node(node(vec![], &stat)), None))
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
