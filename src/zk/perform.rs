//! Requests, translated into the client library's calls.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use async_io::Timer;
use futures::FutureExt;
use zookeeper_client::{Acl, Acls, AddWatchMode, Client, CreateMode, Error, MultiWriteError, Stat};

use super::watches::Watcher;
use super::{Created, Failure, Node, Reply, Request, ServerTime};
use crate::clock::BootTime;
use crate::lock::record::printable;

/// A future that belongs to the one thread of a session.
pub(super) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// An answer, and the watch that was set with it.
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) watch: Option<(String, Watcher)>,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, watch: None }
    }
}

const THROTTLED_PAUSE: Duration = Duration::from_millis(100);

/// Puts `request` on the wire, now and in order, and returns the future of its answer.
pub(super) fn perform<'a>(client: &'a Client, acl: &'a [Acl], request: Request) -> Task<'a, Answer> {
    // A call sends its request when it is made, not when its future is polled. So the calls stand outside of
    // the async blocks: two requests made one after the other are carried out in that order.
    match request {
        Request::Create { parent, prefix, data } => create(client, acl, &parent, prefix, data),
        Request::MakeParents(path) => {
            Box::pin(async move { Reply::ParentsMade(make_parents(client, acl, &path).await).into() })
        }
        Request::List(path) => {
            let list = list(client, &path);
            Box::pin(async move { Reply::Listed(list.await).into() })
        }
        Request::CatchUpAndList(path) => catch_up_and_list(client, path),
        Request::Watch(path) => watch(client, path),
        Request::WatchBelow(path) => watch_below(client, path),
        Request::Get(path) => get(client, path),
        Request::Delete(path) => {
            let delete = delete(client, &path);
            Box::pin(async move { Reply::Deleted(delete.await).into() })
        }
        Request::DeleteUnchanged(path, version) => {
            let delete = client.delete(&path, Some(version));
            Box::pin(async move { Reply::Deleted(delete.await.map_err(Failure::from)).into() })
        }
        Request::Conclude { record, data, node } => {
            Box::pin(
                async move { Reply::Concluded(conclude(client, acl, &record, &data, &node).await).into() },
            )
        }
        Request::Write(path, data, version) => {
            let first = client.set_data(&path, &data, Some(version));
            Box::pin(async move {
                let mut result = first.await;
                while matches!(result, Err(Error::Throttled)) {
                    Timer::after(THROTTLED_PAUSE).await;
                    result = client.set_data(&path, &data, Some(version)).await;
                }
                let written = result.map(|stat| ServerTime(stat.mtime));
                Reply::Written(written.map_err(Failure::from)).into()
            })
        }
        Request::Confirm(paths) => confirm(client, &paths),
    }
}

/// The future of a delete. It doesn't borrow the client, so that the session can be closed right behind it.
pub(super) fn delete(client: &Client, path: &str) -> Task<'static, Result<(), Failure>> {
    let delete = client.delete(path, None);
    delete.map(|result| result.map_err(Failure::from)).boxed_local()
}

fn create<'a>(
    client: &'a Client,
    acl: &'a [Acl],
    parent: &str,
    prefix: String,
    data: Vec<u8>,
) -> Task<'a, Answer> {
    let path = format!("{parent}/{prefix}");
    // The path is borrowed by the future of the call, so that both live in one block; it is polled once at
    // the end of this function, which makes the call.
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
                    let seen =
                        if may_hide(acl) { see(client, &format!("{path}{sequence}")).await } else { Ok(()) };
                    break Reply::Created(seen.map(|()| created)).into();
                }
                Err(Error::Throttled) => Timer::after(THROTTLED_PAUSE).await,
                Err(error) => break Reply::Created(Err(error.into())).into(),
            };
        }
    }
    .boxed_local();
    match (&mut future).now_or_never() {
        Some(answer) => Box::pin(std::future::ready(answer)),
        None => future,
    }
}

/// Whether nodes with this ACL may be hidden from ourselves: only the server knows who in a list we are.
fn may_hide(acl: &[Acl]) -> bool {
    ![Acls::anyone_all(), Acls::creator_all()].iter().any(|known| **known == *acl)
}

/// Whether our own node can be read. If not, we could hold it and never confirm that we do.
async fn see(client: &Client, path: &str) -> Result<(), Failure> {
    match client.get_data(path).await {
        Err(Error::NoAuth) => Err(Failure::Hidden),
        Err(Error::ConnectionLoss | Error::Custom(_)) => Err(Failure::ConnectionLost),
        _ => Ok(()),
    }
}

fn list<'a>(client: &'a Client, path: &str) -> Task<'a, Result<Vec<String>, Failure>> {
    let (first, path) = (client.list_children(path), path.to_owned());
    Box::pin(async move {
        let mut result = first.await;
        while result == Err(Error::Throttled) {
            Timer::after(THROTTLED_PAUSE).await;
            result = client.list_children(&path).await;
        }
        Ok(result?)
    })
}

/// A list that is older than the sync proves nothing: if that is throttled, both are sent again.
fn catch_up_and_list(client: &Client, path: String) -> Task<'_, Answer> {
    let (mut sync, mut listed) = (sync(client, &path), list(client, &path));
    Box::pin(async move {
        let result = loop {
            match sync.await {
                // Without the lock path there is nothing to catch up with; the list says the same.
                Ok(()) | Err(Error::NoNode) => break listed.await,
                Err(Error::Throttled) => Timer::after(THROTTLED_PAUSE).await,
                Err(error) => break Err(error.into()),
            };
            (sync, listed) = (self::sync(client, &path), list(client, &path));
        };
        Reply::Listed(result).into()
    })
}

fn sync<'a>(client: &'a Client, path: &str) -> Task<'a, Result<(), Error>> {
    Box::pin(client.sync(path))
}

/// `getData`, not `exists`: on a missing node the latter leaves a watch that nobody frees.
///
/// Of a node that we may not read a server tells us nothing, not even to a watch set by `exists` (since
/// CVE-2024-23944). Then the children of the lock path are watched instead. That wakes us more often than
/// needed, but it wakes us.
fn watch(client: &Client, path: String) -> Task<'_, Answer> {
    let first = client.get_and_watch_data(&path);
    Box::pin(async move {
        let mut read = first.await;
        while matches!(read, Err(Error::Throttled)) {
            Timer::after(THROTTLED_PAUSE).await;
            read = client.get_and_watch_data(&path).await;
        }
        let (node, watch) = match read {
            Ok((data, stat, watcher)) => (Ok(node(data, &stat)), Some((path.clone(), watcher.into()))),
            Err(Error::NoAuth) => watch_from_above(client, &path).await,
            Err(error) => (Err(error.into()), None),
        };
        Answer { reply: Reply::Read(path, node), watch }
    })
}

async fn watch_from_above(client: &Client, path: &str) -> (Result<Node, Failure>, Option<(String, Watcher)>) {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    match client.list_and_watch_children(parent).await {
        Ok((children, watcher)) if children.iter().any(|child| child == name) => {
            (Ok(Node::HIDDEN), Some((path.to_owned(), watcher.into())))
        }
        Ok(_) => (Err(Failure::NoNode), None),
        Err(error) => (Err(error.into()), None),
    }
}

fn node(data: Vec<u8>, stat: &Stat) -> Node {
    Node {
        data,
        owner: stat.ephemeral_owner,
        czxid: stat.czxid,
        version: stat.version,
        created: ServerTime(stat.ctime),
        modified: ServerTime(stat.mtime),
    }
}

/// What a node says; of one that we may not read, at least what everybody may know.
fn get(client: &Client, path: String) -> Task<'_, Answer> {
    let read = client.get_data(&path);
    Box::pin(async move {
        let found = match read.await {
            Ok((data, stat)) => Ok(node(data, &stat)),
            Err(Error::NoAuth) => match client.check_stat(&path).await {
                Ok(Some(stat)) => Ok(node(vec![], &stat)),
                Ok(None) => Err(Failure::NoNode),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        };
        Reply::Read(path, found).into()
    })
}

/// One watch for a whole subtree, which the server keeps after it has fired.
fn watch_below(client: &Client, path: String) -> Task<'_, Answer> {
    Box::pin(async move {
        match client.watch(&path, AddWatchMode::PersistentRecursive).await {
            Ok(watcher) => {
                Answer { reply: Reply::Watching(Ok(())), watch: Some((path, Watcher::Lasting(watcher))) }
            }
            Err(error) => Reply::Watching(Err(error.into())).into(),
        }
    })
}

/// Container nodes, which the server removes once they are empty; persistent ones where it has no containers.
async fn make_parents(client: &Client, acl: &[Acl], path: &str) -> Result<(), Failure> {
    loop {
        let container = CreateMode::Container.with_acls(Acls::new(acl));
        let made = match client.mkdir(path, &container).await {
            Err(Error::Unimplemented) => {
                client.mkdir(path, &CreateMode::Persistent.with_acls(Acls::new(acl))).await
            }
            made => made,
        };
        match made {
            Err(Error::Throttled) => Timer::after(THROTTLED_PAUSE).await,
            Err(Error::NoAuth) => return Err(Failure::NoCreate(lowest_existing(client, path).await?)),
            made => return Ok(made?),
        };
    }
}

/// The record is there as a rule; the first time it has to be made, and somebody else may make it meanwhile.
async fn conclude(
    client: &Client,
    acl: &[Acl],
    record: &str,
    data: &[u8],
    node: &str,
) -> Result<(), Failure> {
    let mut exists = true;
    loop {
        let mut multi = client.new_multi_writer();
        if exists {
            multi.add_set_data(record, data, None)?;
        } else {
            multi.add_create(record, data, &CreateMode::Persistent.with_acls(Acls::new(acl)))?;
        }
        multi.add_delete(node, None)?;
        match multi.commit().await {
            Err(MultiWriteError::OperationFailed { index: 0, source: Error::NoNode }) if exists => {
                exists = false;
            }
            Err(MultiWriteError::OperationFailed { index: 0, source: Error::NodeExists }) => exists = true,
            Err(MultiWriteError::RequestFailed { source: Error::Throttled }) => {
                Timer::after(THROTTLED_PAUSE).await;
            }
            Err(error) => return Err(Error::from(error).into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// The lowest node on the way to `path` that is there. To see whether a node is there needs no permission.
async fn lowest_existing(client: &Client, path: &str) -> Result<String, Failure> {
    let mut above = path;
    while let Some((parent, _)) = above.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
        if client.check_stat(parent).await?.is_some() {
            return Ok(parent.to_owned());
        }
        above = parent;
    }
    Ok("/".to_owned())
}

/// A `multi` of nothing but checks: committed by the quorum like any write, it wakes nobody. Reads and pings
/// are answered by a partitioned follower, and `sync` by an isolated leader.
fn confirm<'a>(client: &'a Client, paths: &[String]) -> Task<'a, Answer> {
    let sent = BootTime::now();
    if let (true, Some(path)) = (cfg!(feature = "broken-lease-sync"), paths.first()) {
        let sync = sync(client, path);
        return Box::pin(async move { Reply::Confirmed(sent, sync.await.map_err(Failure::from)).into() });
    }
    let mut multi = client.new_multi_writer();
    for path in paths {
        if let Err(error) = multi.add_check_version(path, -1) {
            return Box::pin(std::future::ready(Reply::Confirmed(sent, Err(error.into())).into()));
        }
    }
    let commit = multi.commit();
    Box::pin(async move {
        let result = commit.await.map(drop).map_err(|error| Failure::from(Error::from(error)));
        Reply::Confirmed(sent, result).into()
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            // Custom is what the library says of a connection that it gave up itself, "no response".
            Error::ConnectionLoss | Error::Custom(_) => Self::ConnectionLost,
            Error::NoNode => Self::NoNode,
            Error::NoAuth => Self::NoAuth,
            Error::BadVersion => Self::Changed,
            Error::Unimplemented => Self::Unsupported,
            Error::InvalidAcl => Self::InvalidAcl,
            Error::NoChildrenForEphemerals => Self::EphemeralParent,
            Error::QuotaExceeded => Self::Quota,
            Error::NotReadOnly => Self::ReadOnly,
            Error::SessionExpired | Error::SessionMoved => Self::Expired,
            Error::AuthFailed => Self::AuthFailed,
            // It may repeat what the server said.
            other => Self::Other(printable(&other.to_string())),
        }
    }
}
