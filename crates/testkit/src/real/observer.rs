//! An independent client that checks zklock: it shares no code with the program under test.
//!
//! Its library hangs when a server is silent and fails when a server is down, so every call has a time limit and is
//! repeated on a new connection.

use super::wait::DEADLINE;
use super::zklock::new_marker;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use zookeeper::{Acl, CreateMode, Permission, Stat, WatchedEvent, ZkError, ZkResult, ZooKeeper};

/// An independent client.
pub struct Observer {
    hosts: String,
    session: Duration,
    /// `user:password`, for nodes that not every client may use.
    digest: Option<String>,
    client: Mutex<Option<Arc<ZooKeeper>>>,
}

impl Observer {
    /// Connects at the first call. The session timeout is long, so that the session outlasts the faults of a server.
    pub fn new(hosts: &str) -> Self {
        Self::with_session(hosts, Duration::from_secs(30))
    }

    /// An observer with this session timeout, for ephemeral nodes that are to vanish.
    pub fn with_session(hosts: &str, session: Duration) -> Self {
        Self { hosts: hosts.to_owned(), session, digest: None, client: Mutex::default() }
    }

    /// An observer that authenticates as `user:password`.
    pub fn with_digest(hosts: &str, digest: &str) -> Self {
        let (hosts, digest) = (hosts.to_owned(), Some(digest.to_owned()));
        Self { hosts, session: Duration::from_secs(30), digest, client: Mutex::default() }
    }

    /// The ACL of a node, as sorted entries of `scheme:id:permissions`.
    pub fn acl(&self, path: &str) -> Vec<String> {
        let node = path.to_owned();
        let (acl, _) = self
            .call("acl", move |client| client.get_acl(&node))
            .unwrap_or_else(|error| panic!("observer could not read the ACL of {path}: {error}"));
        let letters = [
            ('c', Permission::CREATE),
            ('d', Permission::DELETE),
            ('r', Permission::READ),
            ('w', Permission::WRITE),
            ('a', Permission::ADMIN),
        ];
        let described = acl.iter().map(|acl| {
            let granted = letters.iter().filter(|(_, permission)| acl.perms.can(*permission));
            let granted: String = granted.map(|(letter, _)| letter).collect();
            format!("{}:{}:{granted}", acl.scheme, acl.id)
        });
        let mut described: Vec<_> = described.collect();
        described.sort();
        described
    }

    /// The children, in the order of the sequence numbers at the end of their names; empty if the node doesn't exist.
    pub fn children(&self, path: &str) -> Vec<String> {
        let path = path.to_owned();
        let found = self.call("children", move |client| client.get_children(&path, false));
        let mut children = or_absent(found).unwrap_or_default();
        children.sort_by_key(|name| (sequence(name), name.clone()));
        children
    }

    /// The data of a node, if it exists.
    pub fn data(&self, path: &str) -> Option<String> {
        let path = path.to_owned();
        let found = self.call("data", move |client| client.get_data(&path, false));
        or_absent(found).map(|(data, _)| String::from_utf8_lossy(&data).into_owned())
    }

    /// The stat of a node (`czxid`, `ephemeral_owner`, `mtime`), if it exists.
    pub fn stat(&self, path: &str) -> Option<Stat> {
        let path = path.to_owned();
        or_absent(self.call("stat", move |client| client.exists(&path, false))).flatten()
    }

    /// Like [`Observer::stat`], but returns `None` also if the observer may not read the node: since ZooKeeper 3.9, a
    /// server refuses the stat to such a client.
    pub fn stat_if_shown(&self, path: &str) -> Option<Stat> {
        let path = path.to_owned();
        match self.call("stat", move |client| client.exists(&path, false)) {
            Err(ZkError::NoAuth) => None,
            found => or_absent(found).flatten(),
        }
    }

    /// Whether the node exists.
    pub fn exists(&self, path: &str) -> bool {
        self.stat(path).is_some()
    }

    /// Creates a node that every client may change, and returns its path.
    pub fn create(&self, path: &str, data: &str, mode: CreateMode) -> String {
        self.create_with_acl(path, data, mode, Acl::open_unsafe().clone())
            .unwrap_or_else(|error| panic!("observer could not create {path}: {error}"))
    }

    /// Creates a node with this ACL, or returns the error.
    pub fn create_with_acl(
        &self,
        path: &str,
        data: &str,
        mode: CreateMode,
        acl: Vec<Acl>,
    ) -> ZkResult<String> {
        let (path, data) = (path.to_owned(), data.as_bytes().to_vec());
        self.call("create", move |client| client.create(&path, data.clone(), acl.clone(), mode))
    }

    /// Creates the node of a contender for this lock as another client would, with these permissions for everyone, and returns its
    /// path.
    pub fn contend(&self, lock: &str, data: &str, permissions: Permission) -> String {
        self.mkdirs(lock);
        let name = format!("{lock}/_c_{}-lock-", new_marker());
        let acl = vec![Acl::new(permissions, "world", "anyone")];
        self.create_with_acl(&name, data, CreateMode::EphemeralSequential, acl)
            .unwrap_or_else(|error| panic!("observer could not contend for {lock}: {error}"))
    }

    /// Leaves these permissions alone to everyone at a node.
    pub fn restrict(&self, path: &str, permissions: Permission) {
        self.set_acl(path, Acl::new(permissions, "world", "anyone"));
    }

    /// Hides a node by an ACL that no client of the tests matches.
    pub fn hide(&self, path: &str) {
        self.set_acl(path, Acl::new(Permission::ALL, "ip", "192.0.2.1"));
    }

    fn set_acl(&self, path: &str, acl: Acl) {
        let (node, acl) = (path.to_owned(), vec![acl]);
        self.call("set_acl", move |client| client.set_acl(&node, acl.clone(), None))
            .unwrap_or_else(|error| panic!("observer could not set the ACL of {path}: {error}"));
    }

    /// Creates a persistent node and its missing parents.
    pub fn mkdirs(&self, path: &str) {
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            let acl = Acl::open_unsafe().clone();
            match self.create_with_acl(&path[..end], "", CreateMode::Persistent, acl) {
                Ok(_) | Err(ZkError::NodeExists) => {}
                Err(error) => panic!("observer could not create {}: {error}", &path[..end]),
            }
        }
    }

    /// Writes to a node, which must exist.
    pub fn set_data(&self, path: &str, data: &str) {
        let (node, data) = (path.to_owned(), data.as_bytes().to_vec());
        self.call("set_data", move |client| client.set_data(&node, data.clone(), None))
            .unwrap_or_else(|error| panic!("observer could not write {path}: {error}"));
    }

    /// Deletes a node, which must exist.
    pub fn delete(&self, path: &str) {
        let node = path.to_owned();
        self.call("delete", move |client| client.delete(&node, None))
            .unwrap_or_else(|error| panic!("observer could not delete {path}: {error}"));
    }

    /// Like [`Observer::delete`], but does nothing if the node doesn't exist or has children.
    pub fn delete_if_there(&self, path: &str) {
        let node = path.to_owned();
        let deleted = self.call("delete", move |client| client.delete(&node, None));
        if let Err(error) = deleted
            && !matches!(error, ZkError::NoNode | ZkError::NotEmpty)
        {
            panic!("observer could not delete {path}: {error}");
        }
    }

    /// Runs `work` on the client. If it takes more than eight seconds or the connection is lost, it is repeated on a
    /// new connection. Panics if there is no answer within [`DEADLINE`].
    pub fn call<T: Send + 'static>(
        &self,
        what: &str,
        work: impl Fn(&ZooKeeper) -> ZkResult<T> + Send + Sync + 'static,
    ) -> ZkResult<T> {
        let deadline = Instant::now() + DEADLINE;
        let work = Arc::new(work);
        loop {
            let (sender, receiver) = mpsc::channel();
            let (client, work, digest) = (self.client(), Arc::clone(&work), self.digest.clone());
            // A thread that hangs in the library is abandoned, because it can't be stopped.
            thread::spawn(move || {
                // The client authenticates each time, because the library doesn't do it again on another server.
                let known = digest.map_or(Ok(()), |digest| client.add_auth("digest", digest.into_bytes()));
                sender.send(known.and_then(|()| work(&client)))
            });
            // A new connection is a new session, without the nodes of the old one: a machine that hung is waited for.
            match receiver.recv_timeout(Duration::from_secs(8)) {
                Ok(Err(ZkError::ConnectionLoss | ZkError::SessionExpired)) | Err(_) => self.disconnect(),
                // The library doesn't know the error "throttled" and reports this one instead. The server has done
                // nothing, so the call is repeated.
                Ok(Err(ZkError::Unimplemented)) => {}
                Ok(answer) => return answer,
            }
            assert!(Instant::now() < deadline, "observer got no answer: {what}");
        }
    }

    /// Closes the session, so that its ephemeral nodes are deleted, and waits at most a second for that.
    pub fn disconnect(&self) {
        let client = self.lock().take();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            drop(client);
            sender.send(()).ok();
        });
        receiver.recv_timeout(Duration::from_secs(1)).ok();
    }

    fn client(&self) -> Arc<ZooKeeper> {
        let mut client = self.lock();
        let connected = client.get_or_insert_with(|| {
            let connection = ZooKeeper::connect(&self.hosts, self.session, |_: WatchedEvent| {});
            Arc::new(connection.expect("a connect string"))
        });
        Arc::clone(connected)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<ZooKeeper>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.disconnect();
    }
}

fn or_absent<T>(answer: ZkResult<T>) -> Option<T> {
    match answer {
        Ok(found) => Some(found),
        Err(ZkError::NoNode) => None,
        Err(error) => panic!("observer: {error}"),
    }
}

/// The ten digits at the end of a sequential node's name.
fn sequence(name: &str) -> Option<i64> {
    name.get(name.len().checked_sub(10)?..)?.parse().ok()
}
