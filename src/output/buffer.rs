//! Writes to stderr from a separate thread, through a bounded queue: a stopped terminal, a pipe that isn't read or a
//! disk that hangs never delays a confirmation, a stop or a release.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::{Term, truncate_str};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use zklock_core::message::Level;

use crate::process::thread;

/// The capacity of the queue. The rest is kept for errors from nine tenths on, and for warnings from half on: newer
/// messages are dropped.
const MOST_BYTES: usize = 256 * 1024;

/// A wait for the queue to be written where its reader may well have stopped.
pub const BRIEFLY: Duration = Duration::from_millis(100);

/// The longest wait for the queue to be written while zklock holds a lock.
pub const WHILE_HELD: Duration = Duration::from_millis(500);

/// The longest wait for the queue to be written at the end of the process. The writer thread may be late because the
/// machine is busy, and what isn't written by then is lost: an exit code without a reason.
pub const AT_THE_END: Duration = Duration::from_secs(3);

/// Erases the line of the screen that the cursor is in.
const ERASE: &str = "\r\x1b[2K";

/// An entry of the queue.
#[derive(Debug)]
enum Item {
    /// Whole lines.
    Text(Level, Vec<u8>),
    /// The new content of the waiting line on the screen; `None` removes it.
    Line(Option<String>),
}

/// How messages are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputMode {
    /// They are written immediately: there may be no second thread yet.
    Direct,
    /// They are discarded.
    Mute,
    /// They go through the queue.
    Queued,
}

#[derive(Debug)]
struct OutputState {
    mode: OutputMode,
    queue: VecDeque<Item>,
    bytes: usize,
    dropped: usize,
    has_writer: bool,
    is_writing: bool,
}

static STATE: Mutex<OutputState> = Mutex::new(OutputState {
    mode: OutputMode::Direct,
    queue: VecDeque::new(),
    bytes: 0,
    dropped: 0,
    has_writer: false,
    is_writing: false,
});
static OFFERED: Condvar = Condvar::new();
static WRITTEN: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, OutputState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Discards all messages from now on, in a process that must never wait.
pub fn mute() {
    state().mode = OutputMode::Mute;
}

/// Queues all messages from now on, for a thread that is started with the first one.
pub fn queue_output() {
    state().mode = OutputMode::Queued;
}

/// Waits until the queue is written, but no longer than this.
pub fn drain(limit: Duration) {
    let until = Instant::now() + limit;
    let mut state = state();
    while state.has_writer && (state.is_writing || !state.queue.is_empty()) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        state = WRITTEN.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Writes whole lines.
pub(super) fn text(level: Level, bytes: Vec<u8>) {
    offer(Item::Text(level, bytes));
}

/// Shows this waiting line below all other output; `None` removes it.
pub(super) fn line(text: Option<String>) {
    offer(Item::Line(text));
}

fn offer(item: Item) {
    let mut state = state();
    match state.mode {
        OutputMode::Mute => {}
        OutputMode::Direct => {
            drop(state);
            if let Item::Text(_, bytes) = item {
                write(&bytes);
            }
        }
        // No line is on the screen yet.
        OutputMode::Queued if !state.has_writer && matches!(item, Item::Line(None)) => {}
        OutputMode::Queued => {
            if !state.has_writer {
                let started = thread::builder().name("output".to_owned()).spawn(write_all);
                if started.is_err() {
                    // No thread can be started, so only text that can be written without waiting is written.
                    drop(state);
                    if let Item::Text(_, bytes) = item
                        && can_write_at_once()
                    {
                        write(&bytes);
                    }
                    return;
                }
                state.has_writer = true;
            }
            state.push(item);
            OFFERED.notify_one();
        }
    }
}

impl OutputState {
    fn push(&mut self, item: Item) {
        match &item {
            // A new line replaces an older one.
            Item::Line(_) => self.queue.retain(|queued| matches!(queued, Item::Text(..))),
            Item::Text(level, bytes) => {
                let room = match level {
                    Level::Error => MOST_BYTES,
                    Level::Warning => MOST_BYTES / 10 * 9,
                    Level::Notice | Level::Step | Level::Debug => MOST_BYTES / 2,
                };
                if self.bytes + bytes.len() > room {
                    self.dropped += 1;
                    return;
                }
                self.bytes += bytes.len();
            }
        }
        self.queue.push_back(item);
    }

    /// The next item to write, and how many messages were dropped before it.
    fn pop(&mut self) -> Option<(usize, Item)> {
        let item = self.queue.pop_front()?;
        if let Item::Text(_, bytes) = &item {
            self.bytes -= bytes.len();
        }
        Some((std::mem::take(&mut self.dropped), item))
    }
}

/// The writer thread. It takes no signals: they are for the threads that handle them.
fn write_all() {
    let _ = SigSet::all().thread_block();
    let mut line: Option<String> = None;
    let mut waiting = state();
    loop {
        let Some((dropped, item)) = waiting.pop() else {
            waiting.is_writing = false;
            WRITTEN.notify_all();
            waiting = OFFERED.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        waiting.is_writing = true;
        drop(waiting);
        if dropped > 0 {
            let message = match dropped {
                1 => "1 message was dropped: stderr was not read in time".to_owned(),
                _ => format!("{dropped} messages were dropped: stderr was not read in time"),
            };
            let text = if super::is_json() {
                super::json::dropped_messages(dropped, &message)
            } else {
                format!("zklock: {message}\n")
            };
            write(&above(line.as_deref(), text.as_bytes()));
        }
        match item {
            Item::Text(_, bytes) => write(&above(line.as_deref(), &bytes)),
            Item::Line(Some(text)) => {
                // The terminal may have become narrower since the line was queued.
                let columns = Term::stderr().size().1;
                let text = truncate_str(&text, columns.into(), "").into_owned();
                write(&above(Some(&text), b""));
                line = Some(text);
            }
            Item::Line(None) => {
                if line.take().is_some() {
                    write(ERASE.as_bytes());
                }
            }
        }
        waiting = state();
    }
}

/// What writes whole lines above the waiting line, if there is one. In one piece, so that no other program's output
/// comes between them.
fn above(line: Option<&str>, lines: &[u8]) -> Vec<u8> {
    match line {
        Some(line) => [ERASE.as_bytes(), lines, line.as_bytes()].concat(),
        None => lines.to_vec(),
    }
}

fn can_write_at_once() -> bool {
    let stderr = io::stderr();
    let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    poll(&mut ready, PollTimeout::ZERO) == Ok(1)
}

/// Writes to stderr, even if a process that shares it has made it non-blocking, or if it is a terminal that stops
/// background processes that write to it (`stty tostop`): the kernel lets a thread write that blocks the signal.
fn write(bytes: &[u8]) {
    let before = SigSet::from(Signal::SIGTTOU).thread_swap_mask(SigmaskHow::SIG_BLOCK);
    write_to_the_end(bytes);
    let _ = before.and_then(|before| before.thread_set_mask());
}

fn write_to_the_end(bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        match io::stderr().write(rest) {
            Ok(0) => return,
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let stderr = io::stderr();
                let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
                if poll(&mut ready, PollTimeout::NONE).is_err_and(|error| error != Errno::EINTR) {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // stderr has no reader any more, or no room on its disk.
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> OutputState {
        OutputState {
            mode: OutputMode::Queued,
            queue: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            has_writer: true,
            is_writing: false,
        }
    }

    #[test]
    fn of_unread_messages_the_last_room_is_for_warnings_and_errors() {
        let mut state = empty();
        for level in [Level::Debug, Level::Step, Level::Warning, Level::Error] {
            for _ in 0..300 {
                state.push(Item::Text(level, vec![b'x'; 1024]));
            }
        }
        let queued = |level| {
            state.queue.iter().filter(|item| matches!(item, Item::Text(of, _) if *of == level)).count()
        };
        assert_eq!([Level::Debug, Level::Step, Level::Warning, Level::Error].map(queued), [128, 0, 102, 26]);
        assert_eq!((state.dropped, state.bytes), (1200 - 256, MOST_BYTES));
    }

    #[test]
    fn messages_are_written_above_the_waiting_line() {
        assert_eq!(above(None, b"text\n"), b"text\n");
        assert_eq!(above(Some("waiting"), b"text\n"), b"\r\x1b[2Ktext\nwaiting");
    }

    #[test]
    fn a_new_waiting_line_replaces_the_queued_one() {
        let mut state = empty();
        for text in ["1", "2"] {
            state.push(Item::Line(Some(text.to_owned())));
            state.push(Item::Text(Level::Warning, vec![b'x']));
        }
        state.push(Item::Line(None));
        assert_eq!(state.queue.len(), 3);
        assert!(matches!(state.queue.back(), Some(Item::Line(None))));
    }
}
