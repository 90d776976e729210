//! One call of zklock: what is done to it, and how it ends.

use crate::clock;
use crate::hit::Hit;
use crate::job::Family;
use crate::processes;
use crate::support::MARKER;
use crate::wish::{Patience, Wish};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{ErrorKind, PipeReader, Write, pipe};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where and as whom contenders run.
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    pub(crate) marker: String,
    pub(crate) history: PathBuf,
    /// For each host.
    pub(crate) hosts: Vec<String>,
}

pub(crate) struct Contender {
    pub(crate) wish: Wish,
    pub(crate) born: Duration,
    stderr: PathBuf,
    /// A full pipe that it writes to instead.
    unread: Option<PipeReader>,
    life: Mutex<Life>,
}

struct Life {
    child: Child,
    status: Option<ExitStatus>,
    hits: Vec<Hit>,
    /// The last one isn't undone yet.
    stands_still: bool,
    /// When which of its nodes said so.
    revoked: Option<(Duration, String)>,
}

impl Life {
    /// The process that was started: the monitor.
    fn zklock(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }
}

impl Contender {
    pub(crate) fn spawn(wish: Wish, place: &Place) -> Self {
        let stderr = place.dir.join(format!("{}.stderr", wish.job.name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_zklock"));
        command.args(["-v", "-z", &place.hosts[wish.host], "--connect-timeout", "60"]);
        let session = wish.session.as_secs_f64().to_string();
        command.args(["--session-timeout", &session, "--label", &wish.job.name]);
        command.args(wish.kind.options());
        if let Some(millis) = wish.kill_after {
            command.arg(format!("--kill-after=0.{millis:03}"));
        }
        match wish.patience {
            Patience::Endless => &mut command,
            Patience::Some(time) => command.arg(format!("-w{}", time.as_secs_f64())),
            Patience::None => command.arg("-n"),
        };
        command.args(wish.locks).arg("--").args(wish.job.command(&place.history));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &place.dir).env(MARKER, &place.marker).current_dir(&place.dir);
        command.envs(std::env::vars_os().filter(|(name, _)| name == "ZKLOCK_PLANTED"));
        // Not a session of its own: nothing that is the only group of a session can be stopped as by Ctrl-Z.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        let unread = wish.unread.then(|| {
            let (reader, writer) = full_pipe();
            command.stderr(writer);
            reader
        });
        if unread.is_none() {
            command.stderr(File::create(&stderr).expect("a file"));
        }
        let child = command.spawn().expect("zklock");
        let life = Mutex::new(Life { child, status: None, hits: vec![], stands_still: false, revoked: None });
        Self { wish, born: clock::now(), stderr, unread, life }
    }

    pub(crate) fn name(&self) -> &str {
        &self.wish.job.name
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        let mut life = self.life();
        if life.status.is_none() {
            life.status = life.child.try_wait().expect("our child");
        }
        life.status
    }

    /// What was done to it.
    pub(crate) fn hits(&self) -> Vec<Hit> {
        self.life().hits.clone()
    }

    /// This node of it says now that it shall give up.
    pub(crate) fn is_revoked(&self, node: String) {
        self.life().revoked = Some((clock::now(), node));
    }

    /// Since when which of its nodes has said so.
    pub(crate) fn revoked(&self) -> Option<(Duration, String)> {
        self.life().revoked.clone()
    }

    /// Whether this can still be done to it.
    pub(crate) fn can_suffer(&self, hit: Hit) -> bool {
        let life = self.life();
        life.status.is_none() && self.is_promised(hit, &life)
    }

    /// Whether zklock promises to keep its word then.
    fn is_promised(&self, hit: Hit, life: &Life) -> bool {
        // Who left the command's process group hears nothing of a signal, and may outlive the command.
        let hears = !matches!(self.wish.job.family, Family::Setsid | Family::Daemon);
        (hears || hit != Hit::Terminated) && hit.may_follow(&life.hits, life.stands_still)
    }

    /// What it said.
    pub(crate) fn stderr(&self) -> String {
        match self.unread {
            Some(_) => "(nobody read them)".to_owned(),
            None => fs::read_to_string(&self.stderr).unwrap_or_default(),
        }
    }

    /// Its words are of no interest any more.
    pub(crate) fn forget(&self) {
        fs::remove_file(&self.stderr).ok();
    }

    pub(crate) fn has_pid(&self, pid: u64) -> bool {
        u64::from(self.life().child.id()) == pid
    }

    /// Does that to it, unless it has ended or the two together are more than anybody promises to survive.
    pub(crate) fn suffer(&self, hit: Hit) -> bool {
        let mut life = self.life();
        // Not reaped while we hold it, so the process id is still its own.
        if life.status.is_some() || !self.is_promised(hit, &life) {
            return false;
        }
        let zklock = life.zklock();
        // There is none for a moment at the start and at the end.
        let Some(worker) = processes::worker_of(zklock) else { return false };
        life.hits.push(hit);
        life.stands_still |= hit.stands_still();
        match hit {
            Hit::KilledMonitor => drop(kill(zklock, Signal::SIGKILL)),
            Hit::KilledWorker => drop(kill(worker, Signal::SIGKILL)),
            Hit::KilledHost => {
                // Stopped first, or either would see the other and its job die.
                processes::stop(zklock);
                processes::stop(worker);
                processes::kill_all_below(zklock, worker);
                kill(worker, Signal::SIGKILL).ok();
                kill(zklock, Signal::SIGKILL).ok();
            }
            Hit::StoppedMonitor => drop(kill(zklock, Signal::SIGSTOP)),
            Hit::StoppedWorker => drop(kill(worker, Signal::SIGSTOP)),
            // As the terminal does it, where the job isn't in the foreground.
            Hit::Suspended => drop(killpg(zklock, Signal::SIGTSTP)),
            Hit::Terminated => drop(kill(zklock, Signal::SIGTERM)),
            Hit::Revoked | Hit::NodeDeleted => {}
        }
        true
    }

    /// Ends a stop, if somebody is still there.
    pub(crate) fn go_on(&self) {
        let mut life = self.life();
        life.stands_still = false;
        if life.status.is_none() {
            let zklock = life.zklock();
            kill(zklock, Signal::SIGCONT).ok();
            if life.hits.contains(&Hit::StoppedWorker) {
                processes::worker_of(zklock).and_then(|worker| kill(worker, Signal::SIGCONT).ok());
            }
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pipe that has no room for a single byte.
fn full_pipe() -> (PipeReader, std::io::PipeWriter) {
    let (reader, writer) = pipe().expect("a pipe");
    let flags = |flags| fcntl(&writer, FcntlArg::F_SETFL(flags)).expect("flags of our own pipe");
    flags(OFlag::O_NONBLOCK);
    loop {
        match (&mut &writer).write(&[b'.'; 4096]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("our own pipe: {error}"),
        }
    }
    flags(OFlag::empty());
    (reader, writer)
}
