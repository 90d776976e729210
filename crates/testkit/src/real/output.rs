//! The outcome of a run.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Everything that zklock's caller sees of a run.
#[derive(Debug)]
pub struct Output {
    /// The exit code; `None` if a signal killed zklock.
    pub code: Option<i32>,
    /// The signal that killed zklock, if one did.
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Whether stdout and stderr were closed within a second after zklock ended. If a process still holds one of them
    /// open, a caller that reads to the end hangs.
    pub closed: bool,
    /// The time from the start of the run to its end.
    pub elapsed: Duration,
}

impl Output {
    pub(super) fn new(status: ExitStatus, elapsed: Duration) -> Self {
        Self {
            code: status.code(),
            signal: status.signal(),
            stdout: String::new(),
            stderr: String::new(),
            closed: true,
            elapsed,
        }
    }

    /// Panics with the whole output if the exit code differs.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Panics with the whole output if zklock was not killed by this signal.
    #[track_caller]
    pub fn assert_signal(&self, signal: nix::sys::signal::Signal) -> &Self {
        assert_eq!(self.signal, Some(signal as i32), "{self}");
        self
    }

    /// Panics with the whole output if stdout does not contain `text`.
    #[track_caller]
    pub fn assert_stdout(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no {text:?} in: {self}");
        self
    }

    /// Panics with the whole output if stderr does not contain `text`.
    #[track_caller]
    pub fn assert_stderr(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?} in: {self}");
        self
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "code {:?}, signal {:?}", self.code, self.signal)?;
        writeln!(f, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr)
    }
}
