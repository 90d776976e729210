//! The fence around `unsafe`: what the kernel offers and no safe interface does. Everywhere else it is denied.
#![allow(unsafe_code, reason = "this is the one module for it; each block says why it is sound")]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use crate::exit;

static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Rust's runtime ignores SIGPIPE before `main` and forgets what it found. This runs earlier.
// SAFETY: the C library calls the functions of this section one after the other before `main`. This one only
// reads a disposition and stores to an atomic; it needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER_SIGPIPE: extern "C" fn() = {
    extern "C" fn remember() {
        let mut found = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: with a null action, sigaction only writes the present one to `found`, which is valid for it.
        let ignored = unsafe {
            libc::sigaction(libc::SIGPIPE, std::ptr::null(), found.as_mut_ptr()) == 0
                && found.assume_init().sa_sigaction == libc::SIG_IGN
        };
        SIGPIPE_WAS_IGNORED.store(ignored, Ordering::Relaxed);
    }
    remember
};

/// Whether zklock was started with SIGPIPE ignored.
pub fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed)
}

/// Sets SIGPIPE to what zklock was started with. For the child between fork and exec.
pub fn restore_sigpipe() {
    let disposition = if sigpipe_was_ignored() { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither disposition runs code of ours.
    unsafe { libc::signal(libc::SIGPIPE, disposition) };
}

/// Gives signals back the disposition that zklock was started with. For the child between fork and exec, where
/// zklock's handlers would still tell zklock of what was meant for the child.
pub fn restore_dispositions(default: &[i32], ignored: &[i32]) {
    let dispositions = default.iter().map(|&signal| (signal, libc::SIG_DFL));
    for (signal, disposition) in dispositions.chain(ignored.iter().map(|&signal| (signal, libc::SIG_IGN))) {
        // SAFETY: neither disposition runs code of ours.
        unsafe { libc::signal(signal, disposition) };
    }
}

/// Lets the child run `hook` between fork and exec. An error it returns is returned by `spawn`.
///
/// `hook` must be async-signal-safe: no allocation, no locks, nothing but system calls on what it has captured.
pub fn before_exec(command: &mut Command, hook: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the callers' hooks make system calls only, as the contract above demands.
    unsafe { command.pre_exec(hook) };
}

/// Ends this process by `signal`. Returns only if that fails.
pub fn die_of(signal: i32) {
    // SAFETY: the default disposition runs no code of ours; the set is initialised by sigemptyset before use.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// What has become of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildState {
    /// It was stopped by the signal with this number.
    Stopped(i32),
    /// It is dead, and not reaped: its pid, and its group's, can't be given to anybody else yet.
    Dead,
}

/// Looks at the child `pid` without waiting and without reaping it. A stop is told once.
pub fn observe(pid: i32) -> Option<ChildState> {
    let pid = libc::id_t::try_from(pid).ok()?;
    if wait(libc::P_PID, pid, libc::WEXITED | libc::WNOWAIT).is_some() {
        return Some(ChildState::Dead);
    }
    let info = wait(libc::P_PID, pid, libc::WSTOPPED)?;
    // SAFETY: waitid filled `info` for a child, so that the child's fields are the valid ones.
    Some(ChildState::Stopped(unsafe { info.si_status() }))
}

/// The pid of any child that is dead and not reaped.
pub fn any_dead_child() -> Option<i32> {
    let info = wait(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT)?;
    // SAFETY: as above.
    Some(unsafe { info.si_pid() })
}

fn wait(which: libc::idtype_t, id: libc::id_t, what: i32) -> Option<libc::siginfo_t> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is valid for waitid to write to, and zeroed it is a valid value if nothing is written;
    // its pid is zero then.
    let info = unsafe {
        if libc::waitid(which, id, info.as_mut_ptr(), what | libc::WNOHANG) != 0 {
            return None;
        }
        info.assume_init()
    };
    // SAFETY: either zeroed or filled for a child.
    (unsafe { info.si_pid() } != 0).then_some(info)
}

/// Stops this process, or with `whole_group` its process group, as the terminal's signal `signal` would. Comes
/// back when somebody continues it; at once if nobody could: the kernel stops no orphaned group.
pub fn stop_by(signal: i32, whole_group: bool) {
    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `found` is valid to write to, and read back only if the first call filled it; what is put back
    // is what was there.
    unsafe {
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        if libc::sigaction(signal, &raw const default, found.as_mut_ptr()) == 0 {
            libc::kill(if whole_group { 0 } else { libc::getpid() }, signal);
            libc::sigaction(signal, found.as_ptr(), std::ptr::null_mut());
        }
    }
}

/// Closes every descriptor from `first` on. For a process that has none of its own yet.
pub fn close_from(first: u32) {
    // SAFETY: a system call that takes numbers only; the caller uses none of these descriptors.
    // Where the kernel is older than 5.9 it fails and changes nothing.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// From here on all threads allocate from one heap. The C library would map one for each; zklock's threads take
/// turns, so that they would only cost memory and time.
pub fn share_one_heap() {
    // SAFETY: sets a parameter of the allocator, which may be done at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// From here on an abort ends this process as a failure, with a message. The standard library aborts where memory
/// can't be had, and a server can make the client library ask for any amount of it.
///
/// An abort that somebody else sends, or one that was ignored, is left as it is. The command gets the default
/// back with its exec.
pub fn fail_on_abort() {
    const MESSAGE: &[u8] = b"zklock: ended by a fault, most likely of memory that a server made us ask for\n";

    extern "C" fn aborted(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the kernel passes a valid `info`, which has a sender for signals that are sent.
        // Of the rest, write, _exit, signal and raise may be called in a handler.
        unsafe {
            if (*info).si_pid() == libc::getpid() {
                libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(exit::FAILURE.into());
            }
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }

    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `found` is valid to write to, and read only if the call filled it; the new action is zeroed, which
    // is valid, but for the handler, of the kind that SA_SIGINFO asks for.
    unsafe {
        let handler: extern "C" fn(_, _, _) = aborted;
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        if libc::sigaction(libc::SIGABRT, std::ptr::null(), found.as_mut_ptr()) == 0
            && found.assume_init().sa_sigaction == libc::SIG_DFL
        {
            libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
        }
    }
}
