//! Signal dispositions of this process.

use std::mem::MaybeUninit;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::{Pid, getpid};

use super::start::ignored_since_start;
use crate::process::persist::persist;

/// The current disposition of `signal`: default, ignored, or a handler. `None`: there is no such signal.
pub(super) fn disposition(signal: i32) -> Option<libc::sighandler_t> {
    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null action, sigaction only writes the current one to `found`, which is valid for it, and zeroed a
    // valid value.
    unsafe {
        let known = libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) == 0;
        known.then_some(found.assume_init().sa_sigaction)
    }
}

/// Sets the disposition of `signal` to the default, to ignoring it, or to a handler that does nothing, and returns the one
/// before.
pub(super) fn set_disposition(signal: i32, action: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: none of these runs code of zklock's.
    unsafe { libc::signal(signal, action) }
}

/// Whether `signal` was ignored when zklock was started, of those that zklock itself ignores.
pub fn was_ignored(signal: i32) -> Option<bool> {
    ignored_since_start().find(|&(own, _)| own == signal).map(|(_, was_ignored)| was_ignored)
}

/// The set of these signals, which may be real-time ones, except for those that the C library keeps for itself, as musl
/// does with the first.
pub fn set_of(signals: impl IntoIterator<Item = i32>) -> SigSet {
    let mut set = *SigSet::empty().as_ref();
    for signal in signals {
        // SAFETY: the set is initialised, and stays as it is if the number is refused.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: initialised above.
    unsafe { SigSet::from_sigset_t_unchecked(set) }
}

/// Whether `signal`, which may be a real-time one, is in `mask`.
pub fn contains(mask: &SigSet, signal: i32) -> bool {
    // SAFETY: reads an initialised set.
    unsafe { libc::sigismember(mask.as_ref(), signal) == 1 }
}

/// Sends `signal`, which may be a real-time one, to a process.
pub fn send(process: Pid, signal: i32) -> nix::Result<()> {
    // SAFETY: a system call on numbers.
    persist(|| Errno::result(unsafe { libc::kill(process.as_raw(), signal) })).map(drop)
}

/// Sends `signal`, which may be a real-time one, to a process group.
pub fn send_to_group(group: Pid, signal: i32) -> nix::Result<()> {
    send(Pid::from_raw(-group.as_raw()), signal)
}

/// Drops the handlers of Rust's standard library for a stack overflow: they would ignore the first SEGV or BUS that
/// another process sends.
pub fn drop_handlers() {
    let has_handler = |&signal: &i32| disposition(signal) != Some(libc::SIG_IGN);
    for signal in [libc::SIGSEGV, libc::SIGBUS].into_iter().filter(has_handler) {
        set_disposition(signal, libc::SIG_DFL);
    }
}

/// Resets SIGCHLD to its default, and returns whether it was ignored.
pub fn stop_ignoring_children() -> bool {
    set_disposition(libc::SIGCHLD, libc::SIG_DFL) == libc::SIG_IGN
}

/// Gives what zklock itself ignores its default again, unless it was ignored when zklock was started, and ignores SIGCHLD
/// if that was (`children`). For a process that is about to exec.
pub fn restore_ignored(children: bool) {
    let defaults = ignored_since_start().filter(|&(_, was_ignored)| !was_ignored);
    let children = children.then_some((libc::SIGCHLD, libc::SIG_IGN));
    for (signal, action) in defaults.map(|(signal, _)| (signal, libc::SIG_DFL)).chain(children) {
        set_disposition(signal, action);
    }
}

/// Makes `signal`, if it has its default, do nothing until the exec, which restores the default. For the child between
/// fork and exec: unlike ignoring the signal first, this leaves no gap.
pub fn ignore_until_exec(signal: i32) {
    extern "C" fn nothing(_: libc::c_int) {}

    if disposition(signal) == Some(libc::SIG_DFL) {
        let handler: extern "C" fn(_) = nothing;
        set_disposition(signal, handler as libc::sighandler_t);
    }
}

/// Ends this process by `signal`. Returns only if that fails.
pub fn die_of(signal: i32) {
    set_disposition(signal, libc::SIG_DFL);
    let _ = set_of([signal]).thread_unblock();
    let _ = send(getpid(), signal);
}

/// Stops this process by this signal of the terminal. Returns when it is continued; immediately if no process could continue
/// it, because the kernel doesn't stop an orphaned group, or if it has been continued meanwhile, because that discards the
/// signal. For a process in which no other thread takes signals.
pub fn stop_by(signal: i32) {
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
    let _ = send(getpid(), signal);
    let _ = set_of([signal]).thread_unblock();
    let _ = mask.and_then(|mask| mask.thread_set_mask());
}
