//! This process: its descriptors, its memory, its end by a fault.

use std::mem::MaybeUninit;

use nix::libc;

use super::signals::disposition;
use crate::exit;

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

    if disposition(libc::SIGABRT) != Some(libc::SIG_DFL) {
        return;
    }
    // SAFETY: the new action is zeroed, which is valid, but for the handler, of the kind that SA_SIGINFO asks for.
    unsafe {
        let handler: extern "C" fn(_, _, _) = aborted;
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
    }
}
