//! A zklock that runs in the background.

use super::lines::Lines;
use super::output::Output;
use super::processes::state;
use super::wait::try_for;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};
use zklock::process::sys;

/// A running zklock. It is killed when this value is dropped.
pub struct Running {
    child: Child,
    started: Instant,
    stdout: Lines,
    stderr: Lines,
    ended: bool,
}

impl Running {
    /// A child that was started after `started`: it may have run for a while when this is called.
    pub fn new(mut child: Child, input: Vec<u8>, started: Instant) -> Self {
        let mut stdin = child.stdin.take().expect("a pipe");
        // The input is written in a thread, because a program that doesn't read it must not block the test.
        thread::spawn(move || stdin.write_all(&input));
        Self {
            started,
            stdout: Lines::read("stdout", child.stdout.take().expect("a pipe")),
            stderr: Lines::read("stderr", child.stderr.take().expect("a pipe")),
            child,
            ended: false,
        }
    }

    /// The process id of zklock itself.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }

    /// The command's stdout.
    pub fn stdout(&self) -> &Lines {
        &self.stdout
    }

    /// The stderr of zklock and of the command.
    pub fn stderr(&self) -> &Lines {
        &self.stderr
    }

    /// Waits for a line on stderr, where zklock writes its messages.
    #[track_caller]
    pub fn wait_for_line(&self, text: &str, within: Duration) -> String {
        self.stderr.wait_for(text, within)
    }

    /// Waits for a line on stdout, where only the command writes. If none comes, the panic message includes stderr.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str, within: Duration) -> String {
        let lines = &self.stdout;
        let found = try_for(within, || (lines.count(text) > 0).then_some(()));
        let stderr = self.stderr.text();
        assert!(found.is_some(), "no {text:?}; {}\n{stderr}", lines.text());
        lines.wait_for(text, within)
    }

    /// Sends a signal to zklock alone. zklock is not reaped yet, so no other process can have its id.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("a running zklock");
    }

    /// Sends a signal, which may be a real-time one, to zklock alone.
    pub fn signal_number(&self, signal: i32) {
        sys::send(self.pid(), signal).expect("a running zklock");
    }

    /// Whether zklock still runs. The check doesn't reap it, so its process id can't be reused.
    pub fn is_running(&self) -> bool {
        !matches!(state(self.pid()), None | Some('Z' | 'X'))
    }

    /// Waits until zklock ends. If it doesn't end in time, this panics with its output, and zklock is killed.
    #[track_caller]
    pub fn wait(mut self, within: Duration) -> Output {
        let child = &mut self.child;
        let Some(status) = try_for(within, || child.try_wait().expect("our child")) else {
            let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
            panic!("zklock hangs after {within:?}\nstdout:\n{stdout}\nstderr:\n{stderr}");
        };
        self.ended = true;
        let mut output = Output::new(status, self.started.elapsed());
        let closed = || self.stdout.is_closed() && self.stderr.is_closed();
        // What the command left in the background may write, too.
        output.closed = try_for(Duration::from_secs(10), || closed().then_some(())).is_some();
        output.stdout = self.stdout.text();
        output.stderr = self.stderr.text();
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}
