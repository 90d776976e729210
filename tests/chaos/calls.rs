//! A system call of zklock fails, or takes long, whichever it is and whenever it comes: `scripts/chaos --calls N` makes
//! many such runs, `tests/failing_calls.rs` a few.

use crate::support::failing_call::{FailingCall, Of, Then};
use crate::support::{Case, Rng, Server};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

/// The calls of a run that may fail or take long, and about how often its busiest process makes them. `brk` and
/// `rt_sigprocmask` aren't among them: the kernel always carries them out, so the C library relies on it.
const CALLS: [(u64, &str); 7] = [
    (1, "access clone epoll_create1 getsockopt madvise mlockall pipe2 signalfd4 socketpair"),
    (3, "clone3 connect execve kill ppoll readlink sendto setpgid socket timerfd_create wait4"),
    (5, "eventfd2 getdents64 getrandom sigaltstack"),
    (10, "epoll_pwait ioctl munmap prlimit64 write writev"),
    (15, "futex mprotect newfstatat poll pread64 prctl waitid"),
    (30, "close mmap openat timerfd_settime"),
    (90, "epoll_ctl fcntl read recvfrom rt_sigaction"),
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

/// Every call of zklock is slow.
const ALL_SLOW: &str = "all:delay_enter=1000";

/// How long the first command may run at most before it is to end.
const RUNS_FOR: u64 = 1500;

/// After how many runs the check says how far it is.
const TOLD_EVERY: u64 = 50;

fn draw(rng: &mut Rng) -> FailingCall {
    let named = |&(count, calls): &(u64, &'static str)| calls.split(' ').map(move |call| (call, count));
    let (call, count) = rng.pick(&CALLS.iter().flat_map(named).collect::<Vec<_>>());
    let lasts = rng.chance(50) && call != ONCE;
    let effects: &[&str] = if lasts { &LASTING } else { &EFFECTS };
    let effects: Vec<_> = effects.iter().copied().filter(|effect| is_possible(call, effect, lasts)).collect();
    let (effect, when) = (rng.pick(&effects), 1 + rng.below(count));
    let calls = match () {
        () if lasts && rng.chance(5) => ALL_SLOW.to_owned(),
        () if lasts => format!("{call}:{effect}:when={when}+"),
        () => format!("{call}:{effect}:when={when}"),
    };
    let then = if rng.below(3) == 0 { Then::Terminate } else { Then::Ends };
    let (waits, after) = (rng.chance(50), rng.millis(0, RUNS_FOR));
    FailingCall { of: Of::Both, calls, waits, then, after }
}

fn is_possible(call: &str, effect: &str, lasts: bool) -> bool {
    let is_nothing_yet = lasts && effect == AGAIN && NOTHING_YET.contains(&call);
    !(is_nothing_yet || ONLY_SLOW.contains(&call) && effect.starts_with(ERROR))
}

/// Makes so many runs, some at the same time, and prints those with a violation. Returns how many there were.
pub(crate) fn check(server: &Server, seed: u64, runs: u64) -> u64 {
    let (next, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    let lane = || {
        loop {
            let run = next.fetch_add(1, SeqCst);
            if run >= runs {
                break;
            }
            let call = draw(&mut Rng::new(seed ^ (run << 20)));
            if let Err(why) = call.run(&Case::on(server, "call")) {
                println!("run {run}: {call:?}: {why}");
                wrong.fetch_add(1, SeqCst);
            }
            if (run + 1).is_multiple_of(TOLD_EVERY) {
                println!("{} runs have begun", run + 1);
            }
        }
    };
    let lanes = thread::available_parallelism().map_or(2, std::num::NonZero::get);
    thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(lane))));
    let wrong = wrong.into_inner();
    println!("{runs} runs, {wrong} with a violation");
    wrong
}
