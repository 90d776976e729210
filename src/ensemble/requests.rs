//! Carries out requests by the client library's calls. Which calls a request takes, and what follows from each answer,
//! is decided in [`zklock_core::request`].

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use async_io::Timer;
use zklock_core::request::{Call, CallAnswer, CallError, FollowUp, Refusal, Step};
use zookeeper_client::{Acl, Acls, Client, Error, OneshotWatcher};

use super::failure::request_error;
use super::{NodePath, Reply, Request, read, write};
use crate::process::clock;

/// A future that belongs to a session's only thread.
pub(super) type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The answer to a call, and the watch that was set with it.
pub(super) type CallFuture<'a> = LocalFuture<'a, Result<(CallAnswer, Option<OneshotWatcher>), CallError>>;

/// An answer, and the watch that was set with it.
pub(super) struct WatchedReply {
    pub(super) reply: Reply,
    pub(super) watch: Option<(NodePath, OneshotWatcher)>,
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
    let step = Step::first(request, may_hide(acl), clock::now());
    let sent = send(client, acl, &step);
    Box::pin(follow(client, acl, step, sent))
}

/// Whether nodes with this ACL may be hidden from zklock: only the server knows which entries apply to it.
fn may_hide(acl: &[Acl]) -> bool {
    ![Acls::anyone_all(), Acls::creator_all()].iter().any(|known| **known == *acl)
}

async fn follow<'a>(
    client: &'a Client,
    acl: &'a [Acl],
    mut step: Step,
    (mut call, mut second): (CallFuture<'a>, Option<CallFuture<'a>>),
) -> WatchedReply {
    loop {
        let (answer, watcher) = match call.await {
            Ok((answer, watcher)) => (Ok(answer), watcher),
            Err(error) => (Err(error), None),
        };
        match step.answered(answer) {
            FollowUp::Reply(reply) => return reply.into(),
            FollowUp::Watching(reply, path) => {
                return WatchedReply { reply, watch: watcher.map(|watcher| (path, watcher)) };
            }
            FollowUp::Second(next) => step = next,
            FollowUp::Send(next) => (step, second) = (next, None),
            FollowUp::SendLater(next) => {
                (step, second) = (next, None);
                Timer::after(THROTTLED_PAUSE).await;
            }
        }
        (call, second) = match second.take() {
            Some(second) => (second, None),
            None => send(client, acl, &step),
        };
    }
}

/// Sends the call of a step, and the one that is sent with it. The library sends a call when it is made, not when its
/// future is polled.
fn send<'a>(client: &'a Client, acl: &'a [Acl], step: &Step) -> (CallFuture<'a>, Option<CallFuture<'a>>) {
    let first = make_call(client, acl, step.call());
    (first, step.second().map(|second| make_call(client, acl, second.call())))
}

fn make_call<'a>(client: &'a Client, acl: &'a [Acl], call: Call<'_>) -> CallFuture<'a> {
    match call {
        Call::Create { path, data, kind } => write::create(client, acl, path, data, kind),
        Call::SetData { path, data, version } => write::set_data(client, path, data, version),
        Call::Delete { path, version } => answer(client.delete(path, version), |()| CallAnswer::Done),
        Call::Record { record, data, exists, node } => {
            write::record(client, acl, (record, data, exists), node)
        }
        Call::Check { paths } => write::confirm(client, paths),
        Call::Try { nodes, data, writes } => write::try_nodes(client, acl, nodes, data, writes),
        Call::GetData { path, watch: false } => {
            answer(client.get_data(path), |(data, stat)| CallAnswer::Node(read::node(data, &stat)))
        }
        Call::GetData { path, watch: true } => read::watch(client, path),
        Call::GetChildren { path, watch: false } => answer(client.list_children(path), CallAnswer::Children),
        Call::GetChildren { path, watch: true } => read::watch_children(client, path),
        Call::Exists { path } => read::exists(client, path),
        Call::Sync { path } => answer(client.sync(path), |()| CallAnswer::Done),
    }
}

/// The future of a call that sets no watch.
pub(super) fn answer<'a, T>(
    call: impl Future<Output = Result<T, Error>> + 'a,
    answer: impl FnOnce(T) -> CallAnswer + 'a,
) -> CallFuture<'a> {
    Box::pin(async move { call.await.map(|result| (answer(result), None)).map_err(call_error) })
}

pub(super) fn call_error(error: Error) -> CallError {
    let refusal = match error {
        Error::Throttled => Refusal::Throttled,
        Error::NodeExists => Refusal::NodeExists,
        _ => Refusal::Other,
    };
    CallError { refusal, why: request_error(error) }
}
