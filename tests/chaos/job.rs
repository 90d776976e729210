//! The command under the lock: this binary itself, so that it is cheap and every sign of life is one write.

use crate::clock;
use nix::sys::signal::{SigSet, Signal};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a job, and of the child that some jobs have.
pub(crate) const JOB: &str = "job";
const CHILD: &str = "job-child";

/// Short, so that a job which lives too long is seen beside even the shortest of the next holder's.
const PULSE: Duration = Duration::from_millis(6);

/// What a job is told: all of its command line behind the verb.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) lasts: Duration,
    /// TERM doesn't end it; KILL has to.
    pub(crate) deaf: bool,
    /// A second process in its group gives signs of life too.
    pub(crate) forks: bool,
}

impl Job {
    /// The command line, for zklock.
    pub(crate) fn command(&self, history: &Path) -> Vec<String> {
        self.words(JOB, history)
    }

    fn words(&self, verb: &str, history: &Path) -> Vec<String> {
        let program = std::env::current_exe().expect("this program");
        let millis = self.lasts.as_millis().to_string();
        let (deaf, forks) = (self.deaf.to_string(), self.forks.to_string());
        let (program, history) = (program.display().to_string(), history.display().to_string());
        let born = clock::now().as_millis().to_string();
        vec![program, verb.to_owned(), history, self.name.clone(), millis, deaf, forks, born]
    }
}

/// Is the job, if the command line says so.
pub(crate) fn run_as_told(words: &[String]) -> bool {
    let [verb, history, name, millis, deaf, forks, born] = words else {
        return false;
    };
    if verb != JOB && verb != CHILD {
        return false;
    }
    let lasts = Duration::from_millis(millis.parse().expect("milliseconds"));
    let job = Job { name: name.clone(), lasts, deaf: deaf == "true", forks: forks == "true" };
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
    let child = (leads && job.forks).then(|| start_child(job, history));
    while Instant::now() < until {
        thread::sleep(PULSE);
        write(&mut file, "alive", &job.name, "");
    }
    if let Some(mut child) = child {
        child.wait().expect("our child");
    }
    if leads {
        write(&mut file, "end", &job.name, "");
    }
}

fn start_child(job: &Job, history: &Path) -> Child {
    let words = job.words(CHILD, history);
    Command::new(&words[0]).args(&words[1..]).spawn().expect("this program once more")
}

/// One write to the end of the file: the kernel puts all of them in one order.
fn write(file: &mut File, verb: &str, name: &str, more: &str) {
    let line = format!("{} {verb} {name}{more}\n", clock::now().as_millis());
    file.write_all(line.as_bytes()).expect("room for the history");
}

/// What zklock says of the locks: `PATH=TOKEN:SEQUENCE`, with commas.
fn locks() -> String {
    let told = std::env::var("ZKLOCK_LOCKS").expect("ZKLOCK_LOCKS");
    let told: serde_json::Value = serde_json::from_str(&told).expect("ZKLOCK_LOCKS is JSON");
    let lock = |lock: &serde_json::Value| {
        let (path, node) = (lock["path"].as_str()?, lock["node"].as_str()?);
        Some(format!("{path}={}:{}", lock["fencing_token"].as_u64()?, &node[node.len() - 10..]))
    };
    let locks = told.as_array().expect("a list").iter().map(|told| lock(told).expect("a lock"));
    locks.collect::<Vec<_>>().join(",")
}
