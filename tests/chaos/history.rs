//! The history while it is being written: every query first reads it to its end.

use crate::checker::Checker;
use crate::support::{Line, Tail};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const EXCERPT_LINES: usize = 30;

pub(crate) struct History {
    path: PathBuf,
    reader: Mutex<Reader>,
}

struct Reader {
    tail: Tail,
    lines: usize,
    checker: Checker,
    violation: Option<Violation>,
}

/// The first line that a correct lock can't produce.
#[derive(Clone, Debug)]
struct Violation {
    line: usize,
    why: String,
}

impl History {
    /// Creates an empty history in `dir`.
    pub(crate) fn new(dir: &Path) -> Self {
        let path = dir.join("history");
        fs::write(&path, "").expect("a file for the history");
        let (tail, checker) = (Tail::open(&path), Checker::default());
        Self { path, reader: Mutex::new(Reader { tail, lines: 0, checker, violation: None }) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The first violation so far.
    pub(crate) fn violation(&self) -> Option<String> {
        let violation = self.read().violation.clone()?;
        Some(format!("line {}: {}", violation.line, violation.why))
    }

    /// Asks the checker, or tells it something, after it has read the history to its end.
    pub(crate) fn at_end<T>(&self, ask: impl FnOnce(&mut Checker) -> T) -> T {
        ask(&mut self.read().checker)
    }

    /// The lines around the violation, or the last ones. Consecutive signs of life are one line.
    pub(crate) fn excerpt(&self) -> String {
        let violation = self.read().violation.as_ref().map(|violation| violation.line);
        let text = fs::read_to_string(&self.path).expect("the history");
        let mut shown: Vec<(usize, String)> = Vec::new();
        let mut last = String::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<_> = line.split(' ').collect();
            let Ok(Line { word, name, time, more, .. }) = Line::of(&words) else { continue };
            let what = format!("{word} {name} {}", more.join(" "));
            if what == last && word == "alive" && Some(index + 1) != violation {
                shown.pop();
            }
            let mark = if Some(index + 1) == violation { " <==" } else { "" };
            shown.push((index + 1, format!("{:>7} {} {what}{mark}", index + 1, time / 1_000_000)));
            last = what;
        }
        let centre = violation.unwrap_or(usize::MAX);
        let middle = shown.partition_point(|(number, _)| *number < centre);
        let (from, to) = (middle.saturating_sub(EXCERPT_LINES), (middle + EXCERPT_LINES).min(shown.len()));
        shown[from..to].iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn read(&self) -> MutexGuard<'_, Reader> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.catch_up();
        reader
    }
}

impl Reader {
    fn catch_up(&mut self) {
        for line in self.tail.new_lines().lines() {
            self.lines += 1;
            // Only the first violation counts; the later ones may follow from it.
            if let (Err(why), None) = (self.checker.line(line), &self.violation) {
                self.violation = Some(Violation { line: self.lines, why });
            }
        }
    }
}
