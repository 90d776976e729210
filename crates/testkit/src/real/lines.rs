//! The output of a running process, line by line as it comes.

use super::wait::try_for;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The output of a process so far. A thread keeps reading it.
#[derive(Clone)]
pub struct Lines {
    name: &'static str,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    closed: bool,
}

impl Lines {
    /// Reads `source` until it ends.
    pub fn read(name: &'static str, source: impl Read + Send + 'static) -> Self {
        let lines = Self { name, seen: Arc::default() };
        let writer = lines.clone();
        thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while source.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                writer.look(|seen| seen.bytes.append(&mut line));
            }
            writer.look(|seen| seen.closed = true);
        });
        lines
    }

    /// All output so far.
    pub fn text(&self) -> String {
        self.look(|seen| String::from_utf8_lossy(&seen.bytes).into_owned())
    }

    /// Whether no process holds the other end open any more.
    pub fn is_closed(&self) -> bool {
        self.look(|seen| seen.closed)
    }

    /// How many lines so far contain `text`.
    pub fn count(&self, text: &str) -> usize {
        let all = self.text();
        all.lines().filter(|line| line.contains(text)).count()
    }

    /// Waits for a line that contains `text`, and returns it. Panics with the output if none comes in time.
    #[track_caller]
    pub fn wait_for(&self, text: &str, within: Duration) -> String {
        let found = try_for(within, || {
            let all = self.text();
            all.lines().find(|line| line.contains(text)).map(str::to_owned)
        });
        found.unwrap_or_else(|| {
            panic!("no line with {text:?} within {within:?}; {}:\n{}", self.name, self.text())
        })
    }

    fn look<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
