//! Translates requests into the client library's calls.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use async_io::Timer;
use zookeeper_client::{Acl, Client, Error};

use super::watches::Watcher;
use super::{NodePath, Reply, Request, read, write};

/// A future that belongs to a session's only thread.
pub(super) type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// An answer, and the watch that was set with it.
pub(super) struct WatchedReply {
    pub(super) reply: Reply,
    pub(super) watch: Option<(NodePath, Watcher)>,
}

impl From<Reply> for WatchedReply {
    fn from(reply: Reply) -> Self {
        Self { reply, watch: None }
    }
}

const THROTTLED_PAUSE: Duration = Duration::from_millis(100);

/// Sends `request` immediately and in order, and returns the future of its answer.
pub(super) fn send_request<'a>(
    client: &'a Client,
    acl: &'a [Acl],
    request: Request,
) -> LocalFuture<'a, WatchedReply> {
    // A call sends its request when it is made, not when its future is polled. The calls are therefore made outside of
    // the async blocks, so that requests are sent in the order in which they arrive here.
    match request {
        Request::Create { parent, prefix, data } => write::create(client, acl, parent.as_str(), prefix, data),
        Request::MakeParents(path) => {
            answer(async move { Reply::ParentsMade(write::make_parents(client, acl, path.as_str()).await) })
        }
        Request::CreatePersistent(path) => {
            answer(
                async move { Reply::ParentsMade(write::create_persistent(client, acl, path.as_str()).await) },
            )
        }
        Request::List(path) => {
            let list = read::list(client, &path);
            answer(async move { Reply::Listed(list.await) })
        }
        Request::CatchUpAndList(path) => {
            let list = read::catch_up_and_list(client, path);
            answer(async move { Reply::Listed(list.await) })
        }
        Request::Watch(path) => read::watch(client, path),
        Request::WatchBelow(path) => read::watch_below(client, path),
        Request::Get(path) => {
            let get = read::get(client, path.clone());
            answer(async move { Reply::Read(path, get.await) })
        }
        Request::Delete(path) => {
            let delete = write::delete(client, path.as_str(), None);
            answer(async move { Reply::Deleted(delete.await) })
        }
        Request::DeleteUnchanged(path, version) => {
            let delete = write::delete(client, path.as_str(), Some(version));
            answer(async move { Reply::Deleted(delete.await) })
        }
        Request::RecordSuccess { record, data, node } => answer(async move {
            Reply::SuccessRecorded(
                write::record_success(client, acl, record.as_str(), &data, node.as_str()).await,
            )
        }),
        Request::Write(path, data, version) => {
            let write = write::replace(client, path, data, version);
            answer(async move { Reply::Written(write.await) })
        }
        Request::Confirm(paths) => {
            let (sent, confirm) = write::confirm(client, &paths);
            answer(async move { Reply::Confirmed(sent, confirm.await) })
        }
    }
}

fn answer<'a>(reply: impl Future<Output = Reply> + 'a) -> LocalFuture<'a, WatchedReply> {
    Box::pin(async move { reply.await.into() })
}

/// Makes a call immediately, and retries it after a pause for as long as a throttling server refuses it.
pub(super) fn retry_throttled<'a, T, F>(
    call: impl Fn() -> F + 'a,
) -> impl Future<Output = Result<T, Error>> + 'a
where
    T: 'a,
    F: Future<Output = Result<T, Error>> + 'a,
{
    let first = call();
    async move {
        let mut result = first.await;
        while matches!(result, Err(Error::Throttled)) {
            pause().await;
            result = call().await;
        }
        result
    }
}

/// Waits before a throttling server is tried again.
pub(super) async fn pause() {
    Timer::after(THROTTLED_PAUSE).await;
}
