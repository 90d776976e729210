//! What `main` can't know any more. Rust's standard library opens `/dev/null` in place of a closed stdin, stdout or
//! stderr before it calls `main`, and ignores SIGPIPE; the command gets what zklock was started with.

use std::ffi::{CStr, CString};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::errno::Errno;
use nix::libc::{self, c_char, c_int};
use zklock_core::exit;

use super::signals::{disposition, set_disposition};

/// The signals that the kernel sends for a write that fails: to a pipe without a reader, and to a file that may not grow
/// (`ulimit -f`). zklock ignores them, so that the write returns an error, which has a message.
const SIGNALS_OF_WRITES: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Whether each of them was ignored when zklock was started.
static WERE_IGNORED: [AtomicBool; SIGNALS_OF_WRITES.len()] =
    [const { AtomicBool::new(false) }; SIGNALS_OF_WRITES.len()];

// SAFETY: the C library calls the functions in this section once, before `main`. There is one thread, and this function
// makes system calls on numbers and constants and stores in statics.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    for (signal, was_ignored) in SIGNALS_OF_WRITES.into_iter().zip(&WERE_IGNORED) {
        was_ignored.store(disposition(signal) == Some(libc::SIG_IGN), Relaxed);
    }
    for standard in 0..3 {
        // SAFETY: a system call on numbers.
        if unsafe { libc::fcntl(standard, libc::F_GETFD) } < 0 {
            occupy_lowest();
        }
    }
}

/// Occupies the lowest free number, that of a closed standard descriptor: a file that is opened later would get it, and
/// messages would be written to that file. An exec frees it again, so what was closed for zklock is closed for the
/// command. If there is nothing to open, the standard library opens `/dev/null`.
fn occupy_lowest() {
    const MESSAGE: &[u8] =
        b"zklock: stdin, stdout or stderr is closed, and no file may be opened in its place; raise \
         the limit of open files\n";

    // SAFETY: system calls on numbers and a constant.
    unsafe {
        if open_placeholder() < 0 && Errno::last() == Errno::EMFILE {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(exit::FAILURE.into());
        }
    }
}

/// Opens a descriptor that only takes a number: reading from it and writing to it fail, and an exec closes it. It needs no
/// file, which might be missing or closed to this user.
pub(super) fn open_placeholder() -> RawFd {
    // SAFETY: a system call on a number.
    unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }
}

/// Ignores the signals that the kernel sends for a write that fails.
pub fn ignore_signals_of_writes() {
    for signal in SIGNALS_OF_WRITES {
        set_disposition(signal, libc::SIG_IGN);
    }
}

/// The signals that zklock has ignored since its start, each with whether it was ignored before.
pub(super) fn ignored_since_start() -> impl Iterator<Item = (c_int, bool)> {
    SIGNALS_OF_WRITES.into_iter().zip(WERE_IGNORED.iter().map(|was_ignored| was_ignored.load(Relaxed)))
}

/// The environment that zklock was started with, with entries that the standard library leaves out: without a name, or
/// without a value.
pub(super) fn environment() -> impl Iterator<Item = CString> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }

    // SAFETY: nothing changes the environment.
    let entries = unsafe { environ };
    let entry = move |index| {
        // SAFETY: a list of C strings that ends with a null pointer. `map_while` reads nothing behind it.
        let entry = if entries.is_null() { ptr::null() } else { unsafe { *entries.add(index) } };
        // SAFETY: as above.
        (!entry.is_null()).then(|| unsafe { CStr::from_ptr(entry) }.to_owned())
    };
    (0..).map_while(entry)
}
