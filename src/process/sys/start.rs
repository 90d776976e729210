//! The start of the program, in place of the start-up code of Rust's standard library, which costs 4 % of a short run:
//! it looks for the main thread's stack in `/proc/self/maps`, and maps a stack for a handler of stack overflows in each
//! thread (docs/decisions/0005-link.md). A stack overflow ends zklock by SIGSEGV, without a message.

use std::env;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::panic;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc::{self, c_char, c_int};
use zklock_core::exit;

use super::image::variable;

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The variable that sets the stack size of each thread of the standard library's that names none, such as those of the
/// libraries. It is meant for the command: a small value would end zklock by SIGSEGV.
const MIN_STACK: &str = "RUST_MIN_STACK";

/// The variable and its value, which zklock's own environment lacks.
static COMMANDS_MIN_STACK: OnceLock<CString> = OnceLock::new();

/// The signals that the kernel sends for a write that fails: to a pipe without a reader, and to a file that may not grow
/// (`ulimit -f`). zklock ignores them, so that the write returns an error, which has a message.
const SIGNALS_OF_WRITES: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Whether each of them was ignored when zklock was started.
static WERE_IGNORED: [AtomicBool; SIGNALS_OF_WRITES.len()] =
    [const { AtomicBool::new(false) }; SIGNALS_OF_WRITES.len()];

/// Makes a function the program's `main`. It is a macro because the C library looks for `main` in the program, and
/// because `unsafe` stays in this module.
#[macro_export]
macro_rules! start {
    ($run:path) => {
        // SAFETY: the program has no other function with this name. The C library calls it once, before there is
        // another thread, with the arguments as `start` needs them.
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: std::ffi::c_int,
            arguments: *const *const std::ffi::c_char,
        ) -> std::ffi::c_int {
            unsafe { $crate::process::sys::start(count, arguments, $run) }
        }
    };
}

/// Prepares the process as the standard library does, calls `run`, and returns the exit code.
///
/// # Safety
///
/// For `main` only: `arguments` are `count` C strings that stay valid, and there is one thread.
#[doc(hidden)]
pub unsafe fn start(count: c_int, arguments: *const *const c_char, run: fn()) -> c_int {
    let arguments = (0..usize::try_from(count).unwrap_or_default()).map(|index| {
        // SAFETY: the caller promises both.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) };
        OsStr::from_bytes(argument.to_bytes()).to_owned()
    });
    let _ = ARGUMENTS.set(arguments.collect());
    for (signal, was_ignored) in SIGNALS_OF_WRITES.into_iter().zip(&WERE_IGNORED) {
        // SAFETY: runs no handler.
        let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
        was_ignored.store(before == libc::SIG_IGN, Ordering::Relaxed);
    }
    occupy_closed_descriptors();
    if let Some(value) = env::var_os(MIN_STACK) {
        let _ = variable((MIN_STACK.into(), value)).map(|variable| COMMANDS_MIN_STACK.set(variable));
        // SAFETY: there is one thread.
        unsafe { env::remove_var(MIN_STACK) };
    }
    panic::catch_unwind(run).map_or(exit::FAILURE.into(), |()| 0)
}

/// Occupies the numbers of closed standard descriptors: a file that is opened later would get them, and messages would
/// be written to it. An exec frees them again, so what was closed for zklock is closed for the command.
fn occupy_closed_descriptors() {
    const MESSAGE: &[u8] =
        b"zklock: stdin, stdout or stderr is closed, and no file may be opened in its place; raise \
         the limit of open files\n";

    for standard in libc::STDIN_FILENO..=libc::STDERR_FILENO {
        // SAFETY: system calls on numbers and a constant.
        unsafe {
            // An open file gets the lowest free number: this one.
            if libc::fcntl(standard, libc::F_GETFD) < 0 && open_placeholder() < 0 {
                libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(exit::FAILURE.into());
            }
        }
    }
}

/// Opens a descriptor that only takes a number: reading from it and writing to it fail as if it were closed, and an exec
/// closes it. Every process has a root directory, while `/dev/null` may be missing.
pub(super) fn open_placeholder() -> c_int {
    // SAFETY: a system call on a constant string and numbers.
    unsafe { libc::open(c"/".as_ptr(), libc::O_PATH | libc::O_CLOEXEC) }
}

/// The program's arguments with its name.
pub fn arguments() -> &'static [OsString] {
    ARGUMENTS.get().map_or(&[], Vec::as_slice)
}

/// The environment that zklock was started with, with entries that the standard library leaves out: without a name, or
/// without a value.
pub(super) fn environment() -> impl Iterator<Item = CString> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }

    // SAFETY: nothing changes the environment after `start`.
    let entries = unsafe { environ };
    let entry = move |index| {
        // SAFETY: a list of C strings that ends with a null pointer. `map_while` reads nothing behind it.
        let entry = if entries.is_null() { ptr::null() } else { unsafe { *entries.add(index) } };
        // SAFETY: as above.
        (!entry.is_null()).then(|| unsafe { CStr::from_ptr(entry) }.to_owned())
    };
    (0..).map_while(entry).chain(COMMANDS_MIN_STACK.get().cloned())
}

/// The signals that zklock has ignored since its start, each with whether it was ignored before.
pub(super) fn ignored_since_start() -> impl Iterator<Item = (c_int, bool)> {
    let were_ignored = WERE_IGNORED.iter().map(|was_ignored| was_ignored.load(Ordering::Relaxed));
    SIGNALS_OF_WRITES.into_iter().zip(were_ignored)
}
