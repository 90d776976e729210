//! A command in a real pseudo terminal.

use super::spawn::one_at_a_time;
use super::wait::try_for;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the last output of a session may take to be read.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// A pseudo terminal, and the session leader that has it as its controlling terminal.
pub struct Terminal {
    child: Child,
    pty: Option<Arc<Pty>>,
    reader: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<u8>>>,
    /// `expect` has already matched everything before this position.
    position: usize,
}

impl Terminal {
    /// Starts `command` in a terminal of 24 lines and 80 columns.
    pub fn spawn(command: Command) -> Self {
        let (child, pty) = {
            let _guard = one_at_a_time();
            let (pty, pts) = open().expect("a pseudo terminal");
            pty.resize(Size::new(24, 80)).expect("a size");
            (command.spawn(pts).expect("the command to start"), pty)
        };
        let mut terminal = Self {
            child,
            pty: Some(Arc::new(pty)),
            reader: None,
            stop: Arc::default(),
            seen: Arc::default(),
            position: 0,
        };
        terminal.start_reader();
        terminal
    }

    /// The process id of the session leader.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }

    /// Types bytes: `b"\x03"` is Ctrl-C, `b"\x1a"` Ctrl-Z, `b"\x1c"` Ctrl-\, `b"\x04"` the end of input.
    pub fn send(&self, bytes: &[u8]) {
        self.pty().write_all(bytes).expect("an open terminal");
    }

    /// Changes the size; the kernel sends SIGWINCH to the foreground process group.
    pub fn resize(&self, rows: u16, columns: u16) {
        self.pty().resize(Size::new(rows, columns)).expect("a size");
    }

    /// Everything on the screen so far, including what was typed.
    pub fn text(&self) -> String {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&seen).into_owned()
    }

    /// Waits for `text` after the last match, and returns what came before it.
    #[track_caller]
    pub fn expect(&mut self, text: &str, within: Duration) -> String {
        let found = try_for(within, || {
            let all = self.text();
            let rest = &all[self.position..];
            rest.find(text).map(|at| rest[..at].to_owned())
        });
        let Some(before) = found else {
            panic!("no {text:?} within {within:?} on:\n{}", self.text());
        };
        self.position += before.len() + text.len();
        before
    }

    /// Waits until the session leader ends, and until its output is read, unless other processes keep the terminal.
    #[track_caller]
    pub fn wait(&mut self, within: Duration) -> ExitStatus {
        let child = &mut self.child;
        let ended = try_for(within, || child.try_wait().expect("our child"));
        let ended = ended.unwrap_or_else(|| panic!("still runs after {within:?}:\n{}", self.text()));
        try_for(LAST_OUTPUT, || self.is_left().then_some(()));
        ended
    }

    /// Whether no process has the terminal open, so that a program at its other end, such as `script`, reads its end.
    pub fn is_left(&self) -> bool {
        self.reader.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Closes the terminal, as when its window is closed. The kernel then sends SIGHUP to the session leader.
    pub fn hang_up(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().ok();
        }
        self.pty = None;
    }

    fn pty(&self) -> &Pty {
        self.pty.as_ref().expect("an open terminal")
    }

    fn start_reader(&mut self) {
        let pty = Arc::clone(self.pty.as_ref().expect("an open terminal"));
        let (stop, seen) = (Arc::clone(&self.stop), Arc::clone(&self.seen));
        self.reader = Some(thread::spawn(move || {
            // The thread never blocks in a read, which would keep the terminal open after `hang_up`.
            while !stop.load(Ordering::SeqCst) {
                let mut fds = [PollFd::new(pty.as_fd(), PollFlags::POLLIN)];
                if poll(&mut fds, PollTimeout::from(20_u8)) == Ok(0) {
                    continue;
                }
                let mut bytes = [0; 4096];
                // EIO means that the last process has closed the terminal.
                let Ok(count) = (&*pty).read(&mut bytes) else {
                    return;
                };
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.extend_from_slice(&bytes[..count]);
            }
        }));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.hang_up();
        // The session leader may ignore SIGHUP.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
