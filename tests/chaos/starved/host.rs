//! Where a zklock runs: a cgroup of its own, in which it competes with the busy processes.

use crate::support::{Cgroup, MARKER};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A shell that starts what it is told. It ends with this value.
pub(super) struct Host {
    shell: Child,
    input: Mutex<Option<ChildStdin>>,
    /// `None` if none can be made here.
    cgroup: Option<Cgroup>,
}

impl Host {
    pub(super) fn start() -> Self {
        let mut shell = Command::new("setsid");
        shell.args(["bash", "-s"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = shell.spawn().expect("a shell");
        let input = Mutex::new(shell.stdin.take());
        let cgroup = Cgroup::of_a_host();
        if let Some(cgroup) = &cgroup {
            cgroup.limit(Pid::from_raw(shell.id().try_into().expect("a pid")));
        }
        Self { shell, input, cgroup }
    }

    /// Whether its processes share the time by their priorities alone.
    pub(super) fn goes_by_priority(&self) -> bool {
        let autogroup = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
        self.cgroup.is_some() || autogroup.map_or(true, |text| text.trim() == "0")
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
