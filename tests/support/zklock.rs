//! Runs the program under test.

use super::output::Output;
use super::pty::Terminal;
use super::running::Running;
use super::spawn::spawn;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The environment variable that identifies the processes of a run.
pub(crate) const MARKER: &str = "ZKLOCK_TEST_RUN";

/// A run that takes longer counts as hung.
const LONGEST: Duration = Duration::from_mins(2);

/// A value for [`MARKER`] that no other run has.
pub(crate) fn new_marker() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// An empty home directory, so that the user's own configuration doesn't affect the tests.
pub(crate) fn home() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    std::fs::create_dir_all(&home).expect("a home directory");
    home
}

/// One call of zklock. By default, it has no terminal (it runs in its own session, as under cron), its stdin is empty,
/// and its environment contains only `PATH`, `HOME` and the marker.
pub(crate) struct Zklock {
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
    pub(crate) fn bare(marker: &str) -> Self {
        Self {
            marker: marker.to_owned(),
            program: PathBuf::from(env!("CARGO_BIN_EXE_zklock")),
            prelude: None,
            args: Vec::new(),
            envs: Vec::new(),
            input: Vec::new(),
            dir: None,
        }
    }

    /// zklock with `-z`.
    pub(crate) fn at(hosts: &str, marker: &str) -> Self {
        Self::bare(marker).args(["-z", hosts])
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(self, args: I) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Another program in place of the one under test: another version, or a copy.
    pub(crate) fn program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// The bytes that zklock can read on stdin before the end of input.
    pub(crate) fn input(mut self, bytes: &[u8]) -> Self {
        self.input = bytes.to_vec();
        self
    }

    /// The working directory.
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Shell commands that run in the process before it becomes zklock, such as `trap '' HUP`, `ulimit -n 64` or
    /// `exec 7>file`.
    pub(crate) fn prelude(mut self, script: &str) -> Self {
        self.prelude = Some(script.to_owned());
        self
    }

    /// Runs zklock until it ends. If it hangs, this kills it and panics.
    #[track_caller]
    pub(crate) fn run(self) -> Output {
        self.spawn().wait(LONGEST)
    }

    /// Starts zklock in the background.
    #[track_caller]
    pub(crate) fn spawn(self) -> Running {
        // zklock runs in its own session, so that it can't take over the terminal of the tests.
        let mut command = self.command(&["setsid"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        Running::new(spawn(&mut command), self.input, started)
    }

    /// Starts zklock as the session leader of its own terminal, which is its stdin, stdout and stderr.
    pub(crate) fn in_terminal(self) -> Terminal {
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
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home())
            .env(MARKER, &self.marker)
            .envs(self.envs.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }
}
