//! The course of a session: connecting, serving requests, reconnecting, and its end.

use std::pin::pin;

use futures::channel::mpsc::UnboundedReceiver;
use futures::future::{Either, ready, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, select_biased};
use zookeeper_client::{Acl, Client, Error, EventType, SessionState, WatchedEvent};

use super::connect::{Connection, Dialer};
use super::library_task::LibraryTask;
use super::reconnection::Reconnection;
use super::requests::{LocalFuture, WatchedReply, send_request};
use super::security::to_library;
use super::session::{Command, SessionEvents};
use super::{Asker, NodePath, Reply, RequestError, SessionChange, Settings, diagnose};

/// All watches of a connection, each with its asker and its path.
type Watches = FuturesUnordered<LocalFuture<'static, (Asker, NodePath, WatchedEvent)>>;

/// Connects, carries out requests, and reconnects whenever the connection is lost, until the session is closed or lost.
pub(super) async fn run_session(
    settings: &Settings,
    mut inbox: UnboundedReceiver<Command>,
    events: &SessionEvents,
    library: &LibraryTask,
) {
    let mut dialer = Dialer::new(settings);
    let Some(granted) = connect_unless_released(settings, &mut dialer, &mut inbox, events).await else {
        return;
    };
    let Connection { mut client, began } = granted;
    events.session(SessionChange::Connected {
        id: client.session_id().0,
        timeout: client.session_timeout(),
        began,
    });
    let (session, timeout) = (client.session().clone(), client.session_timeout());
    let mut reconnection = Reconnection { session, timeout, dialer, library, events };
    let acl = to_library(&settings.security.acl);
    loop {
        library.ends_with_the_connection_of(&client);
        let mut watches = FuturesUnordered::new();
        match serve(&client, &acl, &mut inbox, &mut watches, library, events).await {
            // The watches are kept until the end: dropping one that is set would cost a request.
            Served::Release(nodes) => return reconnection.release(client, &nodes).await,
            // The library closes the session of a client that is dropped, unless its task has ended.
            Served::Dropped => return library.end().await,
            Served::ConnectionLost => match reconnection.reconnect().await {
                Ok(another) => client = another,
                Err(failure) => return events.session(SessionChange::Lost(failure)),
            },
            Served::SessionEnded(failure) => return events.session(SessionChange::Lost(failure)),
        }
        events.session(SessionChange::Reconnected);
    }
}

/// Opens the session, until the deadline of the settings or a command to release. Reports why there is none.
async fn connect_unless_released(
    settings: &Settings,
    dialer: &mut Dialer<'_>,
    inbox: &mut UnboundedReceiver<Command>,
    events: &SessionEvents,
) -> Option<Connection> {
    let attempt = async {
        let watching = diagnose::watch(settings, settings.deadline, |said| events.servers_say(said));
        match select(pin!(dialer.connect()), pin!(watching)).await {
            Either::Left((Ok(granted), _)) => Ok(granted),
            Either::Left((Err(Error::AuthFailed), _)) => Err(SessionChange::Lost(RequestError::AuthFailed)),
            Either::Left((Err(_), _)) => Err(SessionChange::Unreachable(diagnose::texts(settings).await)),
            Either::Right((servers, _)) => Err(SessionChange::Unreachable(servers)),
        }
    };
    // The only possible command before there is a session is to give up; or the session is dropped.
    match select(pin!(attempt), inbox.next()).await {
        Either::Left((Ok(granted), _)) => Some(granted),
        Either::Left((Err(failure), _)) => {
            events.session(failure);
            None
        }
        Either::Right(_) => {
            events.session(SessionChange::Closed);
            None
        }
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
