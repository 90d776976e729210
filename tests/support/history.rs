//! Records what the jobs of a lock did, and checks whether any two of them ran at the same time.

use std::fs;
use std::path::{Path, PathBuf};

/// A file to which jobs append. The kernel puts the appended lines in one order, so the checks rely on the order of the
/// lines and not on any clock.
pub(crate) struct History {
    file: PathBuf,
}

/// The period in which one job held the lock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) token: u64,
    /// Nanoseconds since 1970.
    pub(crate) begin: u128,
    /// The time of the job's last line: its end or, if it was killed, the last time it recorded that it was alive.
    pub(crate) last: u128,
    pub(crate) ended: bool,
    /// The numbers of the job's first and last line in the file.
    lines: (usize, usize),
}

impl Section {
    /// Whether a line of one section lies between lines of the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.lines.0 < other.lines.1 && other.lines.0 < self.lines.1
    }
}

impl History {
    /// Creates a history in `dir`. Histories with different names can share a directory.
    pub(crate) fn new(dir: &Path, name: &str) -> Self {
        let file = dir.join(format!("{name}.history"));
        fs::write(&file, "").expect("a file for the history");
        Self { file }
    }

    /// The shell script of a job that records its begin and its end, and takes `seconds` in between.
    pub(crate) fn job(&self, name: &str, seconds: f64) -> String {
        let mark = self.mark(name);
        format!("{mark}; mark begin; sleep {seconds}; mark end")
    }

    /// The shell script of a job that records every 10 ms that it is alive, and ends only when it is stopped.
    pub(crate) fn endless_job(&self, name: &str) -> String {
        let mark = self.mark(name);
        format!("{mark}; mark begin; while :; do mark alive; sleep 0.01; done")
    }

    /// The `bash` script of a job that records every 20 ms that it is alive. It starts no other process, so that
    /// several such jobs are cheap to run. It ends when it is stopped, or after [`History::finish`].
    pub(crate) fn steady_job(&self, name: &str) -> String {
        let (file, finish) = (self.file.display(), self.finish_file(name));
        format!(
            "exec 9<> <(:); mark() {{ printf '%s %s %s %s000\\n' $1 {name} \"${{ZKLOCK_FENCING_TOKEN:-0}}\" \
             \"${{EPOCHREALTIME/[.,]/}}\" >> '{file}'; }}; mark begin; \
             until [ -e '{}' ]; do mark alive; read -rt 0.02 -u 9; done; mark end",
            finish.display()
        )
    }

    /// Ends a [`History::steady_job`].
    pub(crate) fn finish(&self, name: &str) {
        fs::write(self.finish_file(name), "").expect("a file beside the history");
    }

    fn finish_file(&self, name: &str) -> PathBuf {
        self.file.with_extension(format!("{name}.finish"))
    }

    /// The sections in the order in which they began, or an error that names the first line that doesn't fit.
    pub(crate) fn sections(&self) -> Result<Vec<Section>, String> {
        parse(&fs::read_to_string(&self.file).expect("the history"))
    }

    /// The sections in order, or the first pair that overlaps or whose tokens don't increase.
    pub(crate) fn check_exclusive(&self) -> Result<Vec<Section>, String> {
        self.check_pairs(|_, _| true)
    }

    /// The same, of the pairs that exclude each other.
    pub(crate) fn check_pairs(
        &self,
        excludes: impl Fn(&Section, &Section) -> bool,
    ) -> Result<Vec<Section>, String> {
        let sections = self.sections()?;
        for (index, later) in sections.iter().enumerate() {
            for earlier in sections[..index].iter().filter(|earlier| excludes(earlier, later)) {
                if earlier.overlaps(later) {
                    return Err(format!("at the same time: {earlier:?} and {later:?}"));
                }
                if earlier.token >= later.token {
                    return Err(format!("token does not grow: {earlier:?} and {later:?}"));
                }
            }
        }
        Ok(sections)
    }

    /// The names in the order in which they ran; panics if two ran at the same time.
    #[track_caller]
    pub(crate) fn exclusive_order(&self) -> Vec<String> {
        let sections = self.check_exclusive().unwrap_or_else(|wrong| panic!("{wrong}"));
        sections.into_iter().map(|section| section.name).collect()
    }

    /// The largest number of sections that were open at the same time.
    #[track_caller]
    pub(crate) fn most_at_once(&self) -> usize {
        let sections = self.sections().unwrap_or_else(|wrong| panic!("{wrong}"));
        let running_at = |line| {
            let running = |section: &&Section| section.lines.0 <= line && line < section.lines.1;
            sections.iter().filter(running).count()
        };
        let begins = sections.iter().map(|section| running_at(section.lines.0));
        begins.max().unwrap_or(0)
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

/// What a job has written: `begin|alive|end NAME TOKEN NANOS`, and after `begin` perhaps more.
pub(crate) struct Line<'a> {
    pub(crate) word: &'a str,
    pub(crate) name: &'a str,
    pub(crate) token: u64,
    pub(crate) time: u128,
    pub(crate) more: &'a [&'a str],
}

impl<'a> Line<'a> {
    /// Reads the words of a line.
    pub(crate) fn of(words: &'a [&'a str]) -> Result<Self, &'static str> {
        let [word, name, token, time, more @ ..] = words else {
            return Err("not four words");
        };
        let token = token.parse().map_err(|_| "no token")?;
        let time = time.parse().map_err(|_| "no time")?;
        Ok(Self { word, name, token, time, more })
    }
}

/// The lines of one section have the same name and token.
fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: &str| format!("line {}: {why}: {line}", number + 1);
        let words: Vec<_> = line.split(' ').collect();
        let Line { word, name, token, time, .. } = Line::of(&words).map_err(wrong)?;
        let known = sections
            .iter_mut()
            .rfind(|section| section.name == name && section.token == token && !section.ended);
        match (word, known) {
            ("begin", _) => sections.push(Section {
                name: name.to_owned(),
                token,
                begin: time,
                last: time,
                ended: false,
                lines: (number, number),
            }),
            ("alive" | "end", Some(section)) => {
                section.last = time;
                section.lines.1 = number;
                section.ended = word == "end";
            }
            _ => return Err(wrong("not in a section")),
        }
    }
    Ok(sections)
}
