//! The program that runs under the lock, built from its source with the compiler that Rust links with.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Every way to leave a zklock, except for the one that only root can use.
const KINDS: [&str; 6] = ["plain", "setsid", "daemon", "bare", "reaper", "chain"];
/// A process that becomes another user.
const USER: &str = "user";

/// The helper, and a directory that another user can access.
pub(crate) struct Beat {
    dir: TempDir,
    program: PathBuf,
    kinds: Vec<&'static str>,
}

impl Beat {
    pub(crate) fn build() -> Self {
        let dir = tempfile::Builder::new().prefix("zklock-escape-").tempdir().expect("a directory");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("our directory");
        let program = dir.path().join("beat");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chaos/escape/trial/beat.c");
        let built = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
        assert!(built.expect("a C compiler, which Rust needs too").success(), "{source} can't be built");
        let mut beat = Self { dir, program, kinds: KINDS.to_vec() };
        if beat.works_for_another_user() {
            beat.kinds.push(USER);
        }
        beat
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The kinds that this user can start on this machine.
    pub(crate) fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    /// Creates a file to which every user may append.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let file = self.dir().join(name);
        fs::write(&file, "").expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("our file");
        file
    }

    fn works_for_another_user(&self) -> bool {
        let (file, program) = (self.file("probe"), self.program.display());
        let script = format!("test -x '{program}' && test -w '{}'", file.display());
        let mut su = Command::new("su");
        su.args(["nobody", "-s", "/bin/sh", "-c", &script]);
        su.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        nix::unistd::geteuid().is_root() && su.status().is_ok_and(|status| status.success())
    }
}

/// Sleeping or busy processes beside the trials. They end when this value is dropped, or with this process.
pub(crate) struct Crowd(Child);

impl Crowd {
    /// `count` processes that sleep.
    pub(crate) fn idle(beat: &Beat, count: usize) -> Self {
        Self::start(beat, "idle", count)
    }

    /// `count` processes that spin.
    pub(crate) fn busy(beat: &Beat, count: usize) -> Self {
        Self::start(beat, "busy", count)
    }

    fn start(beat: &Beat, word: &str, count: usize) -> Self {
        let mut command = Command::new(beat.program());
        command.args([word, &count.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the helper");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an answer");
        let crowd = Self(child);
        assert_eq!(line, "ready\n", "not all of {count} {word} processes could be started");
        crowd
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // It ends at the end of its stdin, and all its processes with it.
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}
