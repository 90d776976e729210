//! Sessions of zklock's client library, on the calling thread.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use async_executor::LocalExecutor;
use asyncs::task::{Spawn, Task};
use zookeeper_client::{Acls, Client, CreateMode, Error};

/// The session timeout: zklock's default.
pub(crate) const SESSION: Duration = Duration::from_secs(30);

struct ExecutorHandle(Rc<LocalExecutor<'static>>);

impl Spawn for ExecutorHandle {
    fn spawn(&self, task: Task) {
        self.0.spawn(Box::into_pin(task.future)).detach();
    }
}

/// Runs `work` and the sessions that it opens on this thread.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let executor = Rc::new(LocalExecutor::new());
    let executor_handle = ExecutorHandle(Rc::clone(&executor));
    let _scope = asyncs::task::enter(&executor_handle);
    async_io::block_on(executor.run(work))
}

/// Connects like zklock.
pub(crate) async fn connect(hosts: &str) -> Client {
    Client::connector()
        .with_session_timeout(SESSION)
        .with_connection_timeout(SESSION / 8)
        .with_fail_eagerly()
        .connect(hosts)
        .await
        .expect("a session")
}

/// Sends the close of a session, after all earlier requests. The returned future waits for the answer.
pub(crate) fn close(client: Client) -> impl Future<Output = ()> {
    let mut state = client.state_watcher();
    drop(client);
    async move { while !state.changed().await.is_terminated() {} }
}

/// Creates a lock path if it doesn't exist.
pub(crate) fn make(hosts: &str, path: &str) {
    run(async {
        let client = connect(hosts).await;
        match client.create(path, b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await {
            Ok(_) | Err(Error::NodeExists) => {}
            Err(error) => panic!("can't make {path}: {error}"),
        }
        close(client).await;
    });
}

/// The number of children of `path`.
pub(crate) fn children(hosts: &str, path: &str) -> usize {
    run(async {
        let client = connect(hosts).await;
        let children = client.list_children(path).await.expect("the children").len();
        close(client).await;
        children
    })
}

/// The prefix of a contender's node, in Curator's naming.
pub(crate) fn prefix(path: &str) -> String {
    format!("{path}/_c_{}-lock-", uuid::Uuid::new_v4())
}

/// Data of about the same length as zklock's.
pub(crate) const DATA: &[u8] = br#"{"version":1,"host":"host-a","pid":12345,"user":"somebody","program":"true","mode":"exclusive","slots":1}"#;
