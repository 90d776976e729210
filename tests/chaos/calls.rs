//! A system call of zklock fails, or takes long, whichever it is and whenever it comes, once or from then on. zklock ends,
//! no process is left, its exit code is the command's or one that a message explains, and the next contender runs after the
//! command.
//! `scripts/chaos --calls N` makes many such runs.

use crate::support::{Case, DEADLINE, Output, Rng, Server, end, first_child, processes_of, try_for};
use nix::sys::signal::{Signal, kill};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use zklock_core::signal::SIGTERM;

const SIGABRT: i32 = Signal::SIGABRT as i32;

/// The calls of a run that may fail or take long, and about how often its busiest process makes them. `brk` and
/// `rt_sigprocmask` aren't among them: the kernel always carries them out, so the C library relies on it.
const CALLS: [(&str, u64); 46] = [
    ("access", 1),
    ("clone", 1),
    ("clone3", 3),
    ("close", 28),
    ("connect", 3),
    ("epoll_create1", 1),
    ("epoll_ctl", 32),
    ("epoll_pwait", 10),
    ("eventfd2", 4),
    ("execve", 2),
    ("fcntl", 45),
    ("futex", 13),
    ("getdents64", 5),
    ("getrandom", 5),
    ("getsockopt", 1),
    ("ioctl", 7),
    ("kill", 3),
    ("madvise", 1),
    ("mlockall", 1),
    ("mmap", 21),
    ("mprotect", 14),
    ("munmap", 9),
    ("newfstatat", 11),
    ("openat", 21),
    ("pipe2", 1),
    ("poll", 13),
    ("ppoll", 2),
    ("pread64", 12),
    ("prctl", 11),
    ("prlimit64", 7),
    ("read", 89),
    ("readlink", 2),
    ("recvfrom", 83),
    ("rt_sigaction", 70),
    ("sendto", 3),
    ("setpgid", 3),
    ("sigaltstack", 4),
    ("signalfd4", 1),
    ("socket", 3),
    ("socketpair", 1),
    ("timerfd_create", 2),
    ("timerfd_settime", 22),
    ("wait4", 2),
    ("waitid", 12),
    ("write", 10),
    ("writev", 10),
];

/// How it fails, or for how many microseconds it is held up.
const EFFECTS: [&str; 9] = [
    "error=ENOMEM",
    "error=EAGAIN",
    "error=EINTR",
    "error=EMFILE",
    "error=ENOSPC",
    "error=EIO",
    "delay_enter=100000",
    "delay_enter=700000",
    "delay_enter=2000000",
];

/// How calls of one kind fail from some time on. EINTR isn't among them: it makes the standard library repeat some for
/// ever.
const LASTING: [&str; 7] =
    ["error=ENOMEM", AGAIN, "error=EMFILE", "error=ENOSPC", "error=EIO", "error=EINVAL", "delay_enter=50000"];

const AGAIN: &str = "error=EAGAIN";

/// For these it means that there is nothing yet, which may well be so for ever.
const NOTHING_YET: [&str; 10] =
    ["connect", "epoll_pwait", "getrandom", "poll", "ppoll", "read", "recvfrom", "sendto", "write", "writev"];

/// A call that fails isn't made at all here: what is to be closed would stay open for ever.
const ONCE: &str = "close";

/// The kernel has no such errors for them.
const ONLY_SLOW: [&str; 2] = ["futex", "wait4"];

/// The effects that aren't delays begin so.
const ERROR: &str = "error=";

/// Without it there is no message.
const TELLS: &str = "write";

/// Every call of zklock is slow.
const ALL_SLOW: (&str, &str) = ("all", "delay_enter=1000");

/// How long the first command may run at most before it is to end.
const RUNS_FOR: u64 = 1500;

/// How long processes may take to disappear at the end, on a busy machine.
const AFTERWARDS: Duration = Duration::from_secs(15);

/// After how many runs the check says how far it is.
const TOLD_EVERY: u64 = 50;

/// One run, and what happens in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailingCall {
    pub(crate) call: &'static str,
    pub(crate) effect: &'static str,
    /// The how manieth call it is, in each thread.
    pub(crate) when: u64,
    /// Whether all later ones have the same effect.
    pub(crate) lasts: bool,
    /// Whether the run begins behind a holder.
    pub(crate) waits: bool,
    /// Whether the command is ended by TERM to zklock, and not by itself.
    pub(crate) is_terminated: bool,
    /// When the command is to end.
    pub(crate) after: Duration,
}

impl FailingCall {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let index =
            |rng: &mut Rng, length: usize| usize::try_from(rng.below(length as u64)).expect("a usize");
        let (call, count) = CALLS[index(rng, CALLS.len())];
        let lasts = rng.below(2) == 0 && call != ONCE;
        let effects: &[&str] = if lasts { &LASTING } else { &EFFECTS };
        let effects: Vec<_> =
            effects.iter().copied().filter(|effect| is_possible(call, effect, lasts)).collect();
        let (effect, when) = (effects[index(rng, effects.len())], 1 + rng.below(count));
        let (call, effect, when) =
            if lasts && rng.below(20) == 0 { (ALL_SLOW.0, ALL_SLOW.1, 1) } else { (call, effect, when) };
        Self {
            call,
            effect,
            when,
            lasts,
            waits: rng.below(2) == 0,
            is_terminated: rng.below(3) == 0,
            after: Duration::from_millis(rng.below(RUNS_FOR)),
        }
    }

    /// Makes the run. Returns how the first zklock ended, or what is wrong.
    pub(crate) fn run(self, case: &Case) -> Result<Output, String> {
        let history = case.history();
        let holder = self.waits.then(|| case.holder());
        let lasts = if self.lasts { "+" } else { "" };
        let inject = format!("inject={}:{}:when={}{lasts}", self.call, self.effect, self.when);
        // Both processes with all their threads, and not the command.
        let strace = format!("exec strace -f -b execve -qq -o /dev/null -e {inject} \"$0\" \"$@\"");
        // A waiter whose connections all fail would wait for ever.
        let options = ["--session-timeout", "4", "--kill-after", "0.5", "-w", "20"];
        let job = format!("{}; exit 7", history.steady_job("first"));
        let first = case.lock(&options, ["bash", "-c", &job]).prelude(&strace).spawn();
        let in_queue = 1 + usize::from(self.waits);
        try_for(Duration::from_secs(1), || (case.contenders().len() >= in_queue).then_some(()));
        // With the usual session timeout it loses no lock to a busy machine.
        let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.05)]).spawn();
        if let Some(holder) = holder {
            end(holder);
        }
        try_for(self.after, || (!first.is_running()).then_some(()));
        if self.is_terminated
            && let Some(zklock) = first_child(first.pid())
        {
            kill(zklock, Signal::SIGTERM).ok();
        } else {
            history.finish("first");
        }
        if try_for(DEADLINE, || (!first.is_running()).then_some(())).is_none() {
            history.finish("first");
            return Err("it hangs".to_owned());
        }
        let output = first.wait(DEADLINE);
        let last = next.wait(DEADLINE);
        if last.code != Some(0) {
            return Err(format!("the next: {last}"));
        }
        let sections = history.check_exclusive()?;
        try_for(AFTERWARDS, || processes_of(case.marker()).is_empty().then_some(()))
            .ok_or_else(|| format!("processes are left: {:?}", processes_of(case.marker())))?;
        let first = sections.iter().find(|section| section.name == "first");
        match self.judge(&output, first.map(|section| section.ended)) {
            None => Ok(output),
            Some(wrong) => Err(format!("{wrong}: {output}")),
        }
    }

    /// What is wrong with the end of a run whose command `ended` by itself, or didn't, or never began (`None`).
    fn judge(self, output: &Output, ended: Option<bool>) -> Option<&'static str> {
        // It can happen before zklock begins: in the dynamic linker, or in Rust's runtime, which aborts.
        let linker = ["while loading shared libraries", "cannot allocate TLS data structures"];
        let is_begun =
            !linker.iter().any(|text| output.stderr.contains(text)) && output.signal != Some(SIGABRT);
        let is_told = output.stderr.contains("zklock: ")
            || (self.lasts && self.call == TELLS && self.effect.starts_with(ERROR));
        let is_terminated = output.signal == Some(SIGTERM) || output.code == Some(128 + SIGTERM);
        match (output.code, ended) {
            _ if !is_begun => ended.map(|_| "the command ran without zklock"),
            (Some(7), Some(true)) => None,
            (Some(7), _) => Some("the code of a command that hasn't ended"),
            _ if is_terminated && self.is_terminated => None,
            // What zklock can't observe, it ends.
            (Some(123), _) | (Some(125..=127), None) if is_told => None,
            (Some(123 | 125..=127), _) if !is_told => Some("a silent end"),
            _ => Some("another exit code than the command's"),
        }
    }
}

fn is_possible(call: &str, effect: &str, lasts: bool) -> bool {
    let is_nothing_yet = lasts && effect == AGAIN && NOTHING_YET.contains(&call);
    !(is_nothing_yet || ONLY_SLOW.contains(&call) && effect.starts_with(ERROR))
}

impl fmt::Display for FailingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, effect, when, lasts, waits, is_terminated, after } = self;
        let on = if *lasts { " and all later ones" } else { "" };
        let begins = if *waits { "behind a holder" } else { "alone" };
        let ends = if *is_terminated { "TERM" } else { "the command's end" };
        write!(f, "call {when} of {call}{on}: {effect}; {begins}, {ends} after {} ms", after.as_millis())
    }
}

/// Makes so many runs, in parallel `lanes`, and prints those with a violation. Returns how many there were.
pub(crate) fn check(server: &Server, seed: u64, runs: u64, lanes: usize) -> u64 {
    let (next, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    let lane = || {
        loop {
            let run = next.fetch_add(1, SeqCst);
            if run >= runs {
                break;
            }
            let call = FailingCall::draw(&mut Rng::new(seed ^ (run << 20)));
            if let Err(why) = call.run(&Case::on(server, "call")) {
                println!("run {run}: {call}: {why}");
                wrong.fetch_add(1, SeqCst);
            }
            if (run + 1).is_multiple_of(TOLD_EVERY) {
                println!("{} runs have begun", run + 1);
            }
        }
    };
    thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(lane))));
    let wrong = wrong.into_inner();
    println!("{runs} runs, {wrong} with a violation");
    wrong
}
