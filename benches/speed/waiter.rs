//! A waiting zklock whose messages are timed.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::job::now;

/// A zklock process whose messages are timed.
pub(crate) struct Waiter {
    /// When it was started.
    pub(crate) began: f64,
    process: Child,
    lines: Receiver<(f64, String)>,
}

impl Waiter {
    /// Starts this build of zklock with `job` as the command.
    pub(crate) fn start(zklock: &str, hosts: &str, path: &str, job: &[OsString]) -> Self {
        let began = now();
        let mut command = Command::new(zklock);
        command.args(["-v", "-z", hosts, path, "--"]).args(job).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("a contender");
        let (sender, lines) = channel();
        let stderr = BufReader::new(process.stderr.take().expect("a pipe"));
        // A thread takes each line's time when it arrives, not when it is asked for.
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|l| sender.send((now(), l))));
        Self { began, process, lines }
    }

    /// The time at which zklock next reports that it waits.
    pub(crate) fn wait_until_queued(&mut self) -> f64 {
        let until = Duration::from_mins(1);
        loop {
            let (at, line) = self.lines.recv_timeout(until).expect("a zklock that waits");
            if line.contains("waiting for") {
                return at;
            }
        }
    }

    /// Waits until its command has run.
    pub(crate) fn wait_until_done(&mut self) {
        assert!(self.process.wait().expect("an end").success(), "the command failed");
    }

    /// Makes zklock give up waiting.
    pub(crate) fn give_up(mut self) {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).expect("a process id"));
        kill(pid, Signal::SIGTERM).expect("a signal");
        self.process.wait().expect("an end");
    }
}
