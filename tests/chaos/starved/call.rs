//! One zklock, and what it said.

use super::Scene;
use super::host::Host;
use crate::job::Job;
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

pub(super) struct Call {
    /// Of its files, without an extension.
    file: PathBuf,
}

/// What a zklock that stopped its command says about the reason.
#[derive(Debug, Default)]
pub(super) struct Reason {
    /// It names this host.
    pub(super) is_busy_host: bool,
    /// The worker did nothing, and the monitor acted.
    pub(super) is_by_monitor: bool,
    /// By how many seconds it was late in all.
    pub(super) late: f64,
}

impl Call {
    /// On this host.
    pub(super) fn start(
        scene: &Scene<'_>,
        host: &Host,
        servers: &str,
        (prefix, lock, session): (&[&str], &str, u64),
        job: &Job,
    ) -> Self {
        let call = Self { file: scene.dir.join(&job.name) };
        let program = scene.program.display().to_string();
        let session = session.to_string();
        let options = [
            "-z",
            servers,
            "--session-timeout",
            &session,
            "--connect-timeout",
            "120",
            "--log-format",
            "json",
            lock,
            "--",
        ];
        let options = options.into_iter().map(str::to_owned);
        let prefix = prefix.iter().map(|&word| word.to_owned());
        let words = prefix.chain([program]).chain(options).chain(job.command(scene.history.path()));
        host.run(&words.collect::<Vec<_>>(), &scene.marker, &scene.dir, &call.file);
        call
    }

    pub(super) fn pid(&self) -> Option<Pid> {
        self.read("pid").trim().parse().ok().map(Pid::from_raw)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.file.with_extension("status").exists()
    }

    /// The exit code, as the shell tells it.
    pub(super) fn code(&self) -> Option<i32> {
        self.read("status").trim().parse().ok()
    }

    pub(super) fn said(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, extension: &str) -> String {
        fs::read_to_string(self.file.with_extension(extension)).unwrap_or_default()
    }

    /// From its last error.
    pub(super) fn reason(&self) -> Reason {
        let said = self.said();
        let mut lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let Some(error) = lines.rfind(|line| line["level"] == "error") else {
            return Reason::default();
        };
        let (late, text) = (error["late_in_all"].as_f64(), error["message"].as_str().unwrap_or_default());
        Reason {
            is_busy_host: late.is_some() || text.contains("starved of processor time"),
            is_by_monitor: text.contains("the worker process hung"),
            late: late.unwrap_or_default(),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        for extension in ["stderr", "pid", "status"] {
            fs::remove_file(self.file.with_extension(extension)).ok();
        }
    }
}
