//! The setup that every test starts with.

use super::observer::Observer;
use super::processes::{assert_no_processes, kill_all};
use super::server::{Server, shared};
use super::shell::Shell;
use super::wait::{DEADLINE, wait_for, wait_until};
use super::zklock::{Zklock, new_marker};
use super::{History, Running};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use zookeeper::Permission;

/// How long nodes and processes may take to disappear after a test. It is shorter than the usual session,
/// whose end would delete a node that was left.
const AFTERWARDS: Duration = Duration::from_secs(15);

/// A lock path for one test, and everything that the test needs to use it. When a test has passed, dropping the case
/// checks that no contender and no process is left behind. When a test has failed, it kills the leftover processes.
pub struct Case {
    hosts: String,
    /// The observer's servers.
    direct: String,
    path: String,
    marker: String,
    observer: Arc<Observer>,
    dir: TempDir,
}

impl Case {
    /// A case on the server that all tests share.
    pub fn new(name: &str) -> Self {
        static OBSERVER: LazyLock<Arc<Observer>> =
            LazyLock::new(|| Arc::new(Observer::new(&shared().connect_string())));
        Self::with(name, &shared().connect_string(), Arc::clone(&OBSERVER))
    }

    /// A case on the test's own server.
    pub fn on(server: &Server, name: &str) -> Self {
        Self::at(&server.connect_string(), name)
    }

    /// A case on an ensemble, given by its connect string.
    pub fn at(hosts: &str, name: &str) -> Self {
        Self::with(name, hosts, Arc::new(Observer::new(hosts)))
    }

    /// The same case, except that zklock connects to other hosts than the observer does, such as a proxy.
    pub fn through(mut self, hosts: &str) -> Self {
        hosts.clone_into(&mut self.hosts);
        self
    }

    /// The same case, with an observer that authenticates as `user:password`.
    pub fn authenticated_as(mut self, digest: &str) -> Self {
        self.observer = Arc::new(Observer::with_digest(&self.hosts, digest));
        // All cases share `/t`. Without this line, zklock could create it with an ACL for this case's user alone.
        self.observer.mkdirs("/t");
        self
    }

    fn with(name: &str, hosts: &str, observer: Arc<Observer>) -> Self {
        let marker = new_marker();
        Self {
            hosts: hosts.to_owned(),
            direct: hosts.to_owned(),
            path: format!("/t/{name}-{marker}"),
            marker,
            observer,
            dir: tempfile::tempdir().expect("a directory for the case"),
        }
    }

    /// The lock path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of `-z`.
    pub fn hosts(&self) -> &str {
        &self.hosts
    }

    /// The value that identifies this case's processes.
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// The independent client that shows what zklock really did.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// A temporary directory, empty when the test starts.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// zklock with `-z` and no other argument.
    pub fn zklock(&self) -> Zklock {
        Zklock::at(&self.hosts, &self.marker)
    }

    /// zklock with these options, the lock path, `--` and this command.
    pub fn lock<S: AsRef<std::ffi::OsStr>>(
        &self,
        options: &[&str],
        command: impl IntoIterator<Item = S>,
    ) -> Zklock {
        let zklock = self.zklock().args(options).arg(&self.path).arg("--");
        zklock.args(command)
    }

    /// Starts a holder, and returns when its command runs. End it with a signal or by dropping it.
    #[track_caller]
    pub fn holder(&self) -> Running {
        super::holder(self, &[])
    }

    /// The same with these options, connected as the observer is: without the case's proxy.
    #[track_caller]
    pub fn direct_holder(&self, options: &[&str]) -> Running {
        let zklock = Zklock::at(&self.direct, &self.marker).args(options).arg(&self.path);
        let holder = zklock.args(["--", "sh", "-c", "echo holding; exec sleep 60"]).spawn();
        holder.wait_for_stdout("holding", DEADLINE);
        holder
    }

    /// Deletes the node at this place of the queue, as an administrator might.
    #[track_caller]
    pub fn delete_node(&self, place: usize) {
        self.observer().delete(&format!("{}/{}", self.path, self.contenders()[place]));
    }

    /// bash at a terminal. `ZKLOCK_ZOOKEEPER` is set to this case's servers, `$lock` to its lock and `$zklock` to the program.
    #[track_caller]
    pub fn shell(&self) -> Shell {
        Shell::start("bash", self)
    }

    /// A history of jobs in the case's directory.
    pub fn history(&self) -> History {
        History::new(self.dir(), "jobs")
    }

    /// The contenders in queue order.
    pub fn contenders(&self) -> Vec<String> {
        self.observer.children(&self.path)
    }

    /// Creates a contender's node with this data at the end of the queue, as another client would, and returns its path.
    pub fn add_contender(&self, data: &str) -> String {
        self.observer.contend(&self.path, data, Permission::ALL)
    }

    /// Creates a node beside the case's lock path with these permissions for everyone, and returns its path.
    pub fn guarded(&self, permissions: Permission) -> String {
        let path = format!("{}-guarded", self.path);
        self.observer.mkdirs(&path);
        self.observer.restrict(&path, permissions);
        path
    }

    /// Removes the nodes that a Curator semaphore leaves at the path after its last holder.
    pub fn remove_semaphore(&self) {
        wait_until("nothing to be left of a semaphore", DEADLINE, || {
            // The nodes may disappear meanwhile: servers remove a container that has been empty for a while, and
            // Curator's clients remove one of the containers themselves.
            let nodes = ["leases", "locks"].map(|container| format!("{}/{container}", self.path));
            for node in &nodes {
                self.observer.delete_if_there(node);
            }
            !nodes.iter().any(|node| self.observer.exists(node))
        });
    }

    /// Waits until the node of the contender at this position (the first is 1) says since when the contender has held
    /// the lock, and returns the data of the node.
    #[track_caller]
    pub fn wait_for_held_since(&self, place: usize) -> String {
        wait_for("it to say since when it holds the lock", DEADLINE, || {
            let node = format!("{}/{}", self.path, self.contenders().get(place - 1)?);
            self.observer.data(&node).filter(|data| data.contains("\"held_after_ms\":"))
        })
    }

    /// Waits until there are exactly `count` contenders, and returns them in queue order.
    #[track_caller]
    pub fn wait_for_contenders(&self, count: usize) -> Vec<String> {
        self.observer.wait_for_contenders(&self.path, count, DEADLINE)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if thread::panicking() {
            return kill_all(&self.marker);
        }
        // Processes are checked first, because a leftover process may be the reason for a leftover node, and its
        // command line is more informative.
        let left = std::panic::catch_unwind(|| assert_no_processes(&self.marker, AFTERWARDS));
        if let Err(panic) = left {
            kill_all(&self.marker);
            std::panic::resume_unwind(panic);
        }
        self.observer.assert_no_contenders(&self.path, AFTERWARDS);
    }
}
