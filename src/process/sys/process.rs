//! File descriptors, and the handler for SIGABRT of this process.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use nix::libc;
use zklock_core::exit;

use super::signals::disposition;
use super::start::open_placeholder;

/// The file descriptors, but for stdin, stdout and stderr, that this process has from its caller: those that aren't
/// close-on-exec, because all of zklock's own are.
///
/// # Errors
/// If they can't be listed, as when no further file may be opened.
pub fn inherited_descriptors() -> io::Result<Vec<RawFd>> {
    let entries = std::fs::read_dir("/proc/self/fd")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_inherited = |&number: &RawFd| {
        // SAFETY: only reads the flags.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        number > 2 && flags >= 0 && flags & libc::FD_CLOEXEC == 0
    };
    Ok(numbers.filter(is_inherited).collect())
}

/// Releases the file descriptors, the terminal and the working directory that this process has from its caller.
pub fn detach_from_caller() {
    let _ = std::env::set_current_dir("/");
    let placeholder = open_placeholder();
    for standard in 0..=2 {
        // SAFETY: a system call on numbers; later writes to these descriptors go nowhere.
        unsafe { libc::dup2(placeholder, standard) };
    }
    for number in inherited_descriptors().unwrap_or_default() {
        // SAFETY: zklock doesn't use what it has inherited.
        unsafe { libc::close(number) };
    }
}

/// Ends this process without the functions that libraries have registered for its end: they clean up nothing that
/// outlives it, and would only touch more of its memory.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: a system call on a number; no code of this process runs afterwards.
    unsafe { libc::_exit(code.into()) }
}

/// Makes an abort end this process as a failure, with a message. The standard library aborts if it can't allocate
/// memory, and a server can make the client library ask for any amount of it.
///
/// An abort sent by another process, or one that was ignored, is left as it is. The exec gives the command the default
/// disposition back.
pub fn fail_on_abort() {
    const MESSAGE: &[u8] = b"zklock: crashed, probably because a server's answer asked for more memory than \
         there is; check the connect string\n";

    extern "C" fn aborted(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the kernel passes a valid `info`, which has a sender for signals that are sent. Of
        // the rest, poll, write, _exit, signal and raise may be called in a handler.
        unsafe {
            if (*info).si_pid() == libc::getpid() {
                // stderr may have no reader: waiting for one would let the command outlive its lease.
                let mut stderr = libc::pollfd { fd: 2, events: libc::POLLOUT, revents: 0 };
                if libc::poll(&raw mut stderr, 1, 0) == 1 {
                    libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
                }
                libc::_exit(exit::FAILURE.into());
            }
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }

    if disposition(libc::SIGABRT) != Some(libc::SIG_DFL) {
        return;
    }
    // SAFETY: the new action is zeroed, which is valid, except for the handler, which has the type that SA_SIGINFO
    // requires.
    unsafe {
        let handler: extern "C" fn(_, _, _) = aborted;
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        // A terminal that doesn't let background processes write would stop the handler.
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
    }
}
