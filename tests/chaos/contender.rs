//! One running zklock: how it is started, the faults it meets, and its exit.

use crate::invocation::{Invocation, Wait};
use crate::job::{Deaf, Descendant, Workplace};
use crate::processes;
use crate::support::clock;
use crate::support::{Fault, MARKER, Target, first_child};
use crate::wires::Host;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{ErrorKind, PipeReader, Write, pipe};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The environment of all contenders.
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    pub(crate) marker: String,
    pub(crate) jobs: Workplace,
    pub(crate) hosts: Vec<Host>,
}

pub(crate) struct Contender {
    pub(crate) invocation: Invocation,
    pub(crate) started: Duration,
    stderr: PathBuf,
    /// The unread end of the full pipe that is its stderr.
    unread: Option<PipeReader>,
    life: Mutex<Life>,
}

struct Life {
    child: Child,
    status: Option<ExitStatus>,
    contender_faults: Vec<Fault>,
    /// The last fault stopped a process, which hasn't been resumed yet.
    stopped: bool,
    /// When a node was revoked, and which one.
    revoked: Option<(Duration, String)>,
}

impl Life {
    /// The process that was started: the monitor.
    fn zklock(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }
}

impl Contender {
    pub(crate) fn spawn(invocation: Invocation, place: &Place) -> Self {
        let stderr = place.dir.join(format!("{}.stderr", invocation.job.name));
        let host = &place.hosts[invocation.host];
        let zklock = env!("CARGO_BIN_EXE_zklock").to_owned();
        let words: Vec<_> = host.words.iter().chain([&zklock]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["-v", "-z", &host.connect_string, "--connect-timeout", "60"]);
        let session = invocation.session.as_secs_f64().to_string();
        command.args(["--session-timeout", &session, "--label", &invocation.job.name]);
        command.args(invocation.kind.options());
        if let Some(millis) = invocation.kill_after {
            command.arg(format!("--kill-after=0.{millis:03}"));
        }
        match invocation.wait_limit {
            Wait::Unlimited => &mut command,
            Wait::Some(time) => command.arg(format!("-w{}", time.as_secs_f64())),
            Wait::None => command.arg("-n"),
        };
        command.args(invocation.locks).arg("--").args(invocation.job.command(&place.jobs));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &place.dir).env(MARKER, &place.marker).current_dir(&place.dir);
        // Not a session of its own: the only process group of a session is orphaned, and Ctrl-Z can't stop it.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        let unread = invocation.unread.then(|| {
            let (reader, writer) = full_pipe();
            command.stderr(writer);
            reader
        });
        if unread.is_none() {
            command.stderr(File::create(&stderr).expect("a file"));
        }
        let child = command.spawn().expect("zklock");
        let life =
            Mutex::new(Life { child, status: None, contender_faults: vec![], stopped: false, revoked: None });
        Self { invocation, started: clock::now(), stderr, unread, life }
    }

    pub(crate) fn name(&self) -> &str {
        &self.invocation.job.name
    }

    /// Its exit status, if it has ended.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        let mut life = self.life();
        if life.status.is_none() {
            life.status = life.child.try_wait().expect("a status of the child");
        }
        life.status
    }

    pub(crate) fn contender_faults(&self) -> Vec<Fault> {
        self.life().contender_faults.clone()
    }

    /// Notes that this node of the contender is revoked.
    pub(crate) fn is_revoked(&self, node: String) {
        self.life().revoked = Some((clock::now(), node));
    }

    pub(crate) fn revoked(&self) -> Option<(Duration, String)> {
        self.life().revoked.clone()
    }

    pub(crate) fn can_apply(&self, fault: Fault) -> bool {
        let life = self.life();
        life.status.is_none() && self.is_covered(fault, &life)
    }

    /// Whether zklock's guarantees cover this fault after the earlier ones.
    fn is_covered(&self, fault: Fault, life: &Life) -> bool {
        let job = &self.invocation.job;
        let leaves = job.descendants.iter().any(|&descendant| Descendant::leaves(descendant));
        let reaches_all = match fault {
            // A descendant may outlive the command if it gets no forwarded signal, or ignores that.
            Fault::Terminate => !leaves && (job.descendants.is_empty() || job.deaf != Deaf::Descendants),
            // The kernel sends KILL to the command's process group.
            Fault::KillBoth => !leaves,
            // One after another they can't all be killed at once, as by a crash of the host.
            Fault::KillHost => !job.descendants.contains(&Descendant::Chain),
            _ => true,
        };
        reaches_all && fault.may_follow(&life.contender_faults, life.stopped)
    }

    pub(crate) fn stderr(&self) -> String {
        match self.unread {
            Some(_) => "(the pipe was not read)".to_owned(),
            None => fs::read_to_string(&self.stderr).unwrap_or_default(),
        }
    }

    pub(crate) fn delete_stderr(&self) {
        fs::remove_file(&self.stderr).ok();
    }

    pub(crate) fn has_pid(&self, pid: u64) -> bool {
        u64::from(self.life().child.id()) == pid
    }

    /// Applies the fault, unless the contender has ended or zklock doesn't guarantee to survive the combination.
    pub(crate) fn apply(&self, fault: Fault) -> bool {
        let mut life = self.life();
        // The child isn't reaped while `life` is locked, so the pid is still its own.
        if life.status.is_some() || !self.is_covered(fault, &life) {
            return false;
        }
        let zklock = life.zklock();
        // `None` for a moment at the start and at the end.
        let worker = first_child(zklock);
        let met = match fault.target() {
            Target::Node => true,
            _ if fault == Fault::KillHost => worker.is_some_and(|worker| {
                processes::kill_host(zklock, worker);
                true
            }),
            _ => !fault.signal(zklock, worker, self.invocation.locks[0]).is_empty(),
        };
        if met {
            life.contender_faults.push(fault);
            life.stopped |= fault.stops_a_process();
        }
        met
    }

    /// Ends a stop, if the processes still exist.
    pub(crate) fn resume(&self) {
        let mut life = self.life();
        life.stopped = false;
        if life.status.is_none() {
            let zklock = life.zklock();
            let was_suspended = life.contender_faults.contains(&Fault::Suspend);
            let group = Pid::from_raw(-zklock.as_raw());
            kill(if was_suspended { group } else { zklock }, Signal::SIGCONT).ok();
            if life.contender_faults.contains(&Fault::StopWorker) {
                first_child(zklock).and_then(|worker| kill(worker, Signal::SIGCONT).ok());
            }
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pipe without room for a single byte.
fn full_pipe() -> (PipeReader, std::io::PipeWriter) {
    let (reader, writer) = pipe().expect("a pipe");
    let flags = |flags| fcntl(&writer, FcntlArg::F_SETFL(flags)).expect("flags of the pipe");
    flags(OFlag::O_NONBLOCK);
    loop {
        match (&mut &writer).write(&[b'.'; 4096]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("the pipe: {error}"),
        }
    }
    flags(OFlag::empty());
    (reader, writer)
}
