//! What may take long is done on threads of its own, because the thread of a session may have to stop a command in time.

use std::cell::RefCell;

use asyncs::task::{Spawn, Task, enter};
use futures::channel::oneshot::{self, Canceled, Receiver};
use futures::executor::block_on;

use crate::process::thread::builder;

/// Does `work` on another thread, which isn't joined. The result is an error if no thread can be started.
pub(super) fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, result) = oneshot::channel();
    let _ = builder().spawn(move || sender.send(work()));
    result
}

/// Runs `future` on another thread. What it spawns runs on this one from its end on.
pub(super) async fn run_in_background<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, Canceled> {
    let run = move || {
        let spawned = Spawned::default();
        let scope = enter(&spawned);
        let result = block_on(future);
        drop(scope);
        (result, spawned.0.into_inner())
    };
    let (result, spawned) = in_background(run).await?;
    for task in spawned {
        drop(asyncs::spawn(Box::into_pin(task.future)));
    }
    Ok(result)
}

/// Keeps what is spawned.
#[derive(Default)]
struct Spawned(RefCell<Vec<Task>>);

impl Spawn for Spawned {
    fn spawn(&self, task: Task) {
        self.0.borrow_mut().push(task);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::ensemble::library_task::LibraryTask;

    #[test]
    fn what_is_spawned_in_the_background_runs_in_the_foreground() {
        let here = || thread::current().id();
        let (sender, ran_on) = oneshot::channel();
        let work = async move {
            asyncs::spawn(async move { sender.send(here()) });
            here()
        };
        let library = LibraryTask::default();
        let _scope = library.enter();
        block_on(library.run(Box::pin(async move {
            let worked_on = run_in_background(work).await;
            assert!(worked_on.is_ok_and(|thread| thread != here()));
            assert_eq!(ran_on.await, Ok(here()));
        })));
    }
}
