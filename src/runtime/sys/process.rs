//! This process: its descriptors, its memory, its end by a fault.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

use nix::libc;

use super::signals::disposition;
use crate::core::exit;

/// Lets go of what this process has from its caller: descriptors, terminal, directory. Descriptors of ours are
/// close-on-exec, and those of a caller can't be: they came through an exec.
pub fn let_go_of_the_caller() {
    let _ = std::env::set_current_dir("/");
    let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") else { return };
    for standard in 0..=2 {
        // SAFETY: a system call on numbers; whoever writes to these is served by the new one.
        unsafe { libc::dup2(nothing.as_raw_fd(), standard) };
    }
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.filter(|&number: &i32| number > 2).collect::<Vec<_>>() {
        // SAFETY: only asks for the flags, and closes what nothing of ours uses.
        unsafe {
            let flags = libc::fcntl(number, libc::F_GETFD);
            if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
                libc::close(number);
            }
        }
    }
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
    const MESSAGE: &[u8] = b"zklock: crashed, probably because a server's answer asked for more memory than \
         there is; check the connect string\n";

    extern "C" fn aborted(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the kernel passes a valid `info`, which has a sender for signals that are sent.
        // Of the rest, poll, write, _exit, signal and raise may be called in a handler.
        unsafe {
            if (*info).si_pid() == libc::getpid() {
                // Nobody may read it: the command would outlive its lease for a message.
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
    // SAFETY: the new action is zeroed, which is valid, but for the handler, of the kind that SA_SIGINFO asks for.
    unsafe {
        let handler: extern "C" fn(_, _, _) = aborted;
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
    }
}
