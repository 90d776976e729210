//! The command under the lock: this binary itself, so that it is cheap and every sign of life is one write.

use crate::clock;
use nix::sys::signal::{SigSet, Signal};
use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Write, pipe};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a job, and of the child that some jobs have.
pub(crate) const JOB: &str = "job";
const CHILD: &str = "job-child";

/// Short, so that a job which lives too long is seen beside even the shortest of the next holder's.
const PULSE: Duration = Duration::from_millis(6);

/// Who gives signs of life beside the job itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Nobody.
    Alone,
    /// A child in its process group.
    Child,
    /// A child in a session of its own.
    Setsid,
    /// The same, whose parent is gone.
    Daemon,
}

impl Family {
    pub(crate) const ALL: [Self; 4] = [Self::Alone, Self::Child, Self::Setsid, Self::Daemon];

    /// What the child is started by.
    fn starter(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Alone => None,
            Self::Child => Some(&[]),
            Self::Setsid => Some(&["setsid"]),
            Self::Daemon => Some(&["setsid", "--fork"]),
        }
    }
}

/// What a job is told: all of its command line behind the verb.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) lasts: Duration,
    /// TERM doesn't end it; KILL has to.
    pub(crate) deaf: bool,
    pub(crate) family: Family,
}

impl Job {
    /// The command line, for zklock.
    pub(crate) fn command(&self, history: &Path) -> Vec<String> {
        self.words(JOB, history)
    }

    fn words(&self, verb: &str, history: &Path) -> Vec<String> {
        let program = std::env::current_exe().expect("this program");
        let millis = self.lasts.as_millis().to_string();
        let (deaf, family) = (self.deaf.to_string(), format!("{:?}", self.family));
        let (program, history) = (program.display().to_string(), history.display().to_string());
        let born = clock::now().as_millis().to_string();
        vec![program, verb.to_owned(), history, self.name.clone(), millis, deaf, family, born]
    }
}

/// Is the job, if the command line says so.
pub(crate) fn run_as_told(words: &[String]) -> bool {
    let [verb, history, name, millis, deaf, family, born] = words else {
        return false;
    };
    if verb != JOB && verb != CHILD {
        return false;
    }
    let lasts = Duration::from_millis(millis.parse().expect("milliseconds"));
    let family = Family::ALL.into_iter().find(|known| format!("{known:?}") == *family).expect("a family");
    let job = Job { name: name.clone(), lasts, deaf: deaf == "true", family };
    run(&job, verb == JOB, born, Path::new(history));
    true
}

fn run(job: &Job, leads: bool, born: &str, history: &Path) {
    let until = Instant::now() + job.lasts;
    if job.deaf {
        // Blocked, not ignored: the child inherits that as well.
        SigSet::from(Signal::SIGTERM).thread_block().expect("a signal to block");
    }
    let mut file = OpenOptions::new().append(true).open(history).expect("the history");
    if leads {
        write(&mut file, "begin", &job.name, &format!(" {born} {}", locks()));
    }
    let child = job.family.starter().filter(|_| leads).map(|starter| start_child(job, starter, history));
    while Instant::now() < until {
        thread::sleep(PULSE);
        write(&mut file, "alive", &job.name, "");
    }
    if let Some(mut open) = child {
        open.read_to_end(&mut vec![]).expect("a pipe");
    }
    if leads {
        write(&mut file, "end", &job.name, "");
    }
}

/// Starts the child, and gives a pipe that ends with it, whoever its parent is by then.
fn start_child(job: &Job, starter: &[&str], history: &Path) -> PipeReader {
    let words = job.words(CHILD, history);
    let words: Vec<_> = starter.iter().copied().chain(words.iter().map(String::as_str)).collect();
    let (reader, writer) = pipe().expect("a pipe");
    // Who reaps it is the kernel, as soon as the job is gone, or zklock.
    drop(Command::new(words[0]).args(&words[1..]).stdout(writer).spawn().expect("this program once more"));
    reader
}

/// One write to the end of the file: the kernel puts all of them in one order.
fn write(file: &mut File, verb: &str, name: &str, more: &str) {
    let line = format!("{} {verb} {name}{more}\n", clock::now().as_millis());
    file.write_all(line.as_bytes()).expect("room for the history");
}

/// What zklock says of the locks: `PATH=TOKEN:NODE:MODE`, with commas.
fn locks() -> String {
    let told = std::env::var("ZKLOCK_LOCKS").expect("ZKLOCK_LOCKS");
    let told: serde_json::Value = serde_json::from_str(&told).expect("ZKLOCK_LOCKS is JSON");
    let lock = |lock: &serde_json::Value| {
        let text = |key: &str| lock[key].as_str().map(str::to_owned);
        let token = lock["fencing_token"].as_u64()?;
        Some(format!("{}={token}:{}:{}", text("path")?, text("node")?, text("mode")?))
    };
    let locks = told.as_array().expect("a list").iter().map(|told| lock(told).expect("a lock"));
    locks.collect::<Vec<_>>().join(",")
}
