//! Where the client library's own task runs: on the session's thread, and only as long as its first connection.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use async_executor::{LocalExecutor, Task};
use asyncs::task::{Spawn, Task as Spawned};
use zookeeper_client::{Client, SessionState, StateWatcher};

/// The library spawns one task for each connected client, wherever it is called from. It would go on to look for
/// servers by itself when the connection is lost; here that is its end.
#[derive(Default)]
pub(super) struct OneTask {
    executor: LocalExecutor<'static>,
    task: RefCell<Option<Task<()>>>,
    state: Rc<RefCell<Option<StateWatcher>>>,
}

impl OneTask {
    /// Runs `main` and the library's task until `main` is done, on this thread.
    pub(super) fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        let _scope = asyncs::task::enter(self);
        // Not async-io's own: two threads that take turns at the socket wake each other, in vain as a rule.
        futures::executor::block_on(self.executor.run(main))
    }

    /// From now on the task ends with the connection of this client, before it has sent anything over another one.
    pub(super) fn ends_with_the_connection_of(&self, client: &Client) {
        self.state.replace(Some(client.state_watcher()));
    }

    /// Ends the task where it stands. Its connection is closed, and its session isn't: that lives on at the servers.
    pub(super) async fn end(&self) {
        let task = self.task.take();
        if let Some(task) = task {
            task.cancel().await;
        }
    }
}

impl Spawn for OneTask {
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
        // The one before it belongs to a client that was closed, and has nothing more to do.
        self.task.replace(Some(task));
    }
}
