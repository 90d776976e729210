//! Runs the program under test.

use super::namespace::unshare;
use super::output::Output;
use super::pty::Terminal;
use super::running::Running;
use super::spawn::spawn;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The environment variable that identifies the processes of a run.
pub const MARKER: &str = "ZKLOCK_TEST_RUN";

/// A run that takes longer counts as hung.
const LONGEST: Duration = Duration::from_mins(2);

/// A value for [`MARKER`] that no other run has.
pub fn new_marker() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The program under test. Cargo and nextest tell where it is. Without them, it is the one that was built with the test.
pub fn zklock_binary() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let told = env::var_os("CARGO_BIN_EXE_zklock").or_else(|| env::var_os("NEXTEST_BIN_EXE_zklock"));
        let program = told.map_or_else(|| built(2).join("zklock"), PathBuf::from);
        assert!(program.exists(), "there is no {}: cargo build", program.display());
        program
    });
    &PROGRAM
}

/// The directory so far above the running test, which is `target/debug/deps/behaviour-...`.
fn built(above: usize) -> PathBuf {
    let test = env::current_exe().expect("the running program");
    test.ancestors().nth(above).expect("a directory of the build").to_owned()
}

/// An empty home directory, so that the user's own configuration doesn't affect the tests.
pub fn home() -> PathBuf {
    let home = built(3).join("tmp/home");
    std::fs::create_dir_all(&home).expect("a home directory");
    home
}

/// One call of zklock. By default, it has no terminal (it runs in its own session, as under cron), its stdin is empty,
/// and its environment contains only `PATH`, `HOME` and the marker.
pub struct Zklock {
    marker: String,
    program: PathBuf,
    prelude: Option<String>,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    dir: Option<PathBuf>,
}

impl Zklock {
    /// zklock without any argument.
    pub fn bare(marker: &str) -> Self {
        Self {
            marker: marker.to_owned(),
            program: zklock_binary().to_owned(),
            prelude: None,
            args: Vec::new(),
            envs: Vec::new(),
            input: Vec::new(),
            dir: None,
        }
    }

    /// zklock with `-z`.
    pub fn at(hosts: &str, marker: &str) -> Self {
        Self::bare(marker).args(["-z", hosts])
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(self, args: I) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Another program in place of the one under test: another version, or a copy.
    pub fn program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// The bytes that zklock can read on stdin before the end of input.
    pub fn input(mut self, bytes: &[u8]) -> Self {
        self.input = bytes.to_vec();
        self
    }

    /// The working directory.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Shell commands that run in the process before it becomes zklock, such as `trap '' HUP`, `ulimit -n 64` or
    /// `exec 7>file`.
    pub fn prelude(mut self, script: &str) -> Self {
        self.prelude = Some(script.to_owned());
        self
    }

    /// zklock in a mount namespace of its own, after this shell script, which has no single quotes.
    pub fn with_own_mounts(self, script: &str) -> Self {
        let unshare = unshare("--mount");
        self.prelude(&format!("exec {unshare} bash -c '{script} && exec \"$0\" \"$@\"' \"$0\" \"$@\""))
    }

    /// Runs zklock until it ends. If it hangs, this kills it and panics.
    #[track_caller]
    pub fn run(self) -> Output {
        self.spawn().wait(LONGEST)
    }

    /// Starts zklock in the background.
    #[track_caller]
    pub fn spawn(self) -> Running {
        // zklock runs in its own session, so that it can't take over the terminal of the tests.
        let mut command = self.command(&["setsid"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        Running::new(spawn(&mut command), self.input, started)
    }

    /// Starts zklock as the session leader of its own terminal, which is its stdin, stdout and stderr.
    pub fn in_terminal(self) -> Terminal {
        Terminal::spawn(self.command(&[]).into())
    }

    fn command(&self, words_before: &[&str]) -> Command {
        // `env` adds nothing here: it only runs the command that follows it, whichever that is.
        let mut command = Command::new("env");
        command.args(words_before);
        if let Some(prelude) = &self.prelude {
            command.args(["bash", "-c", &format!("{prelude}\nexec \"$0\" \"$@\"")]);
        }
        command
            .arg(&self.program)
            .args(&self.args)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", home())
            .env(MARKER, &self.marker)
            .envs(self.envs.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }
}
