//! System calls fail in one of the two processes, so that its loop can't go on. Nothing is released before the command is
//! dead, whichever call it is.

use super::{HAND_OFF, worker_of};
use crate::support::{
    Case, DEADLINE, History, Pipe, Running, freeze, has_strace, limit_open_files, processes_of, start, thaw,
    wait_until,
};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::fs;
use std::process::{Child, Command, Stdio};

const ENDLESS: &str = "trap '' TERM; (setsid sleep 61 &); echo ready; while :; do sleep 0.05; done";

/// What each loop calls time and again, and the error.
const CALLS: [&str; 4] =
    ["/^p?poll:error=EINVAL", "/^timerfd_settime:error=EINVAL", "read:error=EIO", "recvfrom:error=EIO"];

/// From now on these calls fail in the first thread of this process, which is where both loops run. Drop the result
/// after the process has ended.
fn fail(pid: Pid, calls: &str) -> Strace {
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-o", "/dev/null", "-e", &format!("inject={calls}"), "-p", &pid.to_string()]);
    let strace = Strace(strace.stderr(Stdio::null()).spawn().expect("strace"));
    wait_until("strace to see the calls", DEADLINE, || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    });
    strace
}

struct Strace(Child);

impl Drop for Strace {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A holder whose command gives signs of life from its first process and from one that has left the group and the
/// session; and a waiter behind it. The holder's stderr isn't read, so that what it says takes long.
struct Queue {
    _stderr: Pipe,
    history: History,
    first: Running,
    next: Running,
}

impl Queue {
    #[track_caller]
    fn start(case: &Case) -> Self {
        let history = case.history();
        let script = |name| history.steady_job(name);
        let other = script("other").replace('\'', "'\\''");
        let job = format!("trap '' TERM; setsid bash -c '{other}' & {}", script("first"));
        let stderr = Pipe::new(case.dir());
        stderr.fill();
        let first = case.lock(&["--session-timeout", "6"], ["bash", "-c", &job]);
        let first = first.prelude(&format!("exec 2>'{}'", stderr.path().display())).spawn();
        wait_until("both to run", DEADLINE, || history.sections().unwrap().len() == 2);
        let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.3)]).spawn();
        case.wait_for_contenders(2);
        Self { _stderr: stderr, history, first, next }
    }

    #[track_caller]
    fn assert_handed_on(self, case: &Case, what: &str) {
        self.first.wait(DEADLINE).assert_code(123);
        self.next.wait(DEADLINE).assert_code(0);
        let sections = self.history.sections().unwrap();
        let [one, other, next] = &sections[..] else { panic!("{what}: {sections:?}") };
        assert!(!one.overlaps(next) && !other.overlaps(next), "{what}: {sections:?}");
        assert_eq!(processes_of(case.marker()), [], "{what}");
        case.wait_for_contenders(0);
    }
}

#[test]
fn a_worker_whose_loop_fails_keeps_the_lock_while_its_command_lives() {
    if !has_strace() {
        return;
    }
    for calls in CALLS {
        let case = Case::new("failing-worker");
        let queue = Queue::start(&case);
        let strace = fail(worker_of(queue.first.pid()), calls);
        queue.first.signal(Signal::SIGWINCH);
        queue.assert_handed_on(&case, calls);
        drop(strace);
    }
}

#[test]
fn a_worker_that_can_not_observe_or_reap_its_command_ends_what_the_command_has_left() {
    if !has_strace() {
        return;
    }
    for calls in ["wait4:error=ECHILD", "waitid:error=ENOSYS"] {
        let case = Case::new("failing-reap");
        let queue = Queue::start(&case);
        let strace = fail(worker_of(queue.first.pid()), calls);
        queue.history.finish("first");
        queue.assert_handed_on(&case, calls);
        drop(strace);
    }
}

#[test]
fn a_monitor_whose_loop_fails_ends_the_command_before_the_lock_is_free() {
    if !has_strace() {
        return;
    }
    // It reads the worker's reports only when there are some.
    let calls = CALLS.into_iter().filter(|calls| !calls.starts_with("recvfrom"));
    for calls in calls.chain(["sendto:error=EIO"]) {
        let case = Case::new("failing-monitor");
        let queue = Queue::start(&case);
        let strace = fail(queue.first.pid(), calls);
        queue.first.signal(Signal::SIGWINCH);
        queue.assert_handed_on(&case, calls);
        drop(strace);
    }
}

/// KILL fails, too, but the kernel sends it to the command when the worker ends.
#[test]
fn a_worker_that_can_not_forward_a_signal_says_so_and_ends_its_command() {
    if !has_strace() {
        return;
    }
    let case = Case::new("failing-forward");
    let running = start(&case, &["--session-timeout", "6"], "echo ready; exec sleep 61");
    let strace = fail(worker_of(running.pid()), "kill:error=ENOMEM");
    running.signal(Signal::SIGUSR1);
    let output = running.wait(DEADLINE);
    output.assert_code(123).assert_stderr("can't send the command a signal");
    wait_until("the end of the command", DEADLINE, || processes_of(case.marker()).is_empty());
    drop(strace);
}

/// Neither calls that tell the other process, nor a worker that has done its work and can't be reaped, because one of its
/// threads is stuck in the kernel.
#[test]
fn an_exit_code_is_kept_although_calls_fail() {
    if !has_strace() {
        return;
    }
    let calls = [(true, "sendto:error=EIO"), (false, "wait4:retval=0"), (false, "waitid:error=EIO")];
    for (is_worker, calls) in calls {
        let case = Case::new("failing-end");
        let history = case.history();
        let job = format!("{}; exit 7", history.steady_job("first"));
        let first = case.lock(&[], ["bash", "-c", &job]).spawn();
        wait_until("it to run", DEADLINE, || !history.sections().unwrap().is_empty());
        let process = if is_worker { worker_of(first.pid()) } else { first.pid() };
        let strace = fail(process, calls);
        history.finish("first");
        first.wait(DEADLINE).assert_code(7);
        drop(strace);
    }
}

#[test]
fn a_zklock_that_can_not_begin_says_so_and_starts_nothing() {
    if !has_strace() {
        return;
    }
    let calls = ["socketpair", "prctl", "eventfd2", "signalfd4", "timerfd_create", "clone3"];
    for call in calls {
        let case = Case::new("failing-start");
        let trace = format!("exec strace -f -qq -o /dev/null -e inject={call}:error=EAGAIN \"$0\" \"$@\"");
        let output = case.lock(&[], ["echo", "must not run"]).prelude(&trace).run();
        output.assert_code(125).assert_stderr(case.path());
        assert_eq!(output.stdout, "", "{call}: {output}");
        assert_eq!(processes_of(case.marker()), [], "{call}");
        assert_eq!(case.contenders(), [""; 0], "{call}");
    }
}

/// Its other calls work, and so do those of its monitor.
#[test]
fn a_worker_that_cannot_poll_says_why_it_ends_its_command() {
    let case = Case::new("broken-worker");
    let running = start(&case, &[], ENDLESS);
    limit_open_files(worker_of(running.pid()), 1).expect("a process to limit");
    // A signal wakes it, so that it polls again.
    running.signal(Signal::SIGWINCH);
    let output = running.wait(DEADLINE);
    assert_eq!(processes_of(case.marker()), [], "{output}");
    output
        .assert_code(123)
        .assert_stderr("can't control the command any more")
        .assert_stderr("the worker process failed");
    case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
}

#[test]
fn a_monitor_that_cannot_poll_ends_the_command() {
    let case = Case::new("broken-monitor");
    let running = start(&case, &["--session-timeout", "3"], ENDLESS);
    limit_open_files(running.pid(), 1).expect("a process to limit");
    running.signal(Signal::SIGWINCH);
    wait_until("the end of the command", DEADLINE, || processes_of(case.marker()).is_empty());
    let output = running.wait(DEADLINE);
    output
        .assert_code(123)
        .assert_stderr("zklock can't watch over the command any more: can't wait for what happens");
    // The monitor can't open a session either, so the node is deleted with the worker's session.
    case.observer().wait_for_contenders(case.path(), 0, DEADLINE);
}

/// Nobody else would end it in time.
#[test]
fn a_worker_whose_loop_fails_beside_a_stopped_monitor_ends_its_command_itself() {
    let case = Case::new("broken-beside-stopped");
    let Queue { history, first, next, .. } = Queue::start(&case);
    freeze(first.pid());
    limit_open_files(worker_of(first.pid()), 1).expect("a process to limit");
    next.wait(DEADLINE).assert_code(0);
    let sections = history.sections().unwrap();
    let [one, other, next] = &sections[..] else { panic!("{sections:?}") };
    assert!(!one.overlaps(next) && !other.overlaps(next), "{sections:?}");
    thaw(first.pid());
    first.wait(DEADLINE).assert_code(123);
}
