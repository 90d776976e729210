//! The course of a trial.

use super::fault::{Plan, Undo, inject};
use super::helper::Beat;
use super::history::{FAULT, FIRST, GONE, History, NEXT, UNDONE};
use super::processes;
use super::verdict::{Evidence, Report, judge};
use crate::support::{Fault, MARKER, Observer, Proxy, Rng, Server, clock, new_marker, try_for};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// How often the trial checks what has happened.
const LOOK: Duration = Duration::from_millis(1);
/// A trial normally takes a few seconds at most. This is longer than any helper lives.
const LONGEST: Duration = Duration::from_secs(25);
/// How long the next command runs, in milliseconds, so that a process that lives on beside it is seen.
const NEXT_LASTS: &str = "150";

/// The program, the servers and the helper that trials use.
pub(crate) struct Environment<'a> {
    pub(crate) program: PathBuf,
    pub(crate) server: &'a Server,
    pub(crate) observer: &'a Observer,
    pub(crate) beat: &'a Beat,
    /// The session timeout in seconds, as given to zklock.
    pub(crate) session: u32,
}

/// The zklock that a fault hits.
pub(super) struct Target<'a> {
    pub(super) monitor: Pid,
    pub(super) path: &'a str,
    /// The proxy between it and the server, if there is one.
    pub(super) link: Option<&'a Proxy>,
}

/// One call of zklock.
struct Call {
    child: Child,
    stderr: PathBuf,
    status: Option<ExitStatus>,
}

impl Call {
    fn start(environment: &Environment<'_>, hosts: &str, mark: &str, history: &Path, job: &[&str]) -> Self {
        let stderr = history.with_extension(format!("{}.stderr", job[0]));
        // In a session of its own, so that it has no access to the terminal of the tests.
        let mut command = Command::new("setsid");
        command.arg(&environment.program).args(["-v", "-z", hosts, "--kill-after", "0.2"]);
        command.args(["--session-timeout", &environment.session.to_string(), &lock_path(mark), "--"]);
        command.arg(environment.beat.program()).arg("lead").arg(history).args(job);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", environment.beat.dir()).env(MARKER, mark).current_dir(environment.beat.dir());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&stderr).expect("a file"));
        Self { child: command.spawn().expect("zklock"), stderr, status: None }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }

    /// Whether it has ended. Until this returns true, its process id can't be reused.
    fn has_ended(&mut self) -> bool {
        self.status = self.status.or_else(|| self.child.try_wait().expect("our child"));
        self.status.is_some()
    }
}

fn lock_path(mark: &str) -> String {
    format!("/escape/{mark}")
}

/// Runs one trial. Returns `None` if the fault came too early or too late to hit anything and nothing was wrong.
pub(crate) fn trial(environment: &Environment<'_>, fault: Fault, rng: &mut Rng) -> Option<Report> {
    let plan = Plan::draw(fault, rng);
    let mark = new_marker();
    let path = lock_path(&mark);
    let file = environment.beat.file(&format!("{mark}.beats"));
    let mut history = History::open(&file);
    let link = (fault == Fault::Blackhole).then(|| Proxy::to(environment.server));
    let direct = environment.server.connect_string();
    let hosts = link.as_ref().map_or(direct.clone(), Proxy::connect_string);

    let (lasts, deaf) = (plan.lasts.as_millis().to_string(), plan.deaf.to_string());
    let job: Vec<_> =
        [FIRST, &lasts, &deaf].into_iter().chain(environment.beat.kinds().iter().copied()).collect();
    let spawned = clock::now();
    let mut first = Call::start(environment, &hosts, &mark, &file, &job);
    let mut next: Option<Call> = None;
    let (mut was_injected, mut undo) = (None, None);
    let hangs = loop {
        history.read();
        let now = clock::now();
        let due = plan.due(spawned, &history).filter(|_| was_injected.is_none());
        if first.status.is_none() && first.has_ended() {
            history.note(GONE);
            was_injected = was_injected.or(Some(false));
        } else if due.is_some_and(|due| due <= now) {
            let target = Target { monitor: first.pid(), path: &path, link: link.as_ref() };
            history.note(FAULT);
            undo = inject(fault, environment, &target);
            was_injected = Some(undo.is_some());
        }
        // From here on, the next zklock queues behind the first, unless the fault hit the first before it had a
        // position.
        if next.is_none() && (was_injected.is_some() || history.has_begun(FIRST)) {
            next = Some(Call::start(environment, &direct, &mark, &file, &[NEXT, NEXT_LASTS, "0"]));
        }
        // On a busy machine, the next zklock's turn may be over before its command has begun.
        if (history.has_begun(NEXT) || next.as_mut().is_some_and(Call::has_ended))
            && let Some(undo) = undo.take()
        {
            if !matches!(undo, Undo::Nothing) {
                history.note(UNDONE);
            }
            undo.undo(link.as_ref());
        }
        if first.status.is_some() && next.as_mut().is_some_and(Call::has_ended) {
            break false;
        }
        if now > spawned + LONGEST {
            break true;
        }
        thread::sleep(due.map_or(LOOK, |due| due.saturating_sub(now)).min(LOOK));
    };
    history.read();
    let stop = |name| fs::write(file.with_extension(format!("beats.{name}.stop")), "").expect("a file");
    // No process of zklock was left to end these.
    if fault == Fault::KillBoth && was_injected == Some(true) {
        stop(FIRST);
    }

    // A session that was not closed lasts this long, with the server's rounding. If a process has already been seen to
    // live too long, there is no point in waiting for the end.
    let limit = if history.overlapping().is_empty() || fault == Fault::KillBoth {
        Duration::from_secs(u64::from(environment.session) + 10)
    } else {
        LOOK
    };
    let processes = processes::left(&mark, &file, limit);
    let nodes = || environment.observer.children(&path);
    let nodes = try_for(limit, || nodes().is_empty().then(Vec::new)).unwrap_or_else(nodes);
    history.read();
    [FIRST, NEXT].into_iter().for_each(stop);
    if hangs || !processes.is_empty() {
        processes::kill_left(&mark);
    }
    first.child.wait().expect("our child");
    let stderr = |call: &Call| fs::read_to_string(&call.stderr).unwrap_or_default();
    let evidence = Evidence {
        fault,
        met: was_injected == Some(true),
        hangs,
        first: first.status,
        next: next.as_ref().and_then(|next| next.status),
        processes,
        nodes,
    };
    let said = (stderr(&first), next.as_ref().map(stderr).unwrap_or_default());
    if let Some(mut next) = next {
        next.child.wait().expect("our child");
    }
    let report = judge(&history, &evidence, &format!("{plan:?}"), &said);
    forget(environment, &mark);
    report
}

/// Removes the files of a trial.
fn forget(environment: &Environment<'_>, mark: &str) {
    for entry in fs::read_dir(environment.beat.dir()).expect("our directory").flatten() {
        if entry.file_name().to_string_lossy().starts_with(mark) {
            fs::remove_file(entry.path()).ok();
        }
    }
}
