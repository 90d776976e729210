//! The heartbeats, in the order in which the kernel appended them. Except for the file access, all of this is pure.
//!
//! The order doesn't depend on a clock: a later line was written later. The clock only gives durations.

use crate::support::{Tail, clock};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// The zklock that the fault hits, the next one in the queue, and the harness.
pub(super) const FIRST: &str = "first";
pub(super) const NEXT: &str = "next";
const HARNESS: &str = "harness";

/// The lines of the harness: just before it causes the fault, when the first zklock has ended, and when it undoes the
/// fault.
pub(super) const FAULT: &str = "fault";
pub(super) const GONE: &str = "gone";
pub(super) const UNDONE: &str = "undone";

/// What the command was doing when the fault came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Before,
    While,
    After,
}

#[derive(Debug)]
struct Line {
    at: Duration,
    name: String,
    kind: String,
    word: String,
}

/// All lines written so far.
pub(super) struct History {
    tail: Tail,
    /// A second descriptor, because a write to the end would move the read position of the first.
    writer: File,
    lines: Vec<Line>,
}

impl History {
    pub(super) fn open(file: &Path) -> Self {
        let writer = OpenOptions::new().append(true).open(file).expect("the history");
        Self { tail: Tail::open(file), writer, lines: vec![] }
    }

    /// Reads the new lines.
    pub(super) fn read(&mut self) {
        for line in self.tail.new_lines().lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [at, name, kind, word] = words[..] else { panic!("not a heartbeat: {line:?}") };
            let at = Duration::from_nanos(at.parse().expect("nanoseconds"));
            self.lines.push(Line { at, name: name.to_owned(), kind: kind.to_owned(), word: word.to_owned() });
        }
    }

    /// Writes a line of the harness.
    pub(super) fn note(&mut self, word: &str) {
        let line = format!("{} {HARNESS} - {word}\n", clock::now().as_nanos());
        self.writer.write_all(line.as_bytes()).expect("room for the history");
    }

    pub(super) fn has_begun(&self, name: &str) -> bool {
        self.find(name, "begin").is_some()
    }

    pub(super) fn has_ended(&self, name: &str) -> bool {
        self.find(name, "end").is_some()
    }

    /// When the command of `name` wrote this word.
    pub(super) fn time_of(&self, name: &str, word: &str) -> Option<Duration> {
        self.find(name, word).map(|index| self.lines[index].at)
    }

    /// The phase in which the fault hit the command.
    pub(super) fn phase(&self) -> Option<Phase> {
        let fault = self.find(HARNESS, FAULT)?;
        let is_before = |word| self.find(FIRST, word).is_some_and(|index| index < fault);
        Some(match (is_before("begin"), is_before("end")) {
            (false, _) => Phase::Before,
            (true, false) => Phase::While,
            (true, true) => Phase::After,
        })
    }

    /// The kinds of processes that gave a sign of life after the other command had begun, although theirs had begun
    /// first.
    pub(super) fn overlapping(&self) -> Vec<String> {
        let (Some(first), Some(next)) = (self.find(FIRST, "begin"), self.find(NEXT, "begin")) else {
            return vec![];
        };
        if first < next { self.kinds_behind(FIRST, next) } else { self.kinds_behind(NEXT, first) }
    }

    /// The kinds of processes of the first command that gave a sign of life after their zklock had ended.
    pub(super) fn outliving(&self) -> Vec<String> {
        self.find(HARNESS, GONE).map(|gone| self.kinds_behind(FIRST, gone)).unwrap_or_default()
    }

    /// The time from the fault to the last sign of life of the first command.
    pub(super) fn last_beat(&self) -> Option<Duration> {
        let fault = self.time_of(HARNESS, FAULT)?;
        let last = self.lines.iter().rfind(|line| line.name == FIRST)?;
        last.at.checked_sub(fault)
    }

    /// The time from the fault to the first sign of life of the next command.
    pub(super) fn next_beat(&self) -> Option<Duration> {
        self.time_of(NEXT, "begin")?.checked_sub(self.time_of(HARNESS, FAULT)?)
    }

    /// The events line by line, and for each kind of process how many signs of life it gave and when.
    pub(super) fn told(&self) -> String {
        let mut told = String::new();
        let zero =
            self.time_of(HARNESS, FAULT).or(self.lines.first().map(|line| line.at)).unwrap_or_default();
        let millis = |at: Duration| (at.as_secs_f64() - zero.as_secs_f64()) * 1000.0;
        let mut beats: BTreeMap<(&str, &str), (usize, Duration, Duration)> = BTreeMap::new();
        for line in &self.lines {
            if line.word != "alive" {
                let _ =
                    writeln!(told, "  {:9.1} ms  {} {} {}", millis(line.at), line.name, line.kind, line.word);
            }
            let beat = beats.entry((&line.name, &line.kind)).or_insert((0, line.at, line.at));
            *beat = (beat.0 + 1, beat.1, line.at);
        }
        for ((name, kind), (count, from, to)) in beats.iter().filter(|((name, _), _)| *name != HARNESS) {
            let (from, to) = (millis(*from), millis(*to));
            let _ = writeln!(told, "  {name} {kind}: {count} signs of life from {from:.1} to {to:.1} ms");
        }
        told
    }

    fn find(&self, name: &str, word: &str) -> Option<usize> {
        self.lines.iter().position(|line| line.name == name && line.word == word)
    }

    fn kinds_behind(&self, name: &str, index: usize) -> Vec<String> {
        let behind = self.lines.iter().skip(index).filter(|line| line.name == name);
        let mut kinds: Vec<_> = behind.map(|line| line.kind.clone()).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

#[cfg(test)]
#[allow(dead_code, reason = "`scripts/chaos` runs no tests")]
mod tests {
    use super::*;

    fn history(text: &str) -> History {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut history = History::open(file.path());
        let (start, end) = text.split_at(text.len() / 2);
        for part in [start, end] {
            history.writer.write_all(part.as_bytes()).expect("room for the history");
            history.read();
        }
        history
    }

    #[test]
    fn a_line_behind_the_next_one_s_first_is_an_escape() {
        let good = "1 first lead begin\n2 first chain alive\n3 harness - fault\n9 next lead begin\n";
        assert_eq!(history(good).overlapping(), Vec::<String>::new());
        assert_eq!(history(good).phase(), Some(Phase::While));
        assert_eq!(history(good).next_beat(), Some(Duration::from_nanos(6)));
        let bad = format!("{good}4 first chain alive\n4 first setsid alive\n5 first chain alive\n");
        assert_eq!(history(&bad).overlapping(), ["chain", "setsid"]);
        assert_eq!(history(&bad).last_beat(), Some(Duration::from_nanos(2)));
    }

    #[test]
    fn so_is_one_of_the_next_when_that_came_first() {
        let text = "1 harness - fault\n2 next lead begin\n3 first lead begin\n4 next lead end\n";
        assert_eq!(history(text).overlapping(), ["lead"]);
        assert_eq!(history(text).phase(), Some(Phase::Before));
    }

    #[test]
    fn a_process_that_outlives_its_zklock_is_noticed_without_a_next_holder() {
        let text =
            "1 first lead begin\n1 first lead end\n2 harness - fault\n3 harness - gone\n4 first bare alive\n";
        assert_eq!(history(text).outliving(), ["bare"]);
        assert_eq!(history(text).phase(), Some(Phase::After));
    }
}
