//! One call of zklock: what is done to it, and how it ends.

use crate::clock;
use crate::processes;
use crate::support::MARKER;
use crate::wish::{Patience, Wish};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
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

/// Something that was done to a contender, other than by servers and network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    KilledMonitor,
    KilledWorker,
    KilledHost,
    StoppedMonitor,
    StoppedWorker,
    Terminated,
    NodeDeleted,
}

pub(crate) struct Contender {
    pub(crate) wish: Wish,
    pub(crate) born: Duration,
    stderr: PathBuf,
    life: Mutex<Life>,
}

struct Life {
    child: Child,
    status: Option<ExitStatus>,
    hit: Option<Hit>,
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
        let mut command = Command::new("setsid");
        command.arg(env!("CARGO_BIN_EXE_zklock")).args([
            "-v",
            "-z",
            &place.hosts[wish.host],
            "--connect-timeout",
            "60",
        ]);
        command.args(["--session-timeout", &wish.session.to_string(), "--label", &wish.job.name]);
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
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&stderr).expect("a file"));
        let child = command.spawn().expect("zklock");
        let life = Mutex::new(Life { child, status: None, hit: None });
        Self { wish, born: clock::now(), stderr, life }
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

    pub(crate) fn hit(&self) -> Option<Hit> {
        self.life().hit
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Its words are of no interest any more.
    pub(crate) fn forget(&self) {
        fs::remove_file(&self.stderr).ok();
    }

    pub(crate) fn has_pid(&self, pid: u64) -> bool {
        u64::from(self.life().child.id()) == pid
    }

    /// Does that to it. Not if something was done to it before, since the two together are more than anybody
    /// promises to survive, nor if it has ended.
    pub(crate) fn suffer(&self, hit: Hit) -> bool {
        let mut life = self.life();
        // Not reaped while we hold it, so the process id is still its own.
        let over = life.status.is_some() || life.hit.is_some();
        let zklock = life.zklock();
        if over {
            return false;
        }
        // There is none for a moment at the start and at the end.
        let Some(worker) = processes::worker_of(zklock) else { return false };
        life.hit = Some(hit);
        match hit {
            Hit::KilledMonitor => drop(kill(zklock, Signal::SIGKILL)),
            Hit::KilledWorker => drop(kill(worker, Signal::SIGKILL)),
            Hit::KilledHost => {
                // Stopped first, or either would see the other and its job die.
                processes::stop(zklock);
                processes::stop(worker);
                if let Some(job) = processes::job_of(worker) {
                    killpg(job, Signal::SIGKILL).ok();
                }
                kill(worker, Signal::SIGKILL).ok();
                kill(zklock, Signal::SIGKILL).ok();
            }
            Hit::StoppedMonitor => drop(kill(zklock, Signal::SIGSTOP)),
            Hit::StoppedWorker => drop(kill(worker, Signal::SIGSTOP)),
            Hit::Terminated => drop(kill(zklock, Signal::SIGTERM)),
            Hit::NodeDeleted => {}
        }
        true
    }

    /// Ends a stop, if somebody is still there.
    pub(crate) fn go_on(&self) {
        let life = self.life();
        if life.status.is_none() {
            let zklock = life.zklock();
            let stopped = if life.hit == Some(Hit::StoppedWorker) {
                processes::worker_of(zklock)
            } else {
                Some(zklock)
            };
            stopped.and_then(|stopped| kill(stopped, Signal::SIGCONT).ok());
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
