//! Records what the jobs of a lock did, in one format for behaviour tests and `scripts/chaos`. [`Checker`] judges it.

use super::checker::{Checker, Mode, Place, Section};
use super::tail::Tail;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many lines an excerpt shows before its middle, and after it.
const EXCERPT_LINES: usize = 30;

/// A file to which jobs append. The kernel puts the appended lines in one order, so the checks rely on the order of the
/// lines and not on any clock.
pub struct History {
    file: PathBuf,
    reader: Mutex<Reader>,
}

/// What has been read and judged so far.
struct Reader {
    tail: Tail,
    lines: usize,
    checker: Checker,
    /// The number of the first line that a correct lock can't produce, and why.
    violation: Option<(usize, String)>,
}

impl History {
    /// Creates a history in `dir`. Histories with different names can share a directory.
    pub fn new(dir: &Path, name: &str) -> Self {
        let file = dir.join(format!("{name}.history"));
        fs::write(&file, "").expect("a file for the history");
        let (tail, checker) = (Tail::open(&file), Checker::of_lasting_parents());
        Self { file, reader: Mutex::new(Reader { tail, lines: 0, checker, violation: None }) }
    }

    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The shell script of a job that records its begin and its end, and takes `seconds` in between.
    pub fn job(&self, name: &str, seconds: f64) -> String {
        let mark = self.mark(name);
        format!("{mark}; mark begin; sleep {seconds}; mark end")
    }

    /// The `bash` script of a job that records every 20 ms that it is alive. It starts no other process, so that
    /// several such jobs are cheap to run. It ends when it is stopped, or after [`History::finish`].
    pub fn steady_job(&self, name: &str) -> String {
        let (file, finish) = (self.file.display(), self.finish_file(name));
        format!(
            "exec 9<> <(:); mark() {{ printf '%s %s %s %s000\\n' $1 {name} \"${{ZKLOCK_FENCING_TOKEN:-0}}\" \
             \"${{EPOCHREALTIME/[.,]/}}\" >> '{file}'; }}; mark begin; \
             until [ -e '{}' ]; do mark alive; read -rt 0.02 -u 9; done; mark end",
            finish.display()
        )
    }

    /// Ends a [`History::steady_job`].
    pub fn finish(&self, name: &str) {
        fs::write(self.finish_file(name), "").expect("a file beside the history");
    }

    fn finish_file(&self, name: &str) -> PathBuf {
        self.file.with_extension(format!("{name}.finish"))
    }

    /// The sections in the order in which they began, or an error that names the first line that doesn't fit.
    pub fn sections(&self) -> Result<Vec<Section>, String> {
        self.check(|_| Mode::Shared)
    }

    /// The sections in order, or the first pair that overlaps or whose tokens don't increase.
    pub fn check_exclusive(&self) -> Result<Vec<Section>, String> {
        self.check(|_| Mode::Exclusive)
    }

    /// The same for jobs that hold one lock, each in the mode that its name says.
    pub fn check(&self, mode: impl Fn(&str) -> Mode) -> Result<Vec<Section>, String> {
        let mut checker = Checker::of_lasting_parents();
        let text = fs::read_to_string(&self.file).expect("the history");
        for (index, line) in text.lines().enumerate() {
            judge(&mut checker, line, &mode).map_err(|why| format!("line {}: {why}: {line}", index + 1))?;
        }
        Ok(checker.sections().to_vec())
    }

    /// The names in the order in which they ran; panics if two ran at the same time.
    #[track_caller]
    pub fn exclusive_order(&self) -> Vec<String> {
        let sections = self.check_exclusive().unwrap_or_else(|wrong| panic!("{wrong}"));
        sections.into_iter().map(|section| section.name).collect()
    }

    /// The largest number of sections that were open at the same time.
    #[track_caller]
    pub fn most_at_once(&self) -> usize {
        let sections = self.sections().unwrap_or_else(|wrong| panic!("{wrong}"));
        let at_once = |one: &Section| sections.iter().filter(|other| other.outlasts_begin_of(one)).count();
        sections.iter().map(at_once).max().unwrap_or(0)
    }

    /// The first violation so far, of jobs that tell their locks.
    pub fn violation(&self) -> Option<String> {
        let (line, why) = self.read().violation.clone()?;
        Some(format!("line {line}: {why}"))
    }

    /// Asks the checker of such jobs, or tells it something, after it has read the history to its end.
    pub fn at_end<T>(&self, ask: impl FnOnce(&mut Checker) -> T) -> T {
        ask(&mut self.read().checker)
    }

    /// The lines around the violation, or the last ones. Consecutive signs of life are one line.
    pub fn excerpt(&self) -> String {
        let violation = self.read().violation.as_ref().map(|(line, _)| *line);
        let text = fs::read_to_string(&self.file).expect("the history");
        let mut shown: Vec<(usize, &str)> = Vec::new();
        let what = |line: &str| line.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
        for (number, line) in (1..).zip(text.lines()) {
            shown.pop_if(|(at, last)| what(last) == what(line) && Some(*at) != violation);
            shown.push((number, line));
        }
        let middle = shown.partition_point(|(number, _)| *number < violation.unwrap_or(usize::MAX));
        let (from, to) = (middle.saturating_sub(EXCERPT_LINES), (middle + EXCERPT_LINES).min(shown.len()));
        let shown: Vec<_> =
            shown[from..to].iter().map(|(number, line)| format!("{number:>7} {line}")).collect();
        shown.join("\n")
    }

    fn read(&self) -> MutexGuard<'_, Reader> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Reader { tail, lines, checker, violation } = &mut *reader;
        for line in tail.new_lines().lines() {
            *lines += 1;
            // Only the first violation counts; the later ones may follow from it.
            if let (Err(why), None) = (judge(checker, line, &|_| Mode::Exclusive), &violation) {
                *violation = Some((*lines, why));
            }
        }
        reader
    }

    /// The shell function `mark`, which appends a line. Each line is one `printf` and therefore one write, so the lines
    /// of different jobs don't mix.
    fn mark(&self, name: &str) -> String {
        let file = self.file.display();
        format!(
            "mark() {{ printf '%s %s %s %s\\n' $1 {name} \"${{ZKLOCK_FENCING_TOKEN:-0}}\" \
             \"$(date +%s%N)\" >> '{file}'; }}"
        )
    }
}

/// Judges a line: `begin|alive|end NAME TOKEN NANOS`, and after `begin` perhaps the value of `ZKLOCK_LOCKS`. Without that
/// there is one lock, held in the mode that the name says.
fn judge(checker: &mut Checker, line: &str, mode_of: &impl Fn(&str) -> Mode) -> Result<(), String> {
    let words: Vec<_> = line.splitn(5, ' ').collect();
    let [word, name, token, time, more @ ..] = &words[..] else { return Err("not four words".to_owned()) };
    let token = token.parse().map_err(|_| "no token")?;
    let time = time.parse().map(Duration::from_nanos_u128).map_err(|_| "no time")?;
    match (*word, more) {
        ("begin", [locks]) => checker.begin(name, time, Place::all(locks)?),
        ("begin", []) => {
            let place = Place { path: String::new(), node: String::new(), token, mode: mode_of(name) };
            checker.begin(name, time, vec![place])
        }
        ("alive" | "end", []) => checker.alive(name, token, time, *word == "end"),
        _ => Err("not a line of a job".to_owned()),
    }
}
