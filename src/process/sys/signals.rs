//! Signal dispositions of this process.

use std::mem::MaybeUninit;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::SigSet;
use nix::unistd::Pid;

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

/// Whether this process was started with `signal` ignored, if zklock catches it only now.
pub fn is_ignored(signal: i32) -> bool {
    let own = ignored_since_start().find(|&(own, _)| own == signal);
    own.map_or_else(|| disposition(signal) == Some(libc::SIG_IGN), |(_, was_ignored)| was_ignored)
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
    // SAFETY: a system call on numbers.
    persist(|| Errno::result(unsafe { libc::killpg(group.as_raw(), signal) })).map(drop)
}

/// Resets every signal that has a handler to its default. For a process that is about to exec: a handler would still
/// deliver to zklock a signal that was meant for the command.
pub fn drop_handlers() {
    let has_handler = |&signal: &i32| {
        disposition(signal).is_some_and(|found| !matches!(found, libc::SIG_DFL | libc::SIG_IGN))
    };
    for signal in (1..=libc::SIGRTMAX()).filter(has_handler) {
        // SAFETY: the default runs no handler of zklock's.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Resets SIGCHLD to its default, and returns whether it was ignored.
pub fn stop_ignoring_children() -> bool {
    // SAFETY: the default runs no handler of zklock's.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) == libc::SIG_IGN }
}

/// Ignores what was ignored when zklock was started, of what zklock itself ignores, and with `children` SIGCHLD, which it
/// catches. For a process that is about to exec and has dropped its handlers.
pub fn restore_ignored(children: bool) {
    for (signal, ignored) in ignored_since_start().chain([(libc::SIGCHLD, children)]) {
        // SAFETY: neither disposition runs a handler of zklock's.
        unsafe { libc::signal(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
    }
}

/// Makes `signal`, if it has its default, do nothing until the exec, which restores the default. For the child between
/// fork and exec: unlike ignoring the signal first, this leaves no gap.
pub fn ignore_until_exec(signal: i32) {
    extern "C" fn nothing(_: libc::c_int) {}

    if disposition(signal) == Some(libc::SIG_DFL) {
        let handler: extern "C" fn(_) = nothing;
        // SAFETY: the handler does nothing.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Ends this process by `signal`. Returns only if that fails.
pub fn die_of(signal: i32) {
    // SAFETY: the default disposition runs no handler of zklock's; the set is initialised by sigemptyset before use.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
        libc::raise(signal);
    }
}

/// Stops this process, or with `whole_group` its process group, as the terminal's signal `signal` would, unless
/// `goes_on` says that zklock was continued meanwhile. Returns when the process is continued; immediately if no process
/// could continue it, because the kernel doesn't stop an orphaned group. For a process in which no other thread takes
/// signals.
pub fn stop_by(signal: i32, whole_group: bool, mut goes_on: impl FnMut() -> bool) {
    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `found` and `mask` are valid to write to, and read back only if the calls that fill them succeeded; the
    // previous state is restored. No handler of zklock's runs for `signal` meanwhile.
    unsafe {
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut only = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        if libc::sigaction(signal, &raw const default, found.as_mut_ptr()) != 0 {
            return;
        }
        // The signal is blocked first and so stays pending. A later SIGCONT makes the kernel discard it, and `goes_on`
        // sees an earlier one.
        libc::pthread_sigmask(libc::SIG_BLOCK, only.as_ptr(), mask.as_mut_ptr());
        libc::kill(if whole_group { 0 } else { libc::getpid() }, signal);
        if goes_on() {
            // Ignoring a signal discards a pending one.
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), ptr::null_mut());
        libc::sigaction(signal, found.as_ptr(), ptr::null_mut());
    }
}
