//! The course of a session: connecting, serving requests, reconnecting, and its end.

use std::pin::pin;

use futures::channel::mpsc::UnboundedReceiver;
use futures::future::{Either, ready, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, select_biased};
use zookeeper_client::{Acl, Client, EventType, SessionState, WatchedEvent};

use super::connect::Connector;
use super::library_task::LibraryTask;
use super::requests::{LocalFuture, WatchedReply, send_request};
use super::security::to_library;
use super::session::{Command, SessionEvents};
use super::{Asker, NodePath, Reply, RequestError, SessionChange, Settings, write};

/// All watches of a connection, each with its asker and its path.
type Watches = FuturesUnordered<LocalFuture<'static, (Asker, NodePath, WatchedEvent)>>;

/// Connects, carries out requests, and reconnects whenever the connection is lost, until the session is closed or lost.
pub(super) async fn run_session(
    settings: &Settings,
    mut inbox: UnboundedReceiver<Command>,
    events: &SessionEvents,
    library: &LibraryTask,
) {
    let opening = Connector::open(settings, library, events);
    // The only possible command before there is a session is to give up; or the session is dropped.
    let (mut connector, mut client, began) = match select(pin!(opening), inbox.next()).await {
        Either::Left((Ok(opened), _)) => opened,
        Either::Left((Err(failure), _)) => return events.session(failure),
        Either::Right(_) => return events.session(SessionChange::Closed),
    };
    events.session(SessionChange::Connected {
        id: client.session_id().0,
        timeout: client.session_timeout(),
        began,
    });
    let acl = to_library(&settings.security.acl);
    loop {
        library.ends_with_the_connection_of(&client);
        let mut watches = FuturesUnordered::new();
        match serve(&client, &acl, &mut inbox, &mut watches, library, events).await {
            // The watches are kept until the end: dropping one that is set would cost a request.
            Served::Release(nodes) => return release(connector, client, &nodes, library, events).await,
            // The library closes the session of a client that is dropped, unless its task has ended.
            Served::Dropped => return library.end().await,
            Served::ConnectionLost => match connector.reconnect().await {
                Ok(another) => client = another,
                Err(failure) => return events.session(failure),
            },
            Served::SessionEnded(failure) => return events.session(SessionChange::Lost(failure)),
        }
        events.session(SessionChange::Reconnected);
    }
}

/// How one connection ended.
enum Served {
    /// zklock was told to delete these nodes and to close the session.
    Release(Vec<NodePath>),
    /// zklock has dropped the session without releasing it.
    Dropped,
    /// The connection was lost, which was reported. Every request that was made is answered.
    ConnectionLost,
    /// The session has ended.
    SessionEnded(RequestError),
}

/// Carries out requests over one connection.
async fn serve(
    client: &Client,
    acl: &[Acl],
    inbox: &mut UnboundedReceiver<Command>,
    watches: &mut Watches,
    library: &LibraryTask,
    events: &SessionEvents,
) -> Served {
    let mut requests: FuturesUnordered<LocalFuture<'_, (Asker, WatchedReply)>> = FuturesUnordered::new();
    let mut state = client.state_watcher();
    loop {
        let changed = async { state.changed().await };
        select_biased! {
            // State changes first: no conclusions may be drawn from an order of events that spans a reconnection.
            state = Box::pin(changed).fuse() => match state {
                // A new connection means that the old one was lost, and the library reconnected before zklock noticed.
                SessionState::Disconnected | SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                    break;
                }
                SessionState::AuthFailed => return Served::SessionEnded(RequestError::AuthFailed),
                SessionState::Expired => return Served::SessionEnded(RequestError::Expired),
                SessionState::Closed => return Served::SessionEnded(RequestError::GivenUp),
            },
            // Watches before replies: a reply's reader should know of a change that was already seen.
            (asker, path, event) = watches.select_next_some() => {
                // Changes of the session are reported elsewhere.
                if !event.session_state.is_terminated() && event.event_type != EventType::Session {
                    // A watch on the parent's children also reports the deletion of the parent.
                    let deleted = event.event_type == EventType::NodeDeleted && event.path == path.as_str();
                    events.reply(asker, Reply::Changed(path, deleted));
                }
            }
            (asker, WatchedReply { reply, watch }) = requests.select_next_some() => {
                // The server says that the session has moved to another connection: a new one takes it back.
                if reply.failure() == Some(&RequestError::ConnectionLost) {
                    requests.push(Box::pin(ready((asker, reply.into()))));
                    break;
                }
                if let Some((path, watcher)) = watch {
                    watches.push(Box::pin(async move { (asker, path, watcher.changed().await) }));
                }
                events.reply(asker, reply);
            }
            command = inbox.next() => match command {
                Some(Command::Ask(asker, request)) => {
                    let answer = send_request(client, acl, request);
                    requests.push(Box::pin(async move { (asker, answer.await) }));
                }
                Some(Command::Release(nodes)) => return Served::Release(nodes),
                None => return Served::Dropped,
            },
        }
    }
    events.session(SessionChange::Disconnected);
    // The library answers all open requests now.
    library.end().await;
    while let Some((asker, answer)) = requests.next().await {
        events.reply(asker, answer.reply);
    }
    Served::ConnectionLost
}

/// Closes the session, over as many connections as necessary. The deletes are sent together with the close. The close
/// alone would be enough, but the next contender's server learns of the deletes first.
async fn release(
    mut connector: Connector<'_>,
    mut client: Client,
    nodes: &[NodePath],
    library: &LibraryTask,
    events: &SessionEvents,
) {
    let mut deletes: FuturesUnordered<_> =
        nodes.iter().map(|node| write::delete(&client, node.as_str())).collect();
    loop {
        let mut state = client.state_watcher();
        drop(client);
        let end = loop {
            let changed = async { state.changed().await };
            select_biased! {
                result = deletes.select_next_some() => events.reply(Asker::Lease, Reply::Deleted(result)),
                state = Box::pin(changed).fuse() => break state,
            }
        };
        match end {
            SessionState::Closed => return events.session(SessionChange::Closed),
            SessionState::Expired => return events.session(SessionChange::Lost(RequestError::Expired)),
            SessionState::AuthFailed => return events.session(SessionChange::Lost(RequestError::AuthFailed)),
            // If no server answers any more, zklock gives the session up itself: nothing was confirmed.
            _ => match connector.reconnect().await {
                Ok(another) => client = another,
                Err(failure) => return events.session(failure),
            },
        }
        library.ends_with_the_connection_of(&client);
    }
}
