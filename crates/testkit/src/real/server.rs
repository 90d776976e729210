//! A real `ZooKeeper` server.

use super::four_letter;
use super::jvm::{Jvm, Launch};
use super::server_builder::ServerBuilder;
use super::wait::{DEADLINE, try_for};
use nix::unistd::Pid;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tempfile::TempDir;

/// The name of the data directory in the server's directory.
pub(super) const DATA: &str = "data";

/// The server that all tests share unless they harm their server. Each test uses its own lock paths.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(Server::start)
}

/// A running server. It is killed when this value is dropped, or when the test process ends for any reason.
pub struct Server {
    // Declared before `dir`, so that the process is gone before its directory is removed.
    jvm: Mutex<Option<Jvm>>,
    dir: TempDir,
    data: PathBuf,
    address: SocketAddr,
    secure: Option<SocketAddr>,
    launch: Launch,
}

impl Server {
    /// A standalone server with ticks of 200 ms and sessions of 0.4 to 60 s.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Starts a server whose configuration is in `dir`, without waiting until it is ready.
    pub(super) fn launched(
        dir: TempDir,
        address: SocketAddr,
        secure: Option<SocketAddr>,
        launch: Launch,
    ) -> Self {
        let jvm = Jvm::start(dir.path(), &launch);
        let data = dir.path().join(DATA);
        Self { jvm: Mutex::new(Some(jvm)), dir, data, address, secure, launch }
    }

    /// A server with other settings.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::new()
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.as_path()
    }

    /// The port for clients.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The value of `-z`.
    pub fn connect_string(&self) -> String {
        self.address.to_string()
    }

    /// The value of `-z` when `--tls` is used. Panics if the server has no TLS port.
    #[track_caller]
    pub fn secure_connect_string(&self) -> String {
        format!("127.0.0.1:{}", self.secure_port())
    }

    /// The TLS port. Panics if the server has none.
    #[track_caller]
    pub fn secure_port(&self) -> u16 {
        self.secure.expect("a server with TLS").port()
    }

    /// The id of the Java process, unless it was killed.
    pub fn pid(&self) -> Option<Pid> {
        self.jvm().as_ref().map(Jvm::pid)
    }

    /// The answer to a four letter word. The first may not come within a second.
    #[track_caller]
    pub fn four_letter(&self, word: &str) -> String {
        let answer = try_for(DEADLINE, || self.try_four_letter(word).ok());
        answer.unwrap_or_else(|| panic!("no answer to {word}\n{}", self.log_tail()))
    }

    /// The answer to a four letter word, or the error if none comes within a second.
    pub fn try_four_letter(&self, word: &str) -> std::io::Result<String> {
        four_letter::ask(self.address, word)
    }

    /// `standalone`, `leader` or `follower`; `None` while the server serves no clients.
    pub fn mode(&self) -> Option<String> {
        let answer = self.try_four_letter("srvr").ok()?;
        four_letter::field(&answer, "Mode:").map(str::to_owned)
    }

    /// Stops the process (SIGSTOP), and returns when all its threads are stopped.
    pub fn freeze(&self) {
        self.jvm().as_ref().expect("a running server").freeze();
    }

    /// Continues a frozen server.
    pub fn thaw(&self) {
        self.jvm().as_ref().expect("a running server").thaw();
    }

    /// Kills the server (SIGKILL), and returns when its process has ended.
    pub fn kill(&self) {
        self.jvm().take();
    }

    /// Starts the server again with the same port and data, and waits until it answers. A server that still runs is
    /// killed first.
    pub fn restart(&self) {
        self.relaunch();
        self.wait_ready();
    }

    /// Like [`Server::restart`], without waiting for the server.
    pub fn relaunch(&self) {
        let mut jvm = self.jvm();
        jvm.take();
        *jvm = Some(Jvm::start(self.dir.path(), &self.launch));
    }

    /// Kills the server, deletes its data, starts it again, and waits until it answers.
    pub fn restart_empty(&self) {
        self.relaunch_empty();
        self.wait_ready();
    }

    /// Like [`Server::restart_empty`], without waiting for the server.
    pub fn relaunch_empty(&self) {
        self.kill();
        fs::remove_dir_all(self.dir.path().join("data/version-2")).expect("the data of the server");
        self.relaunch();
    }

    /// Waits until the server serves clients.
    pub fn wait_ready(&self) {
        assert!(self.becomes_ready(), "no server: {}", self.log_tail());
    }

    /// The last lines that the server logged.
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.dir.path().join("server.log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let skipped = log.lines().count().saturating_sub(30);
        log.lines().skip(skipped).collect::<Vec<_>>().join("\n")
    }

    /// Waits until the server serves clients; returns false if its process ends or it isn't ready in time.
    pub(super) fn becomes_ready(&self) -> bool {
        let ready = try_for(DEADLINE, || {
            let alive = self.jvm().as_ref().is_some_and(Jvm::is_alive);
            let ready = self.is_ready();
            (ready || !alive).then_some(ready)
        });
        ready.unwrap_or(false)
    }

    /// Whether the server answers on its ports. The answer must name this server's directory, because another process's
    /// server could have taken the port. The TLS port is checked too, because a server opens it last.
    fn is_ready(&self) -> bool {
        let ours = self.dir.path().display().to_string();
        let is_secure = || self.secure.is_none_or(|at| TcpStream::connect(at).is_ok());
        self.try_four_letter("conf").is_ok_and(|conf| conf.contains(&ours))
            && self.mode().is_some()
            && is_secure()
    }

    fn jvm(&self) -> MutexGuard<'_, Option<Jvm>> {
        self.jvm.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
