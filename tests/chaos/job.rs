//! The command under the lock: this binary itself, so that it starts fast and each sign of life is one write. Its
//! descendants leave it in every way there is.

use crate::support::clock;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{PipeReader, Read, Write, pipe};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a job, that of a descendant, and that of a descendant that reaps another.
const JOB: &str = "job";
const DESCENDANT: &str = "job-descendant";
const REAPER: &str = "job-reaper";

/// Short, so that a job which outlives its lock is seen beside even the shortest section of the next holder.
const PULSE: Duration = Duration::from_millis(6);

/// A process that gives signs of life beside the job itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descendant {
    /// A child in its process group.
    Child,
    /// A child with an empty environment.
    Bare,
    /// A child in a session of its own.
    Setsid,
    /// A child in a session of its own, whose parent is gone.
    Daemon,
    /// The same, below a child that reaps it.
    Reaped,
    /// One after another, each in a session of its own: the parent ends after 5 ms.
    Chain,
    /// A child of another user, in a session of its own. Only root can start it.
    User,
}

const ALL: [Descendant; 7] = [
    Descendant::Child,
    Descendant::Bare,
    Descendant::Setsid,
    Descendant::Daemon,
    Descendant::Reaped,
    Descendant::Chain,
    Descendant::User,
];

const AS_NOBODY: &[&str] = &["su", "-s", "/bin/sh", "-c", "exec \"$0\" \"$@\"", "nobody"];
const CHAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chaos/chain.py");

impl Descendant {
    /// Whether it leaves the process group of the command.
    pub(crate) fn leaves(self) -> bool {
        !matches!(self, Self::Child | Self::Bare)
    }

    /// The words before the command line that start it.
    fn starter(self) -> &'static [&'static str] {
        match self {
            Self::Child | Self::Reaped => &[],
            Self::Bare => &["env", "-i"],
            Self::Setsid => &["setsid"],
            Self::Daemon => &["setsid", "--fork"],
            Self::Chain => &["python3", CHAIN],
            Self::User => AS_NOBODY,
        }
    }
}

/// Which processes only KILL ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deaf {
    None,
    /// All but the job itself.
    Descendants,
    All,
}

/// The program of all jobs, their history, and the descendants that this user can start on this machine.
pub(crate) struct Workplace {
    program: PathBuf,
    history: PathBuf,
    pub(crate) descendants: Vec<Descendant>,
}

impl Workplace {
    /// A place in `dir` that other users reach, too.
    pub(crate) fn new(dir: &Path, history: &Path) -> Self {
        let program = dir.join("job");
        fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy of this program");
        for (file, mode) in [(dir, 0o755), (&program, 0o755), (history, 0o666)] {
            fs::set_permissions(file, Permissions::from_mode(mode)).expect("our file");
        }
        let can_be_nobody = || {
            let mut probe = Command::new(AS_NOBODY[0]);
            probe.args(&AS_NOBODY[1..]).args(["sh", "-c", "test -x \"$0\" && test -w \"$1\""]);
            probe.args([&program, history]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            nix::unistd::geteuid().is_root() && probe.status().is_ok_and(|status| status.success())
        };
        let user = can_be_nobody();
        let descendants = ALL.into_iter().filter(|&kind| kind != Descendant::User || user).collect();
        Self { program, history: history.to_owned(), descendants }
    }
}

/// The parameters of a job: its command line after the first word.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) duration: Duration,
    pub(crate) deaf: Deaf,
    pub(crate) descendants: Vec<Descendant>,
}

impl Job {
    /// The command line, for zklock.
    pub(crate) fn command(&self, place: &Workplace) -> Vec<String> {
        let millis = self.duration.as_millis().to_string();
        let kinds: Vec<_> = self.descendants.iter().map(|kind| format!("{kind:?}")).collect();
        let (program, history) = (place.program.display().to_string(), place.history.display().to_string());
        let deaf = format!("{:?}", self.deaf);
        vec![program, JOB.to_owned(), history, self.name.clone(), millis, deaf, kinds.join(",")]
    }
}

/// Runs as the job or a descendant, if the command line asks for it.
pub(crate) fn run_job_if_requested(arguments: &[String]) -> bool {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [JOB, history, name, millis, deaf, kinds] => {
            let term = SigSet::from(Signal::SIGTERM);
            if deaf != "None" {
                // Blocked, not ignored: the descendants inherit a blocked signal too.
                term.thread_block().expect("a signal to block");
            }
            let mut pulse = Pulse::new(history, name, millis);
            let locks = std::env::var("ZKLOCK_LOCKS").expect("ZKLOCK_LOCKS");
            pulse.write("begin", &format!(" {locks}"));
            let kinds: Vec<_> = ALL.into_iter().filter(|kind| kinds.contains(&format!("{kind:?}"))).collect();
            let mut open = pulse.start(&kinds);
            if deaf == "Descendants" {
                term.thread_unblock().expect("a signal to unblock");
            }
            pulse.run();
            open.read_to_end(&mut vec![]).expect("a pipe");
            pulse.write("end", "");
        }
        [DESCENDANT, history, name, millis] => Pulse::new(history, name, millis).run(),
        [REAPER, history, name, millis] => {
            set_child_subreaper(true).expect("a subreaper");
            let mut pulse = Pulse::new(history, name, millis);
            let mut open = pulse.start(&[Descendant::Daemon]);
            pulse.run();
            open.read_to_end(&mut vec![]).expect("a pipe");
        }
        _ => return false,
    }
    true
}

/// The signs of life of one process.
struct Pulse<'a> {
    path: &'a str,
    history: File,
    name: &'a str,
    millis: &'a str,
    until: Instant,
}

impl<'a> Pulse<'a> {
    fn new(path: &'a str, name: &'a str, millis: &'a str) -> Self {
        let until = Instant::now() + Duration::from_millis(millis.parse().expect("milliseconds"));
        let history = OpenOptions::new().append(true).open(path).expect("the history");
        Self { path, history, name, millis, until }
    }

    fn run(&mut self) {
        while Instant::now() < self.until {
            thread::sleep(PULSE);
            self.write("alive", "");
        }
    }

    /// A single appending write: the kernel puts all writes in one order.
    fn write(&mut self, word: &str, more: &str) {
        let token = std::env::var("ZKLOCK_FENCING_TOKEN").unwrap_or("0".to_owned());
        let line = format!("{word} {} {token} {}{more}\n", self.name, clock::now().as_nanos());
        self.history.write_all(line.as_bytes()).expect("room for the history");
    }

    /// Starts these descendants. The pipe closes when all have ended, even those whose parent has changed: it is their
    /// stdout. The kernel reaps them as soon as this process is gone, or zklock does.
    fn start(&self, kinds: &[Descendant]) -> PipeReader {
        let (reader, writer) = pipe().expect("a pipe");
        let program = std::env::current_exe().expect("this program").display().to_string();
        for &kind in kinds {
            let word = if kind == Descendant::Reaped { REAPER } else { DESCENDANT };
            let words = [&program, word, self.path, self.name, self.millis];
            let words: Vec<_> = kind.starter().iter().copied().chain(words).collect();
            let stdout = writer.try_clone().expect("a pipe");
            drop(
                Command::new(words[0]).args(&words[1..]).stdout(stdout).spawn().expect("this program again"),
            );
        }
        reader
    }
}
