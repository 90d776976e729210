//! A Java process that can't outlive the tests.

use super::processes::state;
use super::spawn::spawn;
use super::wait::{DEADLINE, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A shell script that starts the server, prints its process id and waits. Only the test process holds the other end of
/// the pipe from which the script reads. When the test process ends, however it ends, the script therefore kills the
/// server and removes its directory.
const KEEPER: &str = r#"
dir=$1; shift
"$@" </dev/null >>"$dir/server.log" 2>&1 &
pid=$!
echo "$pid"
read -r word
kill -KILL "$pid"
wait "$pid"
[ "$word" = keep ] || rm -rf -- "$dir"
"#;

/// Starts a server, as `scripts/zookeeper` does.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/server");

/// How a server is started.
pub(super) struct Launch {
    /// The words before the command, which run it on another machine.
    pub(super) words: Vec<String>,
    /// The unpacked release, if it isn't the one that all tests use.
    pub(super) home: Option<PathBuf>,
    /// Further options of the JVM.
    pub(super) options: Vec<String>,
}

/// A `ZooKeeper` server process and the shell that ends it.
pub struct Jvm {
    keeper: Child,
    pid: Pid,
}

impl Jvm {
    /// Starts a server with the configuration `zoo.cfg` in `dir`, without waiting until it is ready.
    pub(super) fn start(dir: &Path, launch: &Launch) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEPER, "keeper"])
            .arg(dir)
            .args(&launch.words)
            .arg(SERVER)
            .arg(dir.join("zoo.cfg"))
            // Tests run several of them.
            .arg("-Xmx64m")
            .args(&launch.options)
            .envs(launch.home.iter().map(|home| ("ZOOKEEPER_HOME", home)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C in the terminal of the tests must not end the keeper before its server.
            .process_group(0);
        let mut keeper = spawn(&mut command);
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("the keeper's answer");
        let pid = line.trim().parse().expect("a process id");
        Self { keeper, pid: Pid::from_raw(pid) }
    }

    /// The id of the Java process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether the server process still runs.
    pub fn is_alive(&self) -> bool {
        !matches!(state(self.pid), None | Some('Z' | 'X'))
    }

    /// Stops the server (SIGSTOP), and returns when all its threads are stopped.
    pub fn freeze(&self) {
        kill(self.pid, Signal::SIGSTOP).expect("a running server");
        wait_until("all threads of the server stopped", DEADLINE, || threads_stopped(self.pid));
    }

    /// Continues a frozen server.
    pub fn thaw(&self) {
        kill(self.pid, Signal::SIGCONT).expect("a running server");
    }
}

impl Drop for Jvm {
    /// Kills the server, and returns when its port is free again.
    fn drop(&mut self) {
        // The process id can't have been reused, because the keeper has not reaped the process yet.
        kill(self.pid, Signal::SIGKILL).ok();
        if let Some(mut pipe) = self.keeper.stdin.take() {
            // The keeper must not remove the directory, because the `Server` may start a new process in it.
            pipe.write_all(b"keep\n").ok();
        }
        self.keeper.wait().ok();
    }
}

fn threads_stopped(pid: Pid) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        super::processes::state_in(&stat) == Some('T')
    })
}

pub(super) fn java() -> PathBuf {
    env::var_os("JAVA_HOME")
        .map_or_else(|| PathBuf::from("java"), |home| PathBuf::from(home).join("bin/java"))
}

/// The class path of the release that all tests use.
pub(super) fn class_path() -> String {
    let output = Command::new(SERVER).arg("--class-path").output().expect("scripts/server");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// What the command line of `ZooKeeper` says.
pub(super) fn command_line(hosts: &str, words: &[&str]) -> String {
    let class_path = format!("{}:/usr/share/java/commons-cli.jar", class_path());
    let output = Command::new(java())
        .args(["-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", &class_path])
        .args(["org.apache.zookeeper.ZooKeeperMain", "-server", hosts])
        .args(words)
        .output()
        .expect("java");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The directory in which `scripts/versions` keeps a release; `None` if the release wasn't fetched.
pub fn release(version: &str) -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache =
        || Some(from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")))?.join("zklock"));
    let home = from("ZKLOCK_VERSIONS").or_else(cache)?.join(format!("zookeeper-{version}"));
    home.join("lib").is_dir().then_some(home)
}
