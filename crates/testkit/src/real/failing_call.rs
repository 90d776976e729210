//! A system call of zklock fails, or takes long, whichever it is and whenever it comes, once or from then on. zklock ends,
//! no process is left, its exit code is the command's or one that a message explains, and the next contender runs after the
//! command.

use super::checker::Mode;
use super::{
    Case, DEADLINE, History, LATE, Output, Pipe, Running, end, first_child, processes_of, status_of, try_for,
    wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use zklock_core::signal::SIGTERM;

const SIGABRT: i32 = Signal::SIGABRT as i32;

/// The code of a command that ends by itself.
pub const DONE: i32 = 7;

/// Whose calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Those of both processes with all their threads, from the start. The command's don't.
    Both,
    /// Those of the first thread of one, which is where its loop runs, once the command runs.
    Monitor,
    Worker,
}

/// What happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The command ends with its code.
    Ends,
    /// The command's first process ends, and leaves another.
    Leaves,
    /// zklock gets TERM, as its command does.
    Terminate,
    /// zklock gets a signal, so that it calls what fails.
    Wake,
}

#[derive(Debug, Clone)]
pub struct FailingCall {
    pub of: Of,
    /// In strace's words: which call, how it fails or for how many microseconds it is held up, and the how manieth of each
    /// thread it is, if not all are. `+`: all later ones, too.
    pub calls: String,
    /// Whether the run begins behind a holder.
    pub waits: bool,
    pub then: Then,
    /// How long the command runs before.
    pub after: Duration,
}

impl FailingCall {
    /// Makes the run. Returns how the first zklock ended, or what is wrong.
    pub fn run(&self, case: &Case) -> Result<Output, String> {
        let history = case.history();
        let queue = match self.of {
            Of::Both => self.queue_from_the_start(case, &history),
            _ => Queue::start(case, &history, self.then),
        };
        let first = &queue.first;
        let strace = match self.of {
            Of::Both => None,
            Of::Monitor => Some(Strace::of(first.pid(), &self.calls)),
            Of::Worker => Some(Strace::of(worker_of(first.pid()), &self.calls)),
        };
        try_for(self.after, || (!first.is_running()).then_some(()));
        match self.then {
            // Its first child is zklock. If that is gone, the command is ended as usual.
            Then::Terminate => match first_child(first.pid()) {
                Some(zklock) => drop(kill(zklock, Signal::SIGTERM)),
                None => history.finish("first"),
            },
            Then::Wake => first.signal(Signal::SIGWINCH),
            Then::Leaves => history.finish("first"),
            Then::Ends => ["first", "other"].into_iter().for_each(|name| history.finish(name)),
        }
        if try_for(DEADLINE, || (!first.is_running()).then_some(())).is_none() {
            history.finish("first");
            return Err("it hangs".to_owned());
        }
        let output = queue.first.wait(DEADLINE);
        let last = queue.next.wait(DEADLINE);
        drop(strace);
        if last.code != Some(0) {
            return Err(format!("the next: {last}"));
        }
        // The two of the first command run at the same time.
        let mode = |name: &str| if name == "next" { Mode::Exclusive } else { Mode::Shared };
        let sections = history.check(mode)?;
        let ended = sections.iter().find(|section| section.name == "first").map(|section| section.ended);
        // Of a zklock that dies of it, the other process may live a moment longer.
        let at_once = self.of != Of::Both || output.code == Some(125);
        let within = if at_once { Duration::ZERO } else { LATE };
        let processes = || processes_of(case.marker());
        try_for(within, || processes().is_empty().then_some(()))
            .ok_or_else(|| format!("processes are left: {:?}", processes()))?;
        try_for(LATE, || case.contenders().is_empty().then_some(())).ok_or("nodes are left")?;
        match self.judge(&output, ended) {
            None => Ok(output),
            Some(wrong) => Err(format!("{wrong}: {output}")),
        }
    }

    fn queue_from_the_start(&self, case: &Case, history: &History) -> Queue {
        let holder = self.waits.then(|| case.holder());
        let inject = &self.calls;
        let strace = format!("exec strace -f -b execve -qq -o /dev/null -e inject={inject} \"$0\" \"$@\"");
        // A waiter whose connections all fail would wait for ever.
        let options = ["--session-timeout", "4", "--kill-after", "0.5", "-w", "20"];
        let job = format!("{}; exit {DONE}", history.steady_job("first"));
        let first = case.lock(&options, ["bash", "-c", &job]).prelude(&strace).spawn();
        let in_queue = 1 + usize::from(self.waits);
        let is_there = || case.contenders().len() >= in_queue || !first.is_running();
        try_for(Duration::from_secs(1), || is_there().then_some(()));
        let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.3)]).spawn();
        if let Some(holder) = holder {
            end(holder);
        }
        Queue { _stderr: None, first, next }
    }

    /// What is wrong with the end of a run whose command `ended` by itself, or didn't, or never began (`None`).
    fn judge(&self, output: &Output, ended: Option<bool>) -> Option<&'static str> {
        // It can happen before zklock begins: in the dynamic linker, or in Rust's runtime, which aborts.
        let linker = ["while loading shared libraries", "cannot allocate TLS data structures"];
        let is_begun =
            !linker.iter().any(|text| output.stderr.contains(text)) && output.signal != Some(SIGABRT);
        // Without `write` there is no message. The first one of each thread may be that of the message.
        let is_mute = self.calls.starts_with("write:error=") && self.calls.ends_with(['+', '1']);
        let is_told = output.stderr.contains("zklock: ") || is_mute || self.of != Of::Both;
        let is_terminated = output.signal == Some(SIGTERM) || output.code == Some(128 + SIGTERM);
        match (output.code, ended) {
            _ if !is_begun => ended.map(|_| "the command ran without zklock"),
            (Some(DONE), Some(true)) => None,
            (Some(DONE), _) => Some("the code of a command that hasn't ended"),
            _ if is_terminated && self.then == Then::Terminate => None,
            // What zklock can't observe, it ends.
            (Some(123), _) | (Some(125..=127), None) if is_told => None,
            (Some(123 | 125..=127), _) if !is_told => Some("a silent end"),
            _ => Some("another exit code than the command's"),
        }
    }
}

/// A holder and a waiter behind it.
pub struct Queue {
    _stderr: Option<Pipe>,
    pub first: Running,
    pub next: Running,
}

impl Queue {
    /// The holder's command ignores TERM, and gives signs of life from its first process and from one that has left the
    /// group and the session. Its stderr isn't read, so that what it says takes long.
    #[track_caller]
    pub fn start(case: &Case, history: &History, then: Then) -> Self {
        let other = history.steady_job("other").replace('\'', "'\\''");
        let wait = if then == Then::Ends { "wait; " } else { "" };
        let first = history.steady_job("first");
        let job = format!("trap '' TERM; setsid bash -c '{other}' & {first}; {wait}exit {DONE}");
        let stderr = Pipe::new(case.dir());
        stderr.fill();
        // A command that ends by itself must not lose its lock.
        let options: &[&str] = if then == Then::Ends { &[] } else { &["--session-timeout", "6"] };
        let first = case.lock(options, ["bash", "-c", &job]);
        let first = first.prelude(&format!("exec 2>'{}'", stderr.path().display())).spawn();
        wait_until("both to run", DEADLINE, || history.sections().is_ok_and(|sections| sections.len() == 2));
        let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.3)]).spawn();
        case.wait_for_contenders(2);
        Self { _stderr: Some(stderr), first, next }
    }
}

/// Calls fail while it exists, or until the process ends.
pub struct Strace(Child);

impl Strace {
    pub fn of(pid: Pid, calls: &str) -> Self {
        let mut strace = Command::new("strace");
        strace.args(["-qq", "-o", "/dev/null", "-e", &format!("inject={calls}"), "-p", &pid.to_string()]);
        let strace = Self(strace.stderr(Stdio::null()).spawn().expect("strace"));
        wait_until("strace to see the calls", DEADLINE, || {
            status_of(pid, "TracerPid").is_some_and(|tracer| tracer != "0")
        });
        strace
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
