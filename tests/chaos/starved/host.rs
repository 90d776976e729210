//! Where a zklock runs: a session of its own, because the kernel may divide the time between sessions first (autogroup).

use crate::support::MARKER;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A shell that starts what it is told. It ends with this value.
pub(super) struct Host {
    shell: Child,
    input: Mutex<Option<ChildStdin>>,
}

impl Host {
    pub(super) fn start() -> Self {
        let mut shell = Command::new("setsid");
        shell.args(["bash", "-s"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = shell.spawn().expect("a shell");
        let input = Mutex::new(shell.stdin.take());
        Self { shell, input }
    }

    /// Has it carry out this line.
    pub(super) fn tell(&self, line: &str) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(input.as_mut().expect("an open pipe"), "{line}").expect("a shell that listens");
    }

    /// Runs a program in the background, with an environment of little more than the marker. The file with the extension
    /// `stderr` gets what it says, `pid` its process, and `status` its exit code at its end.
    pub(super) fn run(&self, words: &[String], marker: &str, home: &Path, file: &Path) {
        let kept =
            ["PATH", "ZKLOCK_PLANTED"].into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let added = [(MARKER, marker.to_owned()), ("HOME", home.display().to_string())];
        let environment = kept.chain(added).map(|(name, value)| format!("{name}={value}"));
        let words =
            ["env".to_owned(), "-i".to_owned()].into_iter().chain(environment).chain(words.iter().cloned());
        let words: Vec<_> = words.map(|word| format!("'{word}'")).collect();
        // Each file appears as a whole.
        self.tell(&format!(
            "({} </dev/null 2>{file}.stderr & echo $! >{file}.new; mv {file}.new {file}.pid; \
             wait $!; echo $? >{file}.new; mv {file}.new {file}.status) &",
            words.join(" "),
            file = file.display(),
        ));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shell.wait().ok();
    }
}
