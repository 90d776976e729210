//! A session, seen from synchronous code: requests go in, replies come out as events.
//!
//! One thread carries it: the library's task and our requests are polled there.

use std::io;
use std::panic;
use std::sync::Once;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_executor::LocalExecutor;
use asyncs::task::{Spawn, Task as Spawned};
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;
use futures::{StreamExt, select_biased};
use zookeeper_client::{Acl, Client, Error, SessionState};

use super::connect::{Granted, connect};
use super::perform::{Answer, Task, perform};
use super::security::Rotation;
use super::watches::Watches;
use super::{Failure, Reply, Request, SessionChange, SessionKey, Settings, diagnose, write};
use crate::clock::BootTime;
use crate::event::{Emitter, Event};

/// The name of the thread that a session lives on.
const THREAD: &str = "session";

/// A session with the ensemble, or the attempt to get one.
#[derive(Debug)]
pub struct Session {
    key: SessionKey,
    commands: UnboundedSender<Command>,
    _thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Command {
    Ask(usize, Request),
    /// Delete these nodes and close the session, in one flight.
    Release(Vec<String>),
}

/// The client library panics at some answers that no ZooKeeper gives. That ends the session, and is told as
/// such; where in whose code it happened is for the log.
fn report_panics_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() == Some(THREAD) {
                log::debug!("the client failed: {:?}", panic.to_string());
            } else {
                usual(panic);
            }
        }));
    });
}

/// Where the events of one session go.
struct Outlet {
    key: SessionKey,
    events: Emitter,
}

impl Session {
    /// Begins to connect. How it went comes as [`SessionChange::Connected`] or [`SessionChange::Unreachable`].
    pub fn open(key: SessionKey, settings: Settings, events: Emitter) -> io::Result<Self> {
        report_panics_once();
        let (commands, inbox) = unbounded();
        let outlet = Outlet { key, events };
        let thread =
            thread::Builder::new().name(THREAD.to_owned()).spawn(move || carry(&settings, inbox, &outlet))?;
        Ok(Self { key, commands, _thread: thread })
    }

    /// Tells this session's events from another's.
    pub fn key(&self) -> SessionKey {
        self.key
    }

    /// Sends a request for the lock with this index. The reply comes as an event, unless the session ends
    /// first: that comes as an event too.
    pub fn ask(&self, lock: usize, request: Request) {
        log::trace!("request {lock}: {request:?}");
        // Refused only when the session is over, which has been told as an event.
        let _ = self.commands.unbounded_send(Command::Ask(lock, request));
    }

    /// Deletes `nodes` and closes the session, all in one flight. Each delete is answered as an event of the
    /// lock with index 0; [`SessionChange::Closed`] says that the server confirmed the end.
    pub fn release(&self, nodes: Vec<String>) {
        let _ = self.commands.unbounded_send(Command::Release(nodes));
    }
}

impl Outlet {
    fn session(&self, change: SessionChange) {
        self.events.emit(Event::Session(self.key, change));
    }

    fn reply(&self, lock: usize, reply: Reply) {
        log::trace!("reply {lock}: {reply:?}");
        self.events.emit(Event::Reply(self.key, lock, reply));
    }
}

impl Drop for Outlet {
    /// Nobody waits for a thread that died of a bug.
    fn drop(&mut self) {
        if thread::panicking() {
            let why = "the ZooKeeper client failed at what the server said";
            self.session(SessionChange::Lost(Failure::Other(why.to_owned())));
        }
    }
}

/// The library spawns its session task wherever it is called from: here, on the session's own thread.
struct OnThisThread(LocalExecutor<'static>);

impl Spawn for OnThisThread {
    fn spawn(&self, task: Spawned) {
        self.0.spawn(Box::into_pin(task.future)).detach();
    }
}

fn carry(settings: &Settings, inbox: UnboundedReceiver<Command>, outlet: &Outlet) {
    let executor = OnThisThread(LocalExecutor::new());
    let _scope = asyncs::task::enter(&executor);
    // Not async-io's own: two threads that take turns at the socket wake each other, in vain as a rule.
    futures::executor::block_on(executor.0.run(live(settings, inbox, outlet)));
}

/// The life of a session: connect, serve, close.
async fn live(settings: &Settings, mut inbox: UnboundedReceiver<Command>, outlet: &Outlet) {
    // All of it was checked before, but a long list of authorities is read again.
    let Ok(rotation) = settings.security.rotation(&settings.hosts) else {
        return outlet.session(SessionChange::Unreachable(diagnose::all(settings)));
    };
    let connected = |connected| rotation.iter().for_each(|rotation| rotation.set_connected(connected));
    let connecting = connect_until_told_otherwise(settings, rotation.as_ref(), &mut inbox, outlet);
    let Some(granted) = connecting.await else {
        return;
    };
    connected(true);
    outlet.session(SessionChange::Connected {
        id: granted.client.session_id().0,
        timeout: granted.client.session_timeout(),
        began: granted.began,
    });
    let mut watches = Watches::default();
    let acl = settings.security.acl.to_library();
    let mut silence = Silence { since: None, longest: granted.client.session_timeout() };
    let serving = serve(&granted.client, &acl, &mut inbox, &mut watches, &mut silence, outlet, connected);
    let Some(nodes) = serving.await else {
        return;
    };
    // The watches are kept to the end: dropping one that is set would cost a request.
    release(granted.client, &nodes, silence, outlet).await;
}

/// How long there has been no connection. The library gives a session up after a while of that, and calls it expired as
/// if a server had said so.
#[derive(Debug, Clone, Copy)]
struct Silence {
    since: Option<BootTime>,
    /// A session that lasts no longer is never given up.
    longest: Duration,
}

impl Silence {
    fn begin(&mut self) {
        self.since.get_or_insert_with(BootTime::now);
    }

    /// What the end of a session means.
    fn why(self, end: SessionState) -> Failure {
        let was_long = self.since.is_some_and(|since| BootTime::now().since(since) >= self.longest);
        match end {
            SessionState::AuthFailed => Failure::AuthFailed,
            SessionState::Expired if !was_long => Failure::Expired,
            _ => Failure::GivenUp,
        }
    }
}

async fn connect_until_told_otherwise(
    settings: &Settings,
    rotation: Option<&Rotation>,
    inbox: &mut UnboundedReceiver<Command>,
    outlet: &Outlet,
) -> Option<Granted> {
    let deadline = settings.deadline.map(|deadline| diagnose::leave_time_before(deadline, settings));
    let attempt = async {
        let timer = async {
            match deadline {
                Some(deadline) => async_io::Timer::after(BootTime::now().until(deadline)).await,
                None => std::future::pending().await,
            }
        };
        match select(std::pin::pin!(connect(settings, rotation)), std::pin::pin!(timer)).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(_) => None,
        }
    };
    // The only thing that can be told to a session which isn't there yet is to give up.
    match select(std::pin::pin!(attempt), inbox.next()).await {
        Either::Left((Some(Ok(granted)), _)) => Some(granted),
        Either::Left((Some(Err(Error::AuthFailed)), _)) => {
            outlet.session(SessionChange::Lost(Failure::AuthFailed));
            None
        }
        Either::Left((Some(Err(_)) | None, _)) => {
            outlet.session(SessionChange::Unreachable(diagnose::all(settings)));
            None
        }
        Either::Right(_) => {
            outlet.session(SessionChange::Closed);
            None
        }
    }
}

/// Carries out requests until told to release (`Some`) or until the session is over (`None`).
async fn serve(
    client: &Client,
    acl: &[Acl],
    inbox: &mut UnboundedReceiver<Command>,
    watches: &mut Watches,
    silence: &mut Silence,
    outlet: &Outlet,
    connected: impl Fn(bool),
) -> Option<Vec<String>> {
    let mut requests: FuturesUnordered<Task<'_, (usize, Answer)>> = FuturesUnordered::new();
    let mut state = client.state_watcher();
    loop {
        let changed = async { state.changed().await };
        select_biased! {
            // The state first: after a reconnection nobody may trust an order of events that spans it.
            state = futures::FutureExt::fuse(Box::pin(changed)) => match state {
                SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                    silence.since = None;
                    connected(true);
                    outlet.session(SessionChange::Reconnected);
                }
                SessionState::Disconnected => {
                    silence.begin();
                    connected(false);
                    outlet.session(SessionChange::Disconnected);
                }
                SessionState::AuthFailed | SessionState::Expired | SessionState::Closed => {
                    outlet.session(SessionChange::Lost(silence.why(state)));
                    return None;
                }
            },
            // Watches before answers: a change that was seen on the way is news to whoever reads the answer.
            (lock, reply) = futures::FutureExt::fuse(Box::pin(watches.next())) => outlet.reply(lock, reply),
            (lock, Answer { reply, watch }) = requests.select_next_some() => {
                if let Some((path, watcher)) = watch {
                    watches.add(lock, path, watcher);
                }
                outlet.reply(lock, reply);
            }
            command = inbox.next() => match command {
                Some(Command::Ask(lock, request)) => {
                    let answer = perform(client, acl, request);
                    requests.push(Box::pin(async move { (lock, answer.await) }));
                }
                Some(Command::Release(nodes)) => return Some(nodes),
                None => return Some(Vec::new()),
            },
        }
    }
}

/// Deletes and close travel together; the close alone would do, but deletes are what the next contender's
/// server hears of first.
async fn release(client: Client, nodes: &[String], mut silence: Silence, outlet: &Outlet) {
    let deletes: Vec<_> = nodes.iter().map(|node| write::delete(&client, node, None)).collect();
    let mut state = client.state_watcher();
    drop(client);
    for delete in deletes {
        outlet.reply(0, Reply::Deleted(delete.await));
    }
    let end = loop {
        let state = state.changed().await;
        match state {
            SessionState::Disconnected => silence.begin(),
            state if state.is_terminated() => break state,
            _ => silence.since = None,
        }
    };
    // Where no server answers any more, it is the client that gives the session up: nothing was confirmed.
    outlet.session(match end {
        SessionState::Closed => SessionChange::Closed,
        end => SessionChange::Lost(silence.why(end)),
    });
}
