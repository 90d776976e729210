//! What every test begins with.

use super::observer::Observer;
use super::processes::{assert_no_processes, kill_all};
use super::server::{Server, shared};
use super::shell::Shell;
use super::wait::{SOON, wait_for, wait_until};
use super::zklock::{Zklock, new_marker};
use super::{History, Running};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use zookeeper::{Acl, CreateMode, Permission};

/// Nodes and processes are to be gone at once; a busy machine may need a moment.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// A lock path of its own with everything to use it. At the end of a test that did not fail it looks that no
/// contender and no process was left behind; what a failed test left is killed.
pub(crate) struct Case {
    hosts: String,
    path: String,
    marker: String,
    observer: Arc<Observer>,
    dir: TempDir,
}

impl Case {
    /// A case on the server that all tests share.
    pub(crate) fn new(name: &str) -> Self {
        static OBSERVER: LazyLock<Arc<Observer>> =
            LazyLock::new(|| Arc::new(Observer::new(&shared().connect_string())));
        Self::with(name, &shared().connect_string(), Arc::clone(&OBSERVER))
    }

    /// A case on a server of the test's own.
    pub(crate) fn on(server: &Server, name: &str) -> Self {
        Self::at(&server.connect_string(), name)
    }

    /// A case on an ensemble: its connect string.
    pub(crate) fn at(hosts: &str, name: &str) -> Self {
        Self::with(name, hosts, Arc::new(Observer::new(hosts)))
    }

    /// The same case, but zklock connects to other hosts than the observer: through a proxy.
    pub(crate) fn through(mut self, hosts: &str) -> Self {
        hosts.clone_into(&mut self.hosts);
        self
    }

    /// The same case, but its observer is known to the servers as `user:password`.
    pub(crate) fn known_as(mut self, digest: &str) -> Self {
        self.observer = Arc::new(Observer::with_digest(&self.hosts, digest));
        // Or the first case would have it to itself.
        self.observer.mkdirs("/t");
        self
    }

    fn with(name: &str, hosts: &str, observer: Arc<Observer>) -> Self {
        let marker = new_marker();
        Self {
            hosts: hosts.to_owned(),
            path: format!("/t/{name}-{marker}"),
            marker,
            observer,
            dir: tempfile::tempdir().expect("a directory for the case"),
        }
    }

    /// The lock path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// What zklock is given as `-z`.
    pub(crate) fn hosts(&self) -> &str {
        &self.hosts
    }

    /// The value by which this case's processes are known.
    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }

    /// The client that sees what zklock really did.
    pub(crate) fn observer(&self) -> &Observer {
        &self.observer
    }

    /// An empty directory.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// zklock with `-z` and nothing else.
    pub(crate) fn zklock(&self) -> Zklock {
        Zklock::at(&self.hosts, &self.marker)
    }

    /// zklock with these options, the lock path, `--` and this command.
    pub(crate) fn lock<S: AsRef<std::ffi::OsStr>>(
        &self,
        options: &[&str],
        command: impl IntoIterator<Item = S>,
    ) -> Zklock {
        let zklock = self.zklock().args(options).arg(&self.path).arg("--");
        zklock.args(command)
    }

    /// Somebody who holds the lock: returns when the command runs. End it with a signal or by dropping it.
    #[track_caller]
    pub(crate) fn holder(&self) -> Running {
        let holder = self.lock(&[], ["sh", "-c", "echo holding; exec sleep 60"]).spawn();
        holder.wait_for_stdout("holding", SOON);
        holder
    }

    /// An interactive shell whose zklock knows the server.
    pub(crate) fn shell(&self) -> Shell {
        Shell::start(&self.hosts, &self.marker, SOON)
    }

    /// A history of jobs in the case's directory.
    pub(crate) fn history(&self) -> History {
        History::new(self.dir(), "jobs")
    }

    /// The contenders, in their order.
    pub(crate) fn contenders(&self) -> Vec<String> {
        self.observer.children(&self.path)
    }

    /// A path beside the case's own whose node gives everybody these permissions.
    pub(crate) fn guarded(&self, permissions: Permission) -> String {
        let path = format!("{}-guarded", self.path);
        self.observer.mkdirs("/t");
        let acl = vec![Acl::new(permissions, "world", "anyone")];
        self.observer.create_with_acl(&path, "", CreateMode::Persistent, acl).unwrap();
        path
    }

    /// Removes what a semaphore of Curator's leaves at the path once nobody holds it.
    pub(crate) fn remove_semaphore(&self) {
        wait_until("nothing to be left of a semaphore", SOON, || {
            // The servers remove a container that has been empty for a while, and Curator's clients one of their own.
            let nodes = ["leases", "locks"].map(|container| format!("{}/{container}", self.path));
            for node in &nodes {
                self.observer.delete_if_there(node);
            }
            !nodes.iter().any(|node| self.observer.exists(node))
        });
    }

    /// Waits until the contender at this place says in its node since when it holds the lock; and gives what it says.
    #[track_caller]
    pub(crate) fn wait_until_it_tells_since_when(&self, place: usize) -> String {
        wait_for("it to say since when it holds the lock", SOON, || {
            let node = format!("{}/{}", self.path, self.contenders().get(place - 1)?);
            self.observer.data(&node).filter(|data| data.contains("\"held_after_ms\":"))
        })
    }

    /// Waits until there are exactly `count` contenders.
    #[track_caller]
    pub(crate) fn wait_for_contenders(&self, count: usize) -> Vec<String> {
        self.observer.wait_for_contenders(&self.path, count, SOON)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if thread::panicking() {
            return kill_all(&self.marker);
        }
        // Processes first: one that is left may hold a node, and its name says more.
        let left = std::panic::catch_unwind(|| assert_no_processes(&self.marker, AFTERWARDS));
        if let Err(panic) = left {
            kill_all(&self.marker);
            std::panic::resume_unwind(panic);
        }
        self.observer.assert_no_contenders(&self.path, AFTERWARDS);
    }
}
