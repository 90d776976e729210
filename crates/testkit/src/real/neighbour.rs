//! Locks of other projects, acquired by those projects' own libraries.

use super::jvm::java;
use super::lines::Lines;
use super::server::shared;
use super::spawn::spawn;
use super::wait::DEADLINE;
use super::zklock::new_marker;
use std::env;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Curator and its dependencies, where Debian installs them.
const CURATOR: &str = "/usr/share/java/curator-recipes.jar:/usr/share/java/curator-framework.jar:\
                       /usr/share/java/curator-client.jar:/usr/share/java/guava.jar:\
                       /usr/share/java/slf4j-api.jar:/usr/share/java/zookeeper.jar:\
                       /usr/share/java/slf4j-simple.jar";

/// The recipes that come with ZooKeeper.
const RECIPES: &str =
    "/usr/share/java/zookeeper-recipes-lock.jar:/usr/share/java/zookeeper-recipes-election.jar";

/// The session timeout of the processes that all tests share, in seconds.
const LONG: u32 = 20;

const HELPERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers");

/// A process that acquires locks with one library, on the server that all tests share. It reads its commands from the
/// test process, so it ends when the test process ends.
pub struct Neighbour {
    // It ends when its stdin is closed.
    child: Mutex<Child>,
    stdin: Mutex<ChildStdin>,
    stdout: Lines,
    stderr: Lines,
}

/// A lock that a neighbour was told to acquire.
pub struct NeighbourLock {
    neighbour: &'static Neighbour,
    id: String,
}

/// The process that uses Curator. Its kinds of locks are `mutex`, `read`, `write`, `stepping` (a write lock that can
/// become a read lock), and `revocable` (a mutex that is released on request). It also offers recipes that zklock can't
/// share a path with: `semaphore`, `semaphore-mutex` and `latch`, and the `write-lock` and `election` that come with
/// ZooKeeper.
pub fn curator() -> &'static Neighbour {
    static CURATOR_PROCESS: OnceLock<Neighbour> = OnceLock::new();
    CURATOR_PROCESS.get_or_init(|| Neighbour::curator(LONG))
}

/// The class path of Curator, from `CURATOR_HOME` or else from Debian's package, and of ZooKeeper's recipes.
fn curator_class_path() -> String {
    let curator = env::var("CURATOR_HOME").map(|home| format!("{home}/lib/*:{home}/conf"));
    format!("{}:{RECIPES}", curator.as_deref().unwrap_or(CURATOR))
}

/// The process that uses kazoo. Its kinds of locks are `lock`, `named` (a lock with an identifier), `read`, `write` and
/// `semaphore`.
pub fn kazoo() -> &'static Neighbour {
    static KAZOO_PROCESS: OnceLock<Neighbour> = OnceLock::new();
    KAZOO_PROCESS.get_or_init(|| Neighbour::kazoo(LONG))
}

impl Neighbour {
    /// A process of its own that uses Curator, with this session timeout in seconds.
    pub fn curator(session: u32) -> Self {
        let mut java = Command::new(java());
        let options = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"];
        java.args(options).args(["-cp", &curator_class_path()]).arg(format!("{HELPERS}/Neighbours.java"));
        Self::start(java, session)
    }

    /// The same with kazoo.
    pub fn kazoo(session: u32) -> Self {
        let mut python = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/venv/bin/python"));
        python.arg(format!("{HELPERS}/neighbours.py"));
        Self::start(python, session)
    }

    fn start(mut command: Command, session: u32) -> Self {
        command
            .args([shared().connect_string(), session.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawn(&mut command);
        Self {
            stdin: Mutex::new(child.stdin.take().expect("a pipe")),
            stdout: Lines::read("stdout", child.stdout.take().expect("a pipe")),
            stderr: Lines::read("stderr", child.stderr.take().expect("a pipe")),
            child: Mutex::new(child),
        }
    }

    /// Starts to acquire a lock of this kind, without waiting until it is acquired.
    pub fn take(&'static self, kind: &str, path: &str) -> NeighbourLock {
        let theirs = NeighbourLock { neighbour: self, id: new_marker() };
        self.say(&format!("take {} {kind} {path}", theirs.id));
        theirs
    }

    /// Kills the process, as by `kill -9`.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.kill().expect("our child");
        child.wait().expect("our child");
    }

    /// Uses Curator's `Revoker` to ask the contender with this node to release the lock, and returns when the request
    /// was made.
    #[track_caller]
    pub fn revoke(&self, node: &str) {
        let id = new_marker();
        self.say(&format!("revoke {id} {node}"));
        self.stdout.wait_for(&format!("revoked {id}"), DEADLINE);
    }

    /// Curator's version: its first two numbers.
    #[track_caller]
    pub fn version(&self) -> [u32; 2] {
        let id = new_marker();
        self.say(&format!("version {id}"));
        let line = self.stdout.wait_for(&format!("version {id} "), DEADLINE);
        let version = line.rsplit(' ').next().unwrap_or_default();
        let mut numbers = version.split('.').map(|number| number.parse().expect("a version"));
        [(); 2].map(|()| numbers.next().expect("two numbers"))
    }

    fn say(&self, line: &str) {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(stdin, "{line}").unwrap_or_else(|error| {
            panic!(
                "the neighbour is gone ({error}); scripts/test installs what it needs:\n{}",
                self.stderr.text()
            )
        });
    }
}

impl NeighbourLock {
    /// Waits until the neighbour holds the lock.
    #[track_caller]
    pub fn wait_held(&self) {
        self.neighbour.stdout.wait_for(&format!("held {}", self.id), DEADLINE);
    }

    /// Whether the neighbour has reported that it holds the lock.
    pub fn is_held(&self) -> bool {
        self.neighbour.stdout.count(&format!("held {}", self.id)) > 0
    }

    /// Turns a `stepping` lock from a write lock into a read lock, and returns when that is done.
    #[track_caller]
    pub fn step_down(&self) {
        self.neighbour.say(&format!("step {}", self.id));
        self.neighbour.stdout.wait_for(&format!("stepped {}", self.id), DEADLINE);
    }

    /// Waits until the neighbour has been asked to release this `revocable` lock.
    #[track_caller]
    pub fn wait_asked(&self) {
        self.neighbour.stdout.wait_for(&format!("asked {}", self.id), DEADLINE);
    }

    /// Tells the neighbour to release the lock, or not to keep it.
    pub fn start_to_give(&self) {
        self.neighbour.say(&format!("give {}", self.id));
    }

    /// Waits until the neighbour has released the lock, for example because it was asked to.
    #[track_caller]
    pub fn wait_released(&self) {
        self.neighbour.stdout.wait_for(&format!("released {}", self.id), DEADLINE);
    }

    /// Tells the neighbour to release the lock, and returns when the lock is released.
    #[track_caller]
    pub fn give(self) {
        self.start_to_give();
        self.wait_released();
    }
}
