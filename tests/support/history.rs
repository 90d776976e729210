//! Records what the jobs of a lock did, and checks whether any two of them ran at the same time.

use std::fs;
use std::path::{Path, PathBuf};

/// A file to which jobs append. The kernel puts the appended lines in one order, so the file itself is the
/// evidence, and no clock has to be trusted.
pub(crate) struct History {
    file: PathBuf,
}

/// One job's time in the lock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) token: u64,
    /// Nanoseconds since 1970.
    pub(crate) begin: u128,
    /// When it was last seen: at its end, or at its last sign of life if it was killed.
    pub(crate) last: u128,
    pub(crate) ended: bool,
    /// Its first and its last line in the file.
    lines: (usize, usize),
}

impl Section {
    /// Whether a line of one section lies between lines of the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.lines.0 < other.lines.1 && other.lines.0 < self.lines.1
    }
}

impl History {
    /// A history in `dir`. The name makes it possible to have several.
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
    /// several cost little. It ends when it is stopped, or after [`History::finish`].
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

    /// The sections in the order in which they began, or an error about the lines.
    pub(crate) fn sections(&self) -> Result<Vec<Section>, String> {
        parse(&fs::read_to_string(&self.file).expect("the history"))
    }

    /// The sections in order, or the first pair that overlaps or whose tokens don't increase.
    pub(crate) fn check_exclusive(&self) -> Result<Vec<Section>, String> {
        let sections = self.sections()?;
        for (index, later) in sections.iter().enumerate() {
            for earlier in &sections[..index] {
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

    /// The largest number of sections at the same time.
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

    /// Each line is one `printf` and so one write: appended lines don't mix.
    fn mark(&self, name: &str) -> String {
        let file = self.file.display();
        format!(
            "mark() {{ printf '%s %s %s %s\\n' $1 {name} \"${{ZKLOCK_FENCING_TOKEN:-0}}\" \
             \"$(date +%s%N)\" >> '{file}'; }}"
        )
    }
}

/// Parses lines of `begin|alive|end NAME TOKEN NANOS`. A name with its token is one section.
fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: &str| format!("line {}: {why}: {line}", number + 1);
        let words: Vec<_> = line.split(' ').collect();
        let [verb, name, token, time] = words[..] else {
            return Err(wrong("not four words"));
        };
        let token: u64 = token.parse().map_err(|_| wrong("no token"))?;
        let time: u128 = time.parse().map_err(|_| wrong("no time"))?;
        let known = sections
            .iter_mut()
            .rfind(|section| section.name == name && section.token == token && !section.ended);
        match (verb, known) {
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
                section.ended = verb == "end";
            }
            _ => return Err(wrong("not in a section")),
        }
    }
    Ok(sections)
}
