//! The command under the lock: this binary itself, so that it starts fast and each sign of life is one write.

use crate::support::clock;
use nix::sys::signal::{SigSet, Signal};
use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Write, pipe};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a job, and that of its child.
pub(crate) const JOB: &str = "job";
const CHILD: &str = "job-child";

/// Short, so that a job which outlives its lock is seen beside even the shortest section of the next holder.
const PULSE: Duration = Duration::from_millis(6);

/// The processes that give signs of life beside the job itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descendants {
    None,
    /// A child in its process group.
    Child,
    /// A child in a session of its own.
    Setsid,
    /// A child in a session of its own, whose parent is gone.
    Daemon,
}

impl Descendants {
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Child, Self::Setsid, Self::Daemon];

    /// The program that starts the child.
    fn starter(self) -> Option<&'static [&'static str]> {
        match self {
            Self::None => None,
            Self::Child => Some(&[]),
            Self::Setsid => Some(&["setsid"]),
            Self::Daemon => Some(&["setsid", "--fork"]),
        }
    }
}

/// The parameters of a job: its command line after the word.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) duration: Duration,
    /// Only KILL ends it.
    pub(crate) ignores_term: bool,
    pub(crate) descendants: Descendants,
}

impl Job {
    /// The command line, for zklock.
    pub(crate) fn command(&self, history: &Path) -> Vec<String> {
        self.arguments(JOB, history)
    }

    fn arguments(&self, word: &str, history: &Path) -> Vec<String> {
        let program = std::env::current_exe().expect("this program");
        let millis = self.duration.as_millis().to_string();
        let (ignores_term, descendants) = (self.ignores_term.to_string(), format!("{:?}", self.descendants));
        let (program, history) = (program.display().to_string(), history.display().to_string());
        let started = clock::now().as_millis().to_string();
        vec![program, word.to_owned(), history, self.name.clone(), millis, ignores_term, descendants, started]
    }
}

/// Runs as the job, if the command line asks for it.
pub(crate) fn run_job_if_requested(arguments: &[String]) -> bool {
    let [word, history, name, millis, ignores_term, descendants, started] = arguments else {
        return false;
    };
    if word != JOB && word != CHILD {
        return false;
    }
    let duration = Duration::from_millis(millis.parse().expect("milliseconds"));
    let descendants = Descendants::ALL
        .into_iter()
        .find(|known| format!("{known:?}") == *descendants)
        .expect("a kind of descendants");
    let job = Job { name: name.clone(), duration, ignores_term: ignores_term == "true", descendants };
    run(&job, word == JOB, started, Path::new(history));
    true
}

fn run(job: &Job, is_job: bool, started: &str, history: &Path) {
    let until = Instant::now() + job.duration;
    if job.ignores_term {
        // Blocked, not ignored: the child inherits a blocked signal too.
        SigSet::from(Signal::SIGTERM).thread_block().expect("a signal to block");
    }
    let mut file = OpenOptions::new().append(true).open(history).expect("the history");
    if is_job {
        write(&mut file, "begin", &job.name, &format!(" {started} {}", locks()));
    }
    let child =
        job.descendants.starter().filter(|_| is_job).map(|starter| start_child(job, starter, history));
    while Instant::now() < until {
        thread::sleep(PULSE);
        write(&mut file, "alive", &job.name, "");
    }
    if let Some(mut open) = child {
        open.read_to_end(&mut vec![]).expect("a pipe");
    }
    if is_job {
        write(&mut file, "end", &job.name, "");
    }
}

/// Starts the child, and returns a pipe that closes when the child ends, even after a change of its parent.
fn start_child(job: &Job, starter: &[&str], history: &Path) -> PipeReader {
    let arguments = job.arguments(CHILD, history);
    let arguments: Vec<_> = starter.iter().copied().chain(arguments.iter().map(String::as_str)).collect();
    let (reader, writer) = pipe().expect("a pipe");
    // The kernel reaps it as soon as the job is gone, or zklock does.
    drop(
        Command::new(arguments[0]).args(&arguments[1..]).stdout(writer).spawn().expect("this program again"),
    );
    reader
}

/// A single appending write: the kernel puts all writes in one order.
fn write(file: &mut File, word: &str, name: &str, more: &str) {
    let line = format!("{} {word} {name}{more}\n", clock::now().as_millis());
    file.write_all(line.as_bytes()).expect("room for the history");
}

/// The locks that zklock reports in `ZKLOCK_LOCKS`, as `PATH=TOKEN:NODE:MODE`, separated by commas.
fn locks() -> String {
    let listed = std::env::var("ZKLOCK_LOCKS").expect("ZKLOCK_LOCKS");
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("ZKLOCK_LOCKS is JSON");
    let lock = |lock: &serde_json::Value| {
        let text = |key: &str| lock[key].as_str().map(str::to_owned);
        let token = lock["fencing_token"].as_u64()?;
        Some(format!("{}={token}:{}:{}", text("path")?, text("node")?, text("mode")?))
    };
    let locks = listed.as_array().expect("a list").iter().map(|listed| lock(listed).expect("a lock"));
    locks.collect::<Vec<_>>().join(",")
}
