//! System calls of zklock fail or take long, so that perhaps its loop can't go on. Nothing is released before the command
//! is dead, whichever call it is. `scripts/chaos --calls` makes hundreds of such runs, drawn from a seed.
//!
//! To add one, write a row: whose calls, which (in strace's words), whether zklock begins behind a holder, what happens
//! then, and the exit code if only one is right.

use crate::support::failing_call::{DONE, FailingCall, Of, Queue, Strace, Then};
use crate::support::{
    Case, DEADLINE, freeze, has_strace, limit_open_files, processes_of, start, thaw, worker_of,
};
use Of::{Both, Monitor, Worker};
use Then::{Ends, Leaves, Terminate, Wake};
use nix::sys::signal::Signal;
use std::time::Duration;

type Row = (Of, &'static str, bool, Then, Option<i32>);

const ALONE: bool = false;
const BEHIND: bool = true;
const LOST: Option<i32> = Some(123);
const FAILED: Option<i32> = Some(125);

#[rustfmt::skip]
const AT_THE_START: &[Row] = &[
    (Both, "socketpair:error=EMFILE:when=1",      BEHIND, Terminate, None),
    (Both, "eventfd2:error=EMFILE:when=2",        ALONE,  Ends,      None),
    (Both, "timerfd_settime:error=ENOMEM:when=1", BEHIND, Ends,      None),
    (Both, "clone3:error=EAGAIN:when=1",          ALONE,  Terminate, None),
    (Both, "setpgid:error=EIO:when=1",            BEHIND, Ends,      None),
    (Both, "socketpair:error=EAGAIN",             ALONE,  Ends,      FAILED),
    (Both, "prctl:error=EAGAIN",                  ALONE,  Ends,      FAILED),
    (Both, "eventfd2:error=EAGAIN",               ALONE,  Ends,      FAILED),
    (Both, "signalfd4:error=EAGAIN",              ALONE,  Ends,      FAILED),
    (Both, "timerfd_create:error=EAGAIN",         ALONE,  Ends,      FAILED),
    (Both, "clone3:error=EAGAIN",                 ALONE,  Ends,      FAILED),
];

#[rustfmt::skip]
const LATER: &[Row] = &[
    (Both, "poll:error=ENOMEM:when=3",            BEHIND, Terminate, None),
    (Both, "read:error=EIO:when=45",              ALONE,  Ends,      None),
    (Both, "recvfrom:error=ENOMEM:when=40",       BEHIND, Ends,      None),
    // This one is TERM to the worker.
    (Both, "sendto:error=EMFILE:when=1",          ALONE,  Terminate, None),
    (Both, "timerfd_settime:error=ENOMEM:when=6", BEHIND, Ends,      None),
    (Both, "write:error=ENOSPC:when=4",           ALONE,  Ends,      None),
    // A signal that can't be read may be the command's end.
    (Both, "read:error=EIO:when=31",              BEHIND, Terminate, None),
    // A wait for which there is no memory costs nothing.
    (Both, "poll:error=ENOMEM:when=3",            ALONE,  Ends,      Some(DONE)),
    (Both, "poll:error=EAGAIN:when=6",            ALONE,  Ends,      Some(DONE)),
    (Both, "close:delay_enter=300000:when=5",     BEHIND, Terminate, None),
    (Both, "poll:delay_enter=500000:when=3",      ALONE,  Ends,      None),
    (Both, "openat:delay_enter=300000:when=15",   BEHIND, Ends,      None),
];

#[rustfmt::skip]
const FROM_SOME_TIME_ON: &[Row] = &[
    (Both, "read:error=EIO:when=45+",             BEHIND, Terminate, None),
    (Both, "recvfrom:error=ENOMEM:when=40+",      ALONE,  Ends,      None),
    (Both, "sendto:error=EIO:when=1+",            BEHIND, Ends,      None),
    (Both, "waitid:error=EIO:when=3+",            ALONE,  Terminate, None),
    (Both, "timerfd_settime:error=ENOMEM:when=9+", BEHIND, Ends,     None),
    (Both, "all:delay_enter=1000",                ALONE,  Ends,      None),
];

#[rustfmt::skip]
const OF_ONE_PROCESS: &[Row] = &[
    (Worker,  "/^p?poll:error=EINVAL",         ALONE, Wake,   LOST),
    (Worker,  "/^timerfd_settime:error=EINVAL", ALONE, Wake,   LOST),
    (Worker,  "read:error=EIO",                ALONE, Wake,   LOST),
    (Worker,  "recvfrom:error=EIO",            ALONE, Wake,   LOST),
    // It can't observe or reap its command, and ends what the command has left.
    (Worker,  "wait4:error=ECHILD",            ALONE, Leaves, LOST),
    (Worker,  "waitid:error=ENOSYS",           ALONE, Leaves, LOST),
    (Worker,  "sendto:error=EIO",              ALONE, Ends,   Some(DONE)),
    // The monitor reads the worker's reports only when there are some.
    (Monitor, "/^p?poll:error=EINVAL",         ALONE, Wake,   LOST),
    (Monitor, "/^timerfd_settime:error=EINVAL", ALONE, Wake,   LOST),
    (Monitor, "read:error=EIO",                ALONE, Wake,   LOST),
    (Monitor, "sendto:error=EIO",              ALONE, Wake,   LOST),
    // A worker that has done its work can't be reaped, because one of its threads is stuck in the kernel.
    (Monitor, "wait4:retval=0",                ALONE, Ends,   Some(DONE)),
    (Monitor, "waitid:error=EIO",              ALONE, Ends,   Some(DONE)),
];

#[track_caller]
fn try_calls(rows: impl IntoIterator<Item = &'static Row>) {
    if !has_strace() {
        return;
    }
    for row in rows {
        let &(of, calls, waits, then, code) = row;
        let after = Duration::from_millis(if of == Both { 300 } else { 0 });
        let case = Case::new("failing-call");
        let run = FailingCall { of, calls: calls.to_owned(), waits, then, after };
        let output = run.run(&case).unwrap_or_else(|wrong| panic!("{row:?}: {wrong}"));
        assert!(code.is_none() || output.code == code, "{row:?}: {output}");
        if code == FAILED {
            output.assert_stderr(case.path());
        }
    }
}

#[test]
fn zklock_ends_well_when_a_call_fails_at_the_start() {
    try_calls(AT_THE_START);
}

#[test]
fn zklock_ends_well_when_a_call_fails_or_takes_long_in_the_queue_or_later() {
    try_calls(LATER);
}

#[test]
fn zklock_ends_well_when_all_calls_fail_from_some_time_on() {
    try_calls(FROM_SOME_TIME_ON);
}

#[test]
fn a_worker_whose_calls_fail_keeps_the_lock_while_its_command_lives() {
    try_calls(OF_ONE_PROCESS.iter().filter(|row| row.0 == Worker));
}

#[test]
fn a_monitor_whose_calls_fail_ends_the_command_before_the_lock_is_free() {
    try_calls(OF_ONE_PROCESS.iter().filter(|row| row.0 == Monitor));
}

/// The longest time until the lock is free, although the session lives on for 30 s.
const HAND_OFF: Duration = Duration::from_secs(20);

const ENDLESS: &str = "trap '' TERM; (setsid sleep 61 &); echo ready; while :; do sleep 0.05; done";

/// Without calls it may have only one open file, and can't poll. Its other calls work, and so do those of the other
/// process. A signal wakes it, so that it polls again.
#[test]
fn a_process_that_can_not_go_on_says_why_and_ends_the_command() {
    const NO_CONTROL: &[&str] = &["can't control the command any more", "the worker process failed"];
    const NO_MORE: &str = "zklock can't watch over the command any more: can't wait for what happens";
    let rows: [(Of, Option<&str>, Signal, &[&str]); 3] = [
        (Worker, Some("kill:error=ENOMEM"), Signal::SIGUSR1, &["can't send the command a signal"]),
        (Worker, None, Signal::SIGWINCH, NO_CONTROL),
        (Monitor, None, Signal::SIGWINCH, &[NO_MORE]),
    ];
    for (of, calls, signal, says) in rows {
        if calls.is_some() && !has_strace() {
            continue;
        }
        let case = Case::new("cannot-go-on");
        // A monitor that can't go on can't open a session either, so the node is deleted with the worker's session.
        let options: &[&str] = if of == Worker { &[] } else { &["--session-timeout", "3"] };
        let running = start(&case, options, ENDLESS);
        let process = if of == Worker { worker_of(running.pid()) } else { running.pid() };
        let strace = calls.map(|calls| Strace::of(process, calls));
        if calls.is_none() {
            limit_open_files(process, 1).expect("a process to limit");
        }
        running.signal(signal);
        let output = running.wait(DEADLINE);
        assert_eq!(processes_of(case.marker()), [], "{output}");
        output.assert_code(123);
        for text in says {
            output.assert_stderr(text);
        }
        case.observer().wait_for_contenders(case.path(), 0, HAND_OFF);
        drop(strace);
    }
}

/// Nobody else would end it in time.
#[test]
fn a_worker_whose_loop_fails_beside_a_stopped_monitor_ends_its_command_itself() {
    let case = Case::new("broken-beside-stopped");
    let history = case.history();
    let queue = Queue::start(&case, &history, Wake);
    let monitor = queue.first.pid();
    freeze(monitor);
    limit_open_files(worker_of(monitor), 1).expect("a process to limit");
    queue.next.wait(DEADLINE).assert_code(0);
    let sections = history.sections().unwrap();
    let [one, other, next] = &sections[..] else { panic!("{sections:?}") };
    assert!(!one.overlaps(next) && !other.overlaps(next), "{sections:?}");
    thaw(monitor);
    queue.first.wait(DEADLINE).assert_code(123);
}

#[test]
fn a_reason_is_written_however_late_its_thread_runs() {
    if !has_strace() {
        return;
    }
    for call in ["set_robust_list", "write"] {
        let late =
            format!("exec strace -f -qq -o /dev/null -e inject={call}:delay_enter=1500000 \"$0\" \"$@\"");
        let output = Case::new("late-message").zklock().arg("--no-such-option").prelude(&late).run();
        assert!(output.assert_code(125).stderr.contains("unexpected argument"), "{call}: {output}");
    }
}
