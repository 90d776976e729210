//! A session for synchronous code: requests go in, replies come out as events.
//!
//! One thread runs it, and polls both the library's task and zklock's requests.

use std::cell::Cell;
use std::io;
use std::panic;
use std::pin::pin;
use std::sync::Once;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_io::Timer;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, ready, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, select_biased};
use zklock_core::connecting::{ConnectSpeed, ReconnectPause, longest_reconnection};
use zklock_core::planted::{Mistake, planted};
use zookeeper_client::{Acl, Client, Error, SessionInfo, SessionState};

use super::connect::{Connection, Dialer};
use super::library_task::LibraryTask;
use super::requests::{LocalFuture, WatchedReply, send_request};
use super::security::{Rotation, to_library};
use super::watches::Watches;
use super::{
    Asker, NodePath, Reply, Request, RequestError, SessionChange, SessionKey, Settings, diagnose, write,
};
use crate::process::thread::builder;
use crate::process::{clock, sys};

/// The name of a session's thread.
const THREAD: &str = "session";

/// A session with the ensemble, or the attempt to establish one.
///
/// Only [`release`](Self::release) closes it. A session that is dropped, on whatever way out, is left to its timeout:
/// its lock may protect a process that is still alive.
#[derive(Debug)]
pub struct Session {
    commands: UnboundedSender<Command>,
    _thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Command {
    Ask(Asker, Request),
    /// Delete these nodes and close the session, all in flight together.
    Release(Vec<NodePath>),
}

/// The client library panics at some answers that no ZooKeeper gives. A panic ends the session and is reported as its
/// end; the place in the code goes to the debug log.
fn report_panics_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() == Some(THREAD) {
                let text = panic.to_string();
                log::debug!("the client failed: {text:?}");
                PANIC.set(reason(&text));
            } else {
                usual(panic);
            }
        }));
    });
}

thread_local! {
    /// Why this session's thread panicked.
    static PANIC: Cell<&str> = const { Cell::new(ANSWER) };
}

const ANSWER: &str = "the ZooKeeper client failed at what the server said";

/// The reason for a panic with this text. Libraries panic, too, if they can't start a thread of theirs.
fn reason(panic: &str) -> &'static str {
    if panic.contains("spawn") {
        "can't start another thread: the limit of threads or of memory is reached; raise 'ulimit -u', 'ulimit -v', \
         TasksMax or pids.max"
    } else {
        ANSWER
    }
}

/// Receives the events of sessions: changes, replies and fired watches.
pub trait EventSink: Send + 'static {
    /// The session has changed.
    fn session(&self, session: SessionKey, change: SessionChange);

    /// A reply to a request of this asker, or a watch of this asker that fired.
    fn reply(&self, session: SessionKey, asker: Asker, reply: Reply);

    /// Asked again and again in the session's thread: whether to keep the session, and for how long until it is asked
    /// again. `None`: the receiver hangs, so the session is left to its timeout, which the servers granted as `timeout`.
    fn keeps(&self, timeout: Duration) -> Option<Duration> {
        let _ = timeout;
        Some(Duration::MAX)
    }
}

/// Passes on the events of one session.
struct SessionSink {
    key: SessionKey,
    sink: Box<dyn EventSink>,
}

impl Session {
    /// Starts connecting. The result arrives as [`SessionChange::Connected`] or [`SessionChange::Unreachable`].
    pub fn open(key: SessionKey, settings: Settings, sink: impl EventSink) -> io::Result<Self> {
        report_panics_once();
        let (commands, inbox) = unbounded();
        let sink = SessionSink { key, sink: Box::new(sink) };
        let thread = builder().name(THREAD.to_owned()).spawn(move || run(&settings, inbox, &sink))?;
        Ok(Self { commands, _thread: thread })
    }

    /// Sends a request. The reply goes to `asker`, unless the session ends first: then its end is reported.
    pub fn ask(&self, asker: Asker, request: Request) {
        log::trace!("request of {asker:?}: {request:?}");
        // Refused only when the session has ended, which has been reported.
        let _ = self.commands.unbounded_send(Command::Ask(asker, request));
    }

    /// Deletes `nodes` and closes the session, all in flight together. Each delete is answered;
    /// [`SessionChange::Closed`] says that the server confirmed the close.
    pub fn release(&self, nodes: Vec<NodePath>) {
        let _ = self.commands.unbounded_send(Command::Release(nodes));
    }
}

impl SessionSink {
    fn session(&self, change: SessionChange) {
        if let SessionChange::Lost(failure) = &change {
            log::debug!("the session is over: {failure:?}");
        }
        self.sink.session(self.key, change);
    }

    fn servers_say(&self, servers: Vec<String>) {
        self.session(SessionChange::ServersSay(servers));
    }

    fn reply(&self, asker: Asker, reply: Reply) {
        log::trace!("reply to {asker:?}: {reply:?}");
        self.sink.reply(self.key, asker, reply);
    }
}

impl Drop for SessionSink {
    /// Reports a thread that panicked, because its result is awaited.
    fn drop(&mut self) {
        if thread::panicking() {
            self.session(SessionChange::Lost(RequestError::Other(PANIC.get().to_owned())));
        }
    }
}

fn run(settings: &Settings, inbox: UnboundedReceiver<Command>, sink: &SessionSink) {
    let library = LibraryTask::default();
    // On the heap, because it would be moved into each of the functions that poll it, and a stack never shrinks.
    library.block_on(Box::pin(run_session(settings, inbox, sink, &library)));
}

/// Connects, carries out requests, and reconnects whenever the connection is lost, until the session is closed or lost.
async fn run_session(
    settings: &Settings,
    mut inbox: UnboundedReceiver<Command>,
    sink: &SessionSink,
    library: &LibraryTask,
) {
    // All settings were checked before, but a long list of CA certificates is read again.
    let Ok(rotation) = settings.security.rotation(&settings.hosts) else {
        return sink.session(SessionChange::Unreachable(diagnose::texts(settings)));
    };
    let mut dialer = Dialer::new(settings, rotation.as_ref());
    let Some(granted) = connect_unless_released(settings, &mut dialer, &mut inbox, sink).await else {
        return;
    };
    let Connection { mut client, began, speed, .. } = granted;
    sink.session(SessionChange::Connected {
        id: client.session_id().0,
        timeout: client.session_timeout(),
        began,
    });
    // Connecting needs a deep stack. Now another thread has the next step.
    sys::return_unused_stack();
    let (session, timeout) = (client.session().clone(), client.session_timeout());
    let pause = ReconnectPause::new(clock::now());
    let mut reconnection =
        Reconnection { session, timeout, speed, pause, dialer, rotation: rotation.as_ref(), library, sink };
    reconnection.set_connected(true);
    let acl = to_library(&settings.security.acl);
    let serving = async {
        loop {
            library.ends_with_the_connection_of(&client);
            let mut watches = Watches::default();
            match serve(&client, &acl, &mut inbox, &mut watches, library, sink).await {
                // The watches are kept until the end: dropping one that is set would cost a request.
                Served::Release(nodes) => return reconnection.release(client, &nodes).await,
                // The library closes the session of a client that is dropped, unless its task has ended.
                Served::Dropped => return library.end().await,
                Served::ConnectionLost => match reconnection.reconnect().await {
                    Ok(another) => client = another,
                    Err(failure) => return sink.session(SessionChange::Lost(failure)),
                },
                Served::SessionEnded(failure) => return sink.session(SessionChange::Lost(failure)),
            }
            sink.session(SessionChange::Reconnected);
        }
    };
    if let Either::Right(_) = select(pin!(serving), pin!(receiver_hangs(sink, timeout))).await {
        library.end().await;
        sink.session(SessionChange::Lost(RequestError::GivenUp));
    }
}

/// Waits until the receiver of the events hangs.
async fn receiver_hangs(sink: &SessionSink, timeout: Duration) {
    while let Some(span) = sink.sink.keeps(timeout) {
        Timer::after(span).await;
    }
}

/// Reconnects a session.
struct Reconnection<'a> {
    session: SessionInfo,
    timeout: Duration,
    speed: ConnectSpeed,
    pause: ReconnectPause,
    dialer: Dialer<'a>,
    rotation: Option<&'a Rotation>,
    library: &'a LibraryTask,
    sink: &'a SessionSink,
}

impl Reconnection<'_> {
    /// A new connection for the session, in place of one that was lost. All watches and requests end with the old one.
    ///
    /// Gives the session up after the [longest reconnection](longest_reconnection).
    async fn reconnect(&mut self) -> Result<Client, RequestError> {
        self.set_connected(false);
        self.library.end().await;
        Timer::after(self.pause.after_loss(clock::now(), self.timeout)).await;
        let sink = self.sink;
        let away = |away| sink.session(SessionChange::StillAway(away));
        let settings = self.dialer.settings;
        let reconnecting = self.dialer.reconnect(&self.session, self.timeout, self.speed, away);
        let watching = diagnose::watch(settings, None, |said| sink.servers_say(said));
        let limit = Timer::after(longest_reconnection(self.timeout));
        let granted = match select(select(pin!(reconnecting), pin!(watching)), limit).await {
            Either::Left((Either::Left((Ok(granted), _)), _)) => granted,
            Either::Left((Either::Left((Err(Error::SessionExpired), _)), _)) => {
                return Err(RequestError::Expired);
            }
            Either::Left((Either::Left((Err(Error::AuthFailed), _)), _)) => {
                return Err(RequestError::AuthFailed);
            }
            _ => return Err(RequestError::GivenUp),
        };
        self.session = granted.client.session().clone();
        self.speed = self.speed.at_best(granted.speed);
        self.pause.connected(clock::now());
        self.set_connected(true);
        Ok(granted.client)
    }

    /// Sends the deletes together with the close. The close alone would be enough, but the next contender's server
    /// learns of the deletes first.
    async fn release(mut self, client: Client, nodes: &[NodePath]) {
        let mut deletes: FuturesUnordered<_> =
            nodes.iter().map(|node| write::delete(&client, node.as_str(), None)).collect();
        // If no server answers any more, zklock gives the session up itself: nothing was confirmed.
        self.sink.session(match self.close(client, &mut deletes).await {
            Ok(()) => SessionChange::Closed,
            Err(failure) => SessionChange::Lost(failure),
        });
    }

    /// Closes the session, over as many connections as necessary.
    async fn close(
        &mut self,
        mut client: Client,
        deletes: &mut FuturesUnordered<LocalFuture<'static, Result<(), RequestError>>>,
    ) -> Result<(), RequestError> {
        loop {
            let mut state = client.state_watcher();
            drop(client);
            let end = loop {
                let changed = async { state.changed().await };
                select_biased! {
                    result = deletes.select_next_some() => {
                        self.sink.reply(Asker::Lease, Reply::Deleted(result));
                    }
                    state = Box::pin(changed).fuse() => break state,
                }
            };
            match end {
                SessionState::Closed => return Ok(()),
                SessionState::Expired => return Err(RequestError::Expired),
                SessionState::AuthFailed => return Err(RequestError::AuthFailed),
                _ => {
                    client = self.reconnect().await?;
                    self.library.ends_with_the_connection_of(&client);
                }
            }
        }
    }

    fn set_connected(&self, connected: bool) {
        self.rotation.iter().for_each(|rotation| rotation.set_connected(connected));
    }
}

/// Opens the session, until the deadline of the settings or a command to release. Reports why there is none.
async fn connect_unless_released(
    settings: &Settings,
    dialer: &mut Dialer<'_>,
    inbox: &mut UnboundedReceiver<Command>,
    sink: &SessionSink,
) -> Option<Connection> {
    let attempt = async {
        let watching = diagnose::watch(settings, settings.deadline, |said| sink.servers_say(said));
        match select(pin!(dialer.connect()), pin!(watching)).await {
            Either::Left((Ok(granted), _)) => Ok(granted),
            Either::Left((Err(Error::AuthFailed), _)) => Err(SessionChange::Lost(RequestError::AuthFailed)),
            Either::Left((Err(_), _)) => Err(SessionChange::Unreachable(diagnose::texts(settings))),
            Either::Right((servers, _)) => Err(SessionChange::Unreachable(servers)),
        }
    };
    // The only possible command before there is a session is to give up; or the session is dropped.
    match select(pin!(attempt), inbox.next()).await {
        Either::Left((Ok(granted), _)) => Some(granted),
        Either::Left((Err(failure), _)) => {
            sink.session(failure);
            None
        }
        Either::Right(_) => {
            sink.session(SessionChange::Closed);
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
    sink: &SessionSink,
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
            (asker, reply) = Box::pin(watches.next()).fuse() => sink.reply(asker, reply),
            (asker, WatchedReply { reply, watch }) = requests.select_next_some() => {
                // The server says that the session has moved to another connection: a new one takes it back.
                if reply.failure() == Some(&RequestError::ConnectionLost) {
                    requests.push(Box::pin(ready((asker, reply.into()))));
                    break;
                }
                if let Some((path, watcher)) = watch {
                    watches.add(asker, path, watcher);
                }
                sink.reply(asker, reply);
            }
            command = inbox.next() => match command {
                Some(Command::Ask(asker, request)) => {
                    let answer = send_request(client, acl, request);
                    requests.push(Box::pin(async move { (asker, answer.await) }));
                }
                Some(Command::Release(nodes)) => return Served::Release(nodes),
                None if planted(Mistake::ReleasedByDrop) => return Served::Release(Vec::new()),
                None => return Served::Dropped,
            },
        }
    }
    sink.session(SessionChange::Disconnected);
    // The library answers all open requests now.
    library.end().await;
    while let Some((asker, answer)) = requests.next().await {
        sink.reply(asker, answer.reply);
    }
    Served::ConnectionLost
}
