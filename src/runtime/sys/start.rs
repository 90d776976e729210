//! What this process was started with, before Rust's runtime changes it.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use super::signals::is_ignored;

static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Before `main`, Rust's runtime ignores SIGPIPE and opens `/dev/null` in place of closed standard descriptors, and it
/// doesn't remember the state before. This function runs earlier.
// SAFETY: the C library calls the functions of this section one after the other before `main`. This one only reads a
// disposition and a descriptor's flags and stores to atomics; it needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = {
    extern "C" fn remember() {
        let ignored = is_ignored(libc::SIGPIPE);
        SIGPIPE_WAS_IGNORED.store(ignored, Ordering::Relaxed);
        // SAFETY: a system call on numbers.
        let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
        STDOUT_WAS_CLOSED.store(closed, Ordering::Relaxed);
    }
    remember
};

/// Whether zklock was started with SIGPIPE ignored.
pub fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed)
}

/// Whether zklock was started without a stdout, in place of which there is `/dev/null`.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}
