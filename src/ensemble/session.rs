//! A session for synchronous code: requests go in, replies come out as events.
//!
//! It runs on its owner's thread, and only when its owner asks for events: an owner that hangs keeps no session alive.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Once;
use std::task::{Context, Poll, Waker};

use futures::channel::mpsc::{UnboundedSender, unbounded};

use super::library_task::LibraryTask;
use super::requests::LocalFuture;
use super::serving::run_session;
use super::{Asker, NodePath, Reply, Request, RequestError, SessionChange, Settings};

/// A session with the ensemble, or the attempt to establish one.
///
/// Only [`release`](Requester::release) closes it. A session that is dropped, on whatever way out, is left to its
/// timeout: its lock may protect a process that is still alive.
pub struct Session {
    /// `None` once the session is over.
    task: Option<Task>,
    events: Rc<SessionEvents>,
}

/// What connects, carries out requests, and reconnects.
struct Task {
    library: Rc<LibraryTask>,
    main: LocalFuture<'static, ()>,
}

/// Sends requests to a session.
#[derive(Debug, Clone)]
pub struct Requester(UnboundedSender<Command>);

#[derive(Debug)]
pub(super) enum Command {
    Ask(Asker, Request),
    /// Delete these nodes and close the session, all in flight together.
    Release(Vec<NodePath>),
}

/// What a session tells its owner.
#[derive(Debug)]
pub enum SessionEvent {
    /// The session has changed.
    Change(SessionChange),
    /// A reply to a request of this asker, or a watch of this asker that fired.
    Reply(Asker, Reply),
}

impl Session {
    /// A session that connects while it is asked for its [events](Self::next_event). The first ones say whether it
    /// could: [`SessionChange::Connected`] or [`SessionChange::Unreachable`].
    pub fn open(settings: Settings) -> (Requester, Self) {
        let (commands, inbox) = unbounded();
        report_panics_once();
        let events = Rc::new(SessionEvents::default());
        let library = Rc::new(LibraryTask::default());
        let serving: LocalFuture<'_, _> = {
            let (library, events) = (Rc::clone(&library), Rc::clone(&events));
            Box::pin(async move { run_session(&settings, inbox, &events, &library).await })
        };
        let main = {
            let library = Rc::clone(&library);
            Box::pin(async move { library.run(serving).await })
        };
        (Requester(commands), Self { task: Some(Task { library, main }), events })
    }

    /// The next event; `None` once the session is over. If there is none yet, the session does what can be done without
    /// waiting, and `waker` is woken when there is more to do.
    pub fn next_event(&mut self, waker: &Waker) -> Poll<Option<SessionEvent>> {
        if let Some(event) = self.events.take() {
            return Poll::Ready(Some(event));
        }
        let Some(Task { library, main }) = &mut self.task else { return Poll::Ready(None) };
        let proceeded = in_client(|| {
            let _scope = library.enter();
            main.as_mut().poll(&mut Context::from_waker(waker))
        });
        match proceeded {
            Ok(Poll::Pending) => {
                return self.events.take().map_or(Poll::Pending, |event| Poll::Ready(Some(event)));
            }
            Ok(Poll::Ready(())) => {}
            Err(why) => self.events.session(SessionChange::Lost(RequestError::Other(why.to_owned()))),
        }
        self.task = None;
        Poll::Ready(self.events.take())
    }
}

impl Requester {
    /// Sends a request. The reply goes to `asker`, unless the session ends first: then its end is reported.
    pub fn ask(&self, asker: Asker, request: Request) {
        log::trace!("request of {asker:?}: {request:?}");
        // Refused only when the session has ended, which has been reported.
        let _ = self.0.unbounded_send(Command::Ask(asker, request));
    }

    /// Deletes `nodes` and closes the session, all in flight together. Each delete is answered;
    /// [`SessionChange::Closed`] says that the server confirmed the close.
    pub fn release(&self, nodes: Vec<NodePath>) {
        let _ = self.0.unbounded_send(Command::Release(nodes));
    }
}

/// The events that the owner of a session hasn't been told yet.
#[derive(Default)]
pub(super) struct SessionEvents(RefCell<VecDeque<SessionEvent>>);

impl SessionEvents {
    fn take(&self) -> Option<SessionEvent> {
        self.0.borrow_mut().pop_front()
    }

    pub(super) fn session(&self, change: SessionChange) {
        if let SessionChange::Lost(failure) = &change {
            log::debug!("the session is over: {failure:?}");
        }
        self.0.borrow_mut().push_back(SessionEvent::Change(change));
    }

    pub(super) fn servers_say(&self, servers: Vec<String>) {
        self.session(SessionChange::ServersSay(servers));
    }

    pub(super) fn reply(&self, asker: Asker, reply: Reply) {
        log::trace!("reply to {asker:?}: {reply:?}");
        self.0.borrow_mut().push_back(SessionEvent::Reply(asker, reply));
    }
}

thread_local! {
    /// Why the client library panicked on this thread, while it runs.
    static PANIC: Cell<Option<&'static str>> = const { Cell::new(None) };
}

const ANSWER: &str = "the ZooKeeper client failed at what the server said";

/// Calls the client library, which panics at some answers that no ZooKeeper gives. A panic is an error with its reason;
/// the place in the code goes to the debug log.
fn in_client<T>(call: impl FnOnce() -> T) -> Result<T, &'static str> {
    PANIC.set(Some(ANSWER));
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    let why = PANIC.take();
    result.map_err(|_| why.unwrap_or(ANSWER))
}

fn report_panics_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if PANIC.get().is_some() {
                let text = panic.to_string();
                log::debug!("the client failed: {text:?}");
                PANIC.set(Some(reason(&text)));
            } else {
                usual(panic);
            }
        }));
    });
}

/// The reason for a panic with this text. Libraries panic, too, if they can't start a thread of theirs.
fn reason(panic: &str) -> &'static str {
    if panic.contains("spawn") {
        "can't start another thread: the limit of threads or of memory is reached; raise 'ulimit -u', 'ulimit -v', \
         TasksMax or pids.max"
    } else {
        ANSWER
    }
}
