//! Runs the client library's own task with the session's, and only while its first connection lasts.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use async_executor::{LocalExecutor, Task};
use asyncs::task::{Spawn, Task as Spawned};
use zookeeper_client::{Client, SessionState, StateWatcher};

use super::requests::LocalFuture;

/// The task that the library spawns for each connected client. When the connection is lost, the library's task would
/// search for servers by itself; here it ends instead.
#[derive(Default)]
pub(super) struct LibraryTask {
    executor: LocalExecutor<'static>,
    task: RefCell<Option<Task<()>>>,
    state: Rc<RefCell<Option<StateWatcher>>>,
}

impl LibraryTask {
    /// Runs `main` and the library's task until `main` is done. It is on the heap, because it would be moved into each
    /// of the functions that poll it.
    pub(super) async fn run(&self, main: LocalFuture<'_, ()>) {
        self.executor.run(main).await;
    }

    /// While the result lives, it is this task that the library spawns on this thread.
    pub(super) fn enter(&self) -> impl Sized + '_ {
        asyncs::task::enter(self)
    }

    /// From now on the task ends with this client's connection, before it sends anything over another one.
    pub(super) fn ends_with_the_connection_of(&self, client: &Client) {
        self.state.replace(Some(client.state_watcher()));
    }

    /// Ends the task immediately. Its connection is closed, but not its session, which stays alive on the servers.
    pub(super) async fn end(&self) {
        let task = self.task.take();
        if let Some(task) = task {
            task.cancel().await;
        }
    }
}

impl Spawn for LibraryTask {
    fn spawn(&self, task: Spawned) {
        self.state.replace(None);
        let state = Rc::clone(&self.state);
        let lost = move || {
            let state = state.borrow().as_ref().map(StateWatcher::peek_state);
            state == Some(SessionState::Disconnected)
        };
        let mut library = Box::into_pin(task.future);
        let task = self.executor.spawn(poll_fn(move |context| match library.as_mut().poll(context) {
            Poll::Pending if !lost() => Poll::Pending,
            _ => Poll::Ready(()),
        }));
        // The previous task belongs to a client that was closed, and has nothing left to do.
        self.task.replace(Some(task));
    }
}
